// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
/// A set of small numbers, for example a loop's modes or groups of timers: one word of bits, and more for numbers above 63.
package struct NumberSet: Sendable, Hashable {
    private var first: UInt64 = 0
    private var rest: [UInt64] = []

    package init() {}

    package var isEmpty: Bool { first == 0 && rest.allSatisfy { $0 == 0 } }

    @inline(__always)
    package func contains(_ index: Int) -> Bool {
        if index < 64 { return index >= 0 && first >> index & 1 != 0 }
        return word(index / 64) >> (index % 64) & 1 != 0
    }

    package mutating func insert(_ index: Int) { setWord(index / 64, word(index / 64) | 1 << (index % 64)) }

    package mutating func remove(_ index: Int) { setWord(index / 64, word(index / 64) & ~(1 << (index % 64))) }

    package mutating func formUnion(_ other: NumberSet) {
        first |= other.first
        for (index, bits) in other.rest.enumerated() { setWord(index + 1, word(index + 1) | bits) }
    }

    package mutating func subtract(_ other: NumberSet) {
        first &= ~other.first
        for (index, bits) in other.rest.enumerated() { setWord(index + 1, word(index + 1) & ~bits) }
    }

    private func word(_ index: Int) -> UInt64 {
        if index == 0 { return first }
        return index <= rest.count ? rest[index - 1] : 0
    }

    /// Sets a word and drops words of zeros at the end, so that equal sets are equal values.
    private mutating func setWord(_ index: Int, _ bits: UInt64) {
        if index == 0 {
            first = bits
            return
        }
        while rest.count < index { rest.append(0) }
        rest[index - 1] = bits
        while rest.last == 0 { rest.removeLast() }
    }
}
#endif
