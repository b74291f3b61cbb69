// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
#if ServiceLifecycle
public import HRTimer

extension PeriodicService {
    /// Does `work` at each date of a schedule. Dates that pass while the work goes on are merged into one call after it; see
    /// `PeriodicService`.
    public init(
        by schedule: CalendarSchedule,
        clock: WallClock = .wall,
        firstRun: FirstRun = .atTick,
        onError: @escaping @Sendable (any Error) -> Void,
        work: @escaping @Sendable () async throws -> Void
    ) {
        self.init(ticks: { clock.ticks(by: schedule) }, firstRun: firstRun, onError: onError, work: work)
    }
}
#endif
#endif
