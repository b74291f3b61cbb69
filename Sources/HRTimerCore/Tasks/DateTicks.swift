// SPDX-License-Identifier: Apache-2.0
#if os(Linux)

/// Dates as a plan of ticks. It never changes, but the wall clock may be set.
package struct DateTicks: TickPlan {
    package typealias Position = DatePosition

    fileprivate let dates: any DateSequence
    fileprivate let policy: MissedTickPolicy

    package func begin(now_ns: Int64) -> DateTicks { self }
}

extension DatePosition: TickPosition {
    package var isOver: Bool { deadline_ns == .max }

    package func tolerance_ns(requested requested_ns: Int64) -> Int64 { max(0, requested_ns) }

    package mutating func follow(_ dates: DateTicks, now_ns: Int64) { _ = setClockBack(to: now_ns) }

    package func noteTick(lateness_ns: Int64, in dates: inout DateTicks) {}
}

extension SharedTicks<DateTicks> {
    /// Creates the state for ticks of the host's clock.
    package convenience init(on host: any TimerHost, _ dates: any DateSequence, _ policy: MissedTickPolicy) {
        self.init(host.time, DateTicks(dates: dates, policy: policy)) { host }
        if time.clock == .wall { WallClockSteps.notify(self, in: time) }
    }

    /// Returns a consumer that begins at the first date after now.
    package func makeConsumer(tolerance: Duration) -> TickConsumer<DateTicks> {
        let (dates, policy) = read { ($0.dates, $0.policy) }
        let position = DatePosition(dates, after: time.now_ns, policy)
        // Generation 0: it begins to wait by looking whether the clock was set, ever.
        return TickConsumer(self, at: position, tolerance: tolerance, since: 0)
    }
}
#endif
