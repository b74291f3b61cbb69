#if os(Linux)
public import Dispatch

extension TimerSource {
    /// A source that is not active yet and runs its handlers on `queue`, one call at a time on a concurrent queue too.
    ///
    /// The handler is submitted when the deadline has come: it runs later than on the engine's thread by the queue's
    /// thread hop. On a precise engine it is submitted earlier by a lead, the duration of that hop as learned, and the
    /// block spins for the rest, inside the engine's budget for spinning: never early, and it delays other work of the
    /// queue by no more. While the queue is blocked the source costs no wake-ups; the call that comes then reports all
    /// ticks in `data`.
    public convenience init(engine: TimerEngine = .shared, queue: DispatchQueue, isStrict: Bool = false) {
        self.init(engine: engine, target: Self.target(queue), isStrict: isStrict)
    }

    /// The same by GCD's flags, of which `.strict` is the only one.
    public convenience init(
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
        // The flags are not Sendable in Dispatch's types, the number that they are is.
        let flags = flags.rawValue
        return .init(queue: queue) { block in
            queue.async(qos: qos, flags: DispatchWorkItemFlags(rawValue: flags), execute: block)
        }
    }

    /// Has the handlers run on `queue` from the next call on, or on the engine's thread; GCD allows it before activation alone.
    /// A call that was submitted before is made where it was submitted.
    public func setTarget(queue: DispatchQueue?) {
        core.setTarget(queue.map { Self.target($0) })
    }

    /// The spelling of GCD. From the next call on, handlers are submitted to the source's queue with that quality of service
    /// and those flags, a barrier's for one; on the engine's thread they mean nothing.
    public func setEventHandler(
        qos: DispatchQoS = .unspecified,
        flags: DispatchWorkItemFlags = [],
        handler: (@isolated(any) @Sendable () -> Void)?
    ) {
        core.changeTarget { target in target?.queue.map { Self.target($0, qos, flags) } ?? target }
        setEventHandler(handler)
    }

    /// The spelling of GCD; see `setEventHandler(qos:flags:handler:)`.
    public func setRegistrationHandler(
        qos: DispatchQoS = .unspecified,
        flags: DispatchWorkItemFlags = [],
        handler: (@isolated(any) @Sendable () -> Void)?
    ) {
        core.changeTarget { target in target?.queue.map { Self.target($0, qos, flags) } ?? target }
        setRegistrationHandler(handler)
    }

    /// The spelling of GCD; see `setEventHandler(qos:flags:handler:)`.
    public func setCancelHandler(
        qos: DispatchQoS = .unspecified,
        flags: DispatchWorkItemFlags = [],
        handler: (@isolated(any) @Sendable () -> Void)?
    ) {
        core.changeTarget { target in target?.queue.map { Self.target($0, qos, flags) } ?? target }
        setCancelHandler(handler)
    }

    /// Performs the work item at each fire, as long as that is not cancelled.
    public func setEventHandler(handler: DispatchWorkItem) {
        let item = Item(handler)
        setEventHandler { item.perform() }
    }

    /// Performs the work item once when the source has become active.
    public func setRegistrationHandler(handler: DispatchWorkItem) {
        let item = Item(handler)
        setRegistrationHandler { item.perform() }
    }

    /// Performs the work item once after `cancel()`.
    public func setCancelHandler(handler: DispatchWorkItem) {
        let item = Item(handler)
        setCancelHandler { item.perform() }
    }

    /// Sendable: `dispatch_block_perform` and its cancelling are for any thread; Dispatch does not say so in its types.
    private struct Item: @unchecked Sendable {
        private let item: DispatchWorkItem

        init(_ item: DispatchWorkItem) {
            self.item = item
        }

        func perform() {
            if !item.isCancelled { item.perform() }
        }
    }

    /// The spelling of GCD: `leeway` and `repeating` as in `DispatchSourceTimer.schedule(deadline:repeating:leeway:)`.
    ///
    /// `DispatchTime` counts `CLOCK_MONOTONIC` on Linux, so that it is exact here too; one of zero nanoseconds means now. An
    /// interval of `.never` fires once; zero or less counts as 0.1 ms, where GCD takes 1 ns for zero and traps below.
    @_disfavoredOverload
    public func schedule(
        deadline: DispatchTime,
        repeating interval: DispatchTimeInterval = .never,
        leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        schedule(deadline: MonotonicInstant(deadline), repeating: Duration(interval), leeway: Self.leeway(leeway))
    }

    /// The same with an interval in seconds: infinite ones fire once, and so does NaN, where GCD traps.
    @_disfavoredOverload
    public func schedule(
        deadline: DispatchTime,
        repeating interval: Double,
        leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        schedule(deadline: MonotonicInstant(deadline), repeating: Self.interval(interval), leeway: Self.leeway(leeway))
    }

    /// The same on the time of day; see `schedule(deadline:repeating:leeway:)` with a `WallInstant`.
    public func schedule(
        wallDeadline deadline: DispatchWallTime,
        repeating interval: DispatchTimeInterval = .never,
        leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        schedule(deadline: WallInstant(deadline), repeating: Duration(interval), leeway: Self.leeway(leeway))
    }

    /// The same with an interval in seconds.
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
        seconds.isFinite ? Duration(roundingUpSeconds: seconds) : nil
    }
}

extension TimerEngine {
    /// Submits `work` to `queue` at `deadline`: `DispatchQueue.asyncAfter`, with a token. `cancel(_:)` frees closure
    /// and slot at once; it does not withdraw what was submitted already.
    ///
    /// A past deadline submits at once, from the calling thread and without the engine's, which has no lateness of it: its
    /// token is stale. `distantFuture` never submits; a `Date` is converted now, and one of NaN means now. The work may come
    /// later by `tolerance`, none unless given, where GCD takes a tenth of the delay.
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

    /// The same once `delay` has passed; one of NaN means now.
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
    /// The same instant: `DispatchTime` is nanoseconds of `CLOCK_MONOTONIC` on Linux. What does not fit is `distantFuture`;
    /// zero, which Dispatch takes for now, is `distantPast`, which means now as a deadline.
    public init(_ time: DispatchTime) {
        let nanoseconds = Int64(clamping: time.uptimeNanoseconds)
        self = nanoseconds == 0 ? .distantPast : Self(nanoseconds: nanoseconds)
    }
}

extension WallInstant {
    /// The same instant. libdispatch keeps wall times as negated nanoseconds since 1970 (`src/shims/time.h`), all ones for
    /// never.
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
