// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
public import Dispatch
public import HRTimer

/// GCD's function that makes timer sources, for one file at a time:
///
///     import enum HRTimerCompat.DispatchSource
///
/// It does not have the types of Dispatch's other sources: a file that also uses those names them through
/// `Dispatch.DispatchSource`.
public enum DispatchSource {
    /// Dispatch's flags.
    ///
    /// With `.strict` the leeway is ignored.
    public typealias TimerFlags = Dispatch.DispatchSource.TimerFlags

    /// Makes a timer source on the shared engine, not active yet.
    ///
    /// Its handlers run on `queue`, or on a global queue if that is nil.
    public static func makeTimerSource(flags: TimerFlags = [], queue: DispatchQueue? = nil) -> DispatchSourceTimer {
        DispatchSourceTimer(TimerSource(flags: flags, queue: queue ?? .global()))
    }
}

/// A `TimerSource` with the name of GCD's protocol and with Dispatch's types.
///
/// It is a class, so that variables of the type are no existentials.
///
/// As with Dispatch's own sources, handlers need not be Sendable: what they capture must be safe on the queue, which runs one
/// call at a time. A handler that belongs to an actor, as every closure in code of the main actor does, is called on that
/// actor; Dispatch's source ends the program on another queue. Any thread may use all members; `TimerSource`'s own are available
/// through `source`.
public final class DispatchSourceTimer: Sendable {
    /// The `TimerSource` that does the work.
    public let source: TimerSource

    /// A source's handler.
    public typealias Handler = @isolated(any) () -> Void

    init(_ source: TimerSource) {
        self.source = source
    }

    /// Returns the function as one that another thread may call. As with Dispatch's types, the caller must know that this is
    /// safe.
    private static func unchecked(_ handler: Handler?) -> (@isolated(any) @Sendable () -> Void)? {
        struct Unchecked { let function: Handler }
        struct Checked { let function: @isolated(any) @Sendable () -> Void }
        // Safe: Sendable does not change a function's layout.
        return handler.map { unsafe unsafeBitCast(Unchecked(function: $0), to: Checked.self).function }
    }

    /// Sets the handler of each fire.
    public func setEventHandler(
        qos: DispatchQoS = .unspecified,
        flags: DispatchWorkItemFlags = [],
        handler: Handler?
    ) {
        source.setEventHandler(qos: qos, flags: flags, handler: Self.unchecked(handler))
    }

    /// Sets the handler called once when the source has become active.
    public func setRegistrationHandler(
        qos: DispatchQoS = .unspecified,
        flags: DispatchWorkItemFlags = [],
        handler: Handler?
    ) {
        source.setRegistrationHandler(qos: qos, flags: flags, handler: Self.unchecked(handler))
    }

    /// Sets the handler called once after `cancel()`.
    public func setCancelHandler(
        qos: DispatchQoS = .unspecified,
        flags: DispatchWorkItemFlags = [],
        handler: Handler?
    ) {
        source.setCancelHandler(qos: qos, flags: flags, handler: Self.unchecked(handler))
    }

    /// Performs the work item at each fire, as long as the item is not cancelled.
    public func setEventHandler(handler: DispatchWorkItem) {
        setEventHandler { Self.perform(handler) }
    }

    /// Performs the work item once when the source has become active.
    public func setRegistrationHandler(handler: DispatchWorkItem) {
        setRegistrationHandler { Self.perform(handler) }
    }

    /// Performs the work item once after `cancel()`.
    public func setCancelHandler(handler: DispatchWorkItem) {
        setCancelHandler { Self.perform(handler) }
    }

    private static func perform(_ item: DispatchWorkItem) {
        if !item.isCancelled { item.perform() }
    }

    /// Sets deadline, interval and leeway; see `TimerSource`.
    public func schedule(
        deadline: DispatchTime,
        repeating interval: DispatchTimeInterval = .never,
        leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        source.schedule(deadline: deadline, repeating: interval, leeway: leeway)
    }

    /// Sets deadline, interval in seconds and leeway; see `TimerSource`.
    public func schedule(
        deadline: DispatchTime,
        repeating interval: Double,
        leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        source.schedule(deadline: deadline, repeating: interval, leeway: leeway)
    }

    /// Sets a deadline on the wall clock, interval and leeway; see `TimerSource`.
    public func schedule(
        wallDeadline: DispatchWallTime,
        repeating interval: DispatchTimeInterval = .never,
        leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        source.schedule(wallDeadline: wallDeadline, repeating: interval, leeway: leeway)
    }

    /// Sets a deadline on the wall clock, interval in seconds and leeway; see `TimerSource`.
    public func schedule(
        wallDeadline: DispatchWallTime,
        repeating interval: Double,
        leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        source.schedule(wallDeadline: wallDeadline, repeating: interval, leeway: leeway)
    }

    /// Makes the handlers run on another queue.
    public func setTarget(queue: DispatchQueue?) { source.setTarget(queue: queue) }

    /// Activates the source, so that it may fire.
    public func activate() { source.activate() }

    /// Undoes one `suspend()`, or activates the source.
    public func resume() { source.resume() }

    /// Keeps the source from firing until `resume()` was called as often as this.
    public func suspend() { source.suspend() }

    /// Cancels the source for good.
    public func cancel() { source.cancel() }

    /// Whether the source was cancelled.
    public var isCancelled: Bool { source.isCancelled }

    /// The number of nominal deadlines that passed since the last call.
    public var data: UInt { source.data }
}

extension DispatchQueue {
    /// Submits `work` as `asyncAfter` does, at an instant of this library: `TimerEngine.shared.schedule(at:on:execute:)`.
    ///
    /// Returns a token that cancels it.
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
#endif
