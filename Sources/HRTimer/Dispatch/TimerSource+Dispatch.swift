public import Dispatch

extension TimerSource {
    /// A source that is not active yet and runs its handlers on `queue`.
    ///
    /// The handler is submitted when the deadline has come: it runs later than on the engine's thread by the queue's thread
    /// hop. While the queue is blocked the source costs no wake-ups; the call that comes then tells all ticks in `data`.
    public convenience init(engine: TimerEngine = .shared, queue: DispatchQueue) {
        self.init(engine: engine, target: { block in queue.async(execute: block) })
    }

    /// The spelling of GCD: `leeway` and `repeating` as in `DispatchSourceTimer.schedule(deadline:repeating:leeway:)`.
    ///
    /// `DispatchTime` counts `CLOCK_MONOTONIC` on Linux, so that it is exact here too. An interval of `.never` fires once;
    /// zero or less counts as 0.1 ms, where GCD takes 1 ns for zero and traps below.
    public func schedule(
        deadline: DispatchTime,
        repeating interval: DispatchTimeInterval = .never,
        leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        schedule(
            deadline: MonotonicInstant(deadline),
            repeating: Duration(interval),
            leeway: Duration(leeway) ?? .nanoseconds(Int64.max)
        )
    }
}

extension MonotonicInstant {
    /// The same instant: `DispatchTime` is nanoseconds of `CLOCK_MONOTONIC` on Linux. What does not fit is `distantFuture`.
    public init(_ time: DispatchTime) {
        self.init(nanoseconds: Int64(clamping: time.uptimeNanoseconds))
    }
}

extension Duration {
    /// The same duration, or nil for `.never`.
    public init?(_ interval: DispatchTimeInterval) {
        switch interval {
        case .seconds(let count): self = .seconds(count)
        case .milliseconds(let count): self = .milliseconds(count)
        case .microseconds(let count): self = .microseconds(count)
        case .nanoseconds(let count): self = .nanoseconds(count)
        case .never: return nil
        @unknown default: return nil
        }
    }
}
