public import Dispatch
public import HRTimer

/// GCD's maker of timer sources, for one file at a time:
///
///     import enum HRTimerCompat.DispatchSource
///
/// The types of Dispatch's own sources are not among it: a file that uses those too names them `Dispatch.DispatchSource`.
public enum DispatchSource {
    /// Dispatch's flags: `.strict` has leeway count as none.
    public typealias TimerFlags = Dispatch.DispatchSource.TimerFlags

    /// A timer source that is not active yet, on the shared engine. Its handlers run on `queue`, without one on a global one.
    public static func makeTimerSource(flags: TimerFlags = [], queue: DispatchQueue? = nil) -> DispatchSourceTimer {
        DispatchSourceTimer(TimerSource(flags: flags, queue: queue ?? .global()))
    }
}

/// A `TimerSource` under the name of GCD's protocol, and with its types: a variable of it is no existential.
///
/// As with Dispatch's own, nobody checks what a handler captures: it must be for the queue that it runs on, of which there is
/// one call at a time. A handler that belongs to an actor, as each in code of the main actor does, is called on that, where
/// Dispatch's ends the program on another queue. For `TimerSource`'s own members there is `source`.
public final class DispatchSourceTimer: Sendable {
    /// What does the work.
    public let source: TimerSource

    /// What a source calls.
    public typealias Handler = @isolated(any) () -> Void

    init(_ source: TimerSource) {
        self.source = source
    }

    /// The function as one that is given to another thread. As Dispatch's types have it, that is for the caller to know.
    private static func unchecked(_ handler: Handler?) -> (@isolated(any) @Sendable () -> Void)? {
        struct Unchecked { let function: Handler }
        struct Checked { let function: @isolated(any) @Sendable () -> Void }
        // Unsafe: what is Sendable is no part of a function's layout.
        return handler.map { unsafeBitCast(Unchecked(function: $0), to: Checked.self).function }
    }

    /// What is called at each fire.
    public func setEventHandler(
        qos: DispatchQoS = .unspecified,
        flags: DispatchWorkItemFlags = [],
        handler: Handler?
    ) {
        source.setEventHandler(qos: qos, flags: flags, handler: Self.unchecked(handler))
    }

    /// What is called once when the source has become active.
    public func setRegistrationHandler(
        qos: DispatchQoS = .unspecified,
        flags: DispatchWorkItemFlags = [],
        handler: Handler?
    ) {
        source.setRegistrationHandler(qos: qos, flags: flags, handler: Self.unchecked(handler))
    }

    /// What is called once after `cancel()`.
    public func setCancelHandler(
        qos: DispatchQoS = .unspecified,
        flags: DispatchWorkItemFlags = [],
        handler: Handler?
    ) {
        source.setCancelHandler(qos: qos, flags: flags, handler: Self.unchecked(handler))
    }

    /// Performs the work item at each fire.
    public func setEventHandler(handler: DispatchWorkItem) { source.setEventHandler(handler: handler) }

    /// Performs the work item once when the source has become active.
    public func setRegistrationHandler(handler: DispatchWorkItem) { source.setRegistrationHandler(handler: handler) }

    /// Performs the work item once after `cancel()`.
    public func setCancelHandler(handler: DispatchWorkItem) { source.setCancelHandler(handler: handler) }

    /// Sets deadline, interval and leeway; see `TimerSource`.
    public func schedule(
        deadline: DispatchTime,
        repeating interval: DispatchTimeInterval = .never,
        leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        source.schedule(deadline: deadline, repeating: interval, leeway: leeway)
    }

    /// The same with an interval in seconds.
    public func schedule(
        deadline: DispatchTime,
        repeating interval: Double,
        leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        source.schedule(deadline: deadline, repeating: interval, leeway: leeway)
    }

    /// The same on the time of day.
    public func schedule(
        wallDeadline: DispatchWallTime,
        repeating interval: DispatchTimeInterval = .never,
        leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        source.schedule(wallDeadline: wallDeadline, repeating: interval, leeway: leeway)
    }

    /// The same on the time of day with an interval in seconds.
    public func schedule(
        wallDeadline: DispatchWallTime,
        repeating interval: Double,
        leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        source.schedule(wallDeadline: wallDeadline, repeating: interval, leeway: leeway)
    }

    /// Has the handlers run on another queue.
    public func setTarget(queue: DispatchQueue?) { source.setTarget(queue: queue) }

    /// Lets it fire.
    public func activate() { source.activate() }

    /// Undoes one `suspend()`, or activates the source.
    public func resume() { source.resume() }

    /// Keeps it from firing until as many `resume()`.
    public func suspend() { source.suspend() }

    /// Ends it for good.
    public func cancel() { source.cancel() }

    /// Whether it was cancelled.
    public var isCancelled: Bool { source.isCancelled }

    /// How many nominal deadlines passed since the last call.
    public var data: UInt { source.data }
}

extension DispatchQueue {
    /// `asyncAfter` by an instant of ours: `TimerEngine.shared.schedule(at:on:execute:)`. The token cancels it.
    @discardableResult
    public func asyncAfter(
        deadline: MonotonicInstant,
        qos: DispatchQoS = .unspecified,
        flags: DispatchWorkItemFlags = [],
        execute work: @escaping @Sendable () -> Void
    ) -> TimerToken {
        TimerEngine.shared.schedule(at: deadline, on: self, qos: qos, flags: flags, execute: work)
    }
}
