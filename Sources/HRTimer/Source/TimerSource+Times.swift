#if os(Linux)
public import FoundationEssentials
public import HRTimerCore

// Times in the spellings that other parts of the library take too: seconds, and dates.

extension TimerSource {
    /// Schedules the source to fire once, when `delay` has passed, counted from now by the engine's clock. NaN means now.
    @_disfavoredOverload
    public func schedule(after delay: some TimeSpan, leeway: some TimeSpan = Duration.zero) {
        schedule(after: delay.asDuration ?? .zero, repeating: nil, leeway: leeway.asDuration ?? .zero)
    }

    /// Schedules the source to fire when `delay` has passed, and then at every interval; an interval of NaN counts as 0.1 ms.
    @_disfavoredOverload
    public func schedule(
        after delay: some TimeSpan,
        repeating interval: some TimeSpan,
        leeway: some TimeSpan = Duration.zero
    ) {
        let interval = interval.asDuration ?? .zero
        schedule(after: delay.asDuration ?? .zero, repeating: interval, leeway: leeway.asDuration ?? .zero)
    }

    /// Schedules the source to fire first at a date, which is converted now, and then at every interval, if there is one. A
    /// date of NaN means now. To follow steps of the wall clock, use a `WallInstant`.
    @_disfavoredOverload
    public func schedule(
        deadline date: Date,
        repeating interval: (some TimeSpan)? = Duration?.none,
        leeway: some TimeSpan = Duration.zero
    ) {
        schedule(
            deadline: date.instant(on: core.core.time) ?? .distantPast,
            repeating: interval.map { $0.asDuration ?? .zero },
            leeway: leeway.asDuration ?? .zero
        )
    }
}
#endif
