// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
public import Dispatch

extension TimerSource {
    /// A source that is not active yet and runs its handlers on the engine's thread or, if there is one, on `queue`, one call
    /// at a time, even on a concurrent queue.
    ///
    /// A strict source counts leeway as zero: it fires at the deadline, even if another timer could share the wake-up.
    ///
    /// On a queue the handler is submitted when the deadline has come, so it runs later than on the engine's thread by the queue's thread
    /// hop. A precise engine submits it earlier by a lead, the learned duration of that hop, and the block spins for the rest,
    /// within the engine's budget for spinning: the handler is never called early, and the spin alone delays other work of the
    /// queue. While the queue is blocked, the source costs at most one wake-up; the call that comes then reports all ticks in
    /// `data`.
    public convenience init(engine: TimerEngine = .shared, queue: DispatchQueue? = nil, isStrict: Bool = false) {
        self.init(engine: engine, target: queue.map { Self.target($0) }, isStrict: isStrict)
    }

    /// A source that is not active yet, by GCD's flags, of which `.strict` is the only one. Without a queue it runs its
    /// handlers on the engine's thread.
    package convenience init(
        flags: DispatchSource.TimerFlags,
        engine: TimerEngine = .shared,
        queue: DispatchQueue? = nil
    ) {
        self.init(engine: engine, target: queue.map { Self.target($0) }, isStrict: flags.contains(.strict))
    }

    private static func target(
        _ queue: DispatchQueue,
        _ qos: DispatchQoS = .unspecified,
        _ flags: DispatchWorkItemFlags = []
    ) -> SourceCore.Target {
        // The flags' type is not Sendable in Dispatch; their raw value is.
        let flags = flags.rawValue
        let submission: @Sendable (@escaping @Sendable () -> Void) -> @Sendable () -> Void = { block in
            // Dispatch takes an Objective-C block. Made here, it is one object for all calls: converted at each call, the function
            // would be copied to the heap anew.
            let block: @Sendable @convention(block) () -> Void = block
            return { queue.async(qos: qos, flags: DispatchWorkItemFlags(rawValue: flags), execute: block) }
        }
        return .init(queue: queue, submission: submission)
    }

    /// Runs the handlers on `queue` from the next call on; nil for the engine's thread.
    ///
    /// GCD allows this before activation alone. A call that was submitted before is made where it was submitted.
    public func setTarget(queue: DispatchQueue?) {
        core.setTarget(queue.map { Self.target($0) })
    }

    /// Has calls submitted to the source's queue, if it has one, with these attributes from now on, if there are any.
    func submit(_ qos: DispatchQoS, _ flags: DispatchWorkItemFlags) {
        if qos == .unspecified, flags.isEmpty { return }
        core.changeTarget { target in target?.queue.map { Self.target($0, qos, flags) } ?? target }
    }

    /// Schedules the source; `leeway` and `repeating` as in GCD's `DispatchSourceTimer.schedule(deadline:repeating:leeway:)`.
    ///
    /// `DispatchTime` counts `CLOCK_MONOTONIC` on Linux, so it is exact here too; zero nanoseconds mean now. An interval of
    /// `.never` fires once. An interval of zero or less counts as 0.1 ms, where GCD takes 1 ns for zero and traps below zero.
    @_disfavoredOverload
    public func schedule(
        deadline: DispatchTime,
        repeating interval: DispatchTimeInterval = .never,
        leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        schedule(deadline: MonotonicInstant(deadline), repeating: Duration(interval), leeway: Self.leeway(leeway))
    }

    /// Schedules the source with an interval in seconds.
    ///
    /// An infinite interval fires once, and so does NaN, where GCD traps.
    @_disfavoredOverload
    public func schedule(
        deadline: DispatchTime,
        repeating interval: Double,
        leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        schedule(deadline: MonotonicInstant(deadline), repeating: Self.interval(interval), leeway: Self.leeway(leeway))
    }

    /// Schedules the source on the time of day; see `schedule(deadline:repeating:leeway:)` with a `WallInstant`.
    public func schedule(
        wallDeadline deadline: DispatchWallTime,
        repeating interval: DispatchTimeInterval = .never,
        leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        schedule(deadline: WallInstant(deadline), repeating: Duration(interval), leeway: Self.leeway(leeway))
    }

    /// Schedules the source on the time of day, with an interval in seconds.
    ///
    /// An infinite interval fires once, and so does NaN.
    public func schedule(
        wallDeadline deadline: DispatchWallTime,
        repeating interval: Double,
        leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        schedule(deadline: WallInstant(deadline), repeating: Self.interval(interval), leeway: Self.leeway(leeway))
    }

    private static func leeway(_ leeway: DispatchTimeInterval) -> Duration {
        Duration(leeway) ?? .nanoseconds(Int64.max)
    }

    private static func interval(_ seconds: Double) -> Duration? {
        if seconds.isNaN { UsageWarning.report(.notANumber("the interval of a source")) }
        return seconds.isFinite ? Duration(exactSeconds: seconds) : nil
    }
}

extension TimerEngine {
    /// Submits `work` to `queue` at `deadline`, as `DispatchQueue.asyncAfter` does, and returns a token.
    ///
    /// `cancel(_:)` frees closure and slot at once, but does not withdraw work that was already submitted.
    ///
    /// For a past deadline the calling thread submits at once, without the engine's thread: no lateness is recorded, and the
    /// token is stale. `distantFuture` never submits. A `Date` is converted now, and a `Date` of NaN means now. The work may
    /// come later by `tolerance`, which is zero unless given, where GCD takes a tenth of the delay.
    @discardableResult
    public func schedule(
        at deadline: some TimePoint,
        tolerance: some TimeSpan = Duration.zero,
        on queue: DispatchQueue,
        qos: DispatchQoS = .unspecified,
        flags: DispatchWorkItemFlags = [],
        execute work: @escaping @Sendable () -> Void
    ) -> TimerToken {
        let instant = deadline.instant(on: core.time) ?? .distantPast
        if core.mayCallElsewhere(instant.nanoseconds) {
            queue.async(qos: qos, flags: flags, execute: work)
            return .stale
        }
        let flags = flags.rawValue
        return schedule(at: instant, tolerance: tolerance.asDuration ?? .zero) { [time = core.time] _ in
            let work = time.elsewhere("work on the queue \(queue.label)", work)
            queue.async(qos: qos, flags: DispatchWorkItemFlags(rawValue: flags), execute: work)
        }
    }

    /// Submits `work` to `queue` once `delay` has passed; NaN means now.
    ///
    /// See `schedule(at:tolerance:on:qos:flags:execute:)`.
    @discardableResult
    public func schedule(
        after delay: some TimeSpan,
        tolerance: some TimeSpan = Duration.zero,
        on queue: DispatchQueue,
        qos: DispatchQoS = .unspecified,
        flags: DispatchWorkItemFlags = [],
        execute work: @escaping @Sendable () -> Void
    ) -> TimerToken {
        schedule(
            at: now.advanced(by: delay.asDuration ?? .zero),
            tolerance: tolerance,
            on: queue,
            qos: qos,
            flags: flags,
            execute: work
        )
    }
}

extension MonotonicInstant {
    /// The same instant: on Linux a `DispatchTime` is nanoseconds of `CLOCK_MONOTONIC`.
    ///
    /// A time that does not fit is `distantFuture`. Zero, which Dispatch takes for now, is `distantPast`, which means now as a
    /// deadline.
    public init(_ time: DispatchTime) {
        let nanoseconds = Int64(clamping: time.uptimeNanoseconds)
        self = nanoseconds == 0 ? .distantPast : Self(nanoseconds: nanoseconds)
    }
}

extension WallInstant {
    /// The same instant. libdispatch keeps wall times as negated nanoseconds since 1970 (`src/shims/time.h`), and never as all
    /// ones.
    public init(_ time: DispatchWallTime) {
        self = time == .distantFuture ? .distantFuture : Self(nanoseconds: Int64(bitPattern: 0 &- time.rawValue))
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
#endif
