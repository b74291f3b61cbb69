// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import HRTimer

/// What a loop remembers of its latest runs, to tell which of them made a timer of another mode late.
@Suite struct RunLogTests {
    private let ms: Int64 = 1_000_000
    private var log = RunLog()

    @Test("A loop remembers its latest eight runs")
    mutating func kept() {
        for number: Int64 in 0..<20 { log.add(Int(number), from: 10 * number * ms, to: (10 * number + 5) * ms) }
        #expect(log.entries.map(\.index) == Array(12..<20))
        #expect(log.entries.last?.begin_ns == 190 * ms && log.entries.last?.end_ns == 195 * ms)
    }

    @Test("Runs that take no time push out none that did")
    mutating func momentary() {
        log.add(1, from: 0, to: 5 * ms)
        for number: Int64 in 0..<20 { log.add(Int(number), from: 10 * number * ms, to: 10 * number * ms) }
        #expect(log.entries.map(\.index) == [1])
    }

    @Test("Runs of one mode that follow each other within a millisecond count as one")
    mutating func together() {
        log.add(1, from: 0, to: 5 * ms)
        log.add(1, from: 6 * ms - 1, to: 8 * ms)
        #expect(log.entries.map(\.end_ns) == [8 * ms])
        log.add(1, from: 9 * ms, to: 10 * ms)
        log.add(2, from: 10 * ms, to: 11 * ms)
        #expect(log.entries.map(\.index) == [1, 1, 2])
    }
}
