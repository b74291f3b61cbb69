// SPDX-License-Identifier: Apache-2.0
import CBench

/// The latest fires of a subject, the worst first, with the times at which to look for them in other logs.
struct WorstFires: Sendable {
    struct Entry: Sendable, Equatable {
        /// On `CLOCK_MONOTONIC`, like the kernel's trace (trace_clock mono).
        let woke_ns: Int64
        let lateness_ns: Int64
        let round: Int
    }

    static let limit = 10
    private(set) var entries: [Entry] = []

    mutating func add(_ fire: Fire, round: Int) {
        if entries.count == Self.limit, fire.lateness_ns <= entries[Self.limit - 1].lateness_ns { return }
        let entry = Entry(woke_ns: fire.woke_ns, lateness_ns: fire.lateness_ns, round: round)
        // Among equals the first one stays.
        let place = entries.firstIndex { $0.lateness_ns < entry.lateness_ns } ?? entries.count
        entries.insert(entry, at: place)
        if entries.count > Self.limit { entries.removeLast() }
    }
}
