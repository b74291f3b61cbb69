// SPDX-License-Identifier: Apache-2.0
/// What a wrong change is made of.
enum MutantKind: String {
    case boundary
    case comparison
    case literal
    case droppedCall = "dropped call"
    case forgottenWake = "forgotten wake"
    case swappedArguments = "swapped arguments"
    case wrongClock = "wrong clock"
    case earlyReturn = "early return"
    case condition
    case constant
}

/// One small wrong change: text before and after a part of a file, so that changes can lie within each other.
struct Mutant {
    let kind: MutantKind
    /// The part, as offsets into the file.
    let bytes: Range<Int>
    let before: String
    let after: String
    /// The declaration that the part is in.
    let function: String
    /// What was and what is, on one line. With file and function it names the mutant in the list of equivalent ones.
    let change: String
    let line: Int
    /// Its place among all that the package can have, from 1 on; what the environment chooses it by.
    var number = 0
}

extension String {
    /// The text on one line, cut where a reader has seen enough.
    var onOneLine: String {
        let words = split(whereSeparator: \.isWhitespace).joined(separator: " ")
        return words.count <= 160 ? words : words.prefix(160) + "…"
    }
}
