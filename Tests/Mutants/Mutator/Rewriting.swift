// SPDX-License-Identifier: Apache-2.0
/// Where a mutant is in the file that was written, for the errors of the compiler.
struct WrittenMutant {
    let mutant: Mutant
    let lines: ClosedRange<Int>
}

/// Puts mutants into the text of their file. Each only adds text around a part, so that parts may lie within each other.
struct Rewriting {
    private let source: [UInt8]
    private var written: [UInt8] = []
    private var copied = 0
    private var line = 1
    private var open: [(mutant: Mutant, firstLine: Int)] = []
    private(set) var places: [WrittenMutant] = []

    init(_ source: [UInt8]) { self.source = source }

    /// Returns the file's new text.
    mutating func apply(_ mutants: [Mutant]) -> [UInt8] {
        for mutant in mutants.sorted(by: Self.isOutside) {
            close(until: mutant.bytes.lowerBound)
            copy(until: mutant.bytes.lowerBound)
            open.append((mutant, line))
            write(mutant.before.numbered(mutant.number))
        }
        close(until: .max)
        copy(until: source.count)
        return written
    }

    private static func isOutside(_ one: Mutant, _ other: Mutant) -> Bool {
        if one.bytes.lowerBound != other.bytes.lowerBound { return one.bytes.lowerBound < other.bytes.lowerBound }
        if one.bytes.upperBound != other.bytes.upperBound { return one.bytes.upperBound > other.bytes.upperBound }
        return one.number < other.number
    }

    private mutating func close(until offset: Int) {
        while let (mutant, firstLine) = open.last, mutant.bytes.upperBound <= offset {
            copy(until: mutant.bytes.upperBound)
            write(mutant.after)
            places.append(WrittenMutant(mutant: mutant, lines: firstLine...line))
            open.removeLast()
        }
    }

    private mutating func copy(until offset: Int) {
        write(source[copied..<offset])
        copied = offset
    }

    private mutating func write(_ text: String) { write(Array(text.utf8)[...]) }

    private mutating func write(_ text: ArraySlice<UInt8>) {
        written += text
        line += text.count { $0 == UInt8(ascii: "\n") }
    }
}

extension String {
    fileprivate func numbered(_ number: Int) -> String {
        let parts = split(separator: "mutant(#)", maxSplits: 1, omittingEmptySubsequences: false)
        return parts.joined(separator: "mutant(\(number))")
    }
}
