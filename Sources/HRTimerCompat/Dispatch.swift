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
    public static func makeTimerSource(flags: TimerFlags = [], queue: DispatchQueue? = nil) -> TimerSource {
        TimerSource(flags: flags, queue: queue ?? .global())
    }
}

/// `TimerSource` under the name of GCD's protocol; a variable of it is no existential.
public typealias DispatchSourceTimer = TimerSource

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
