// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
public import HRTimer
import HRTimerCore

/// A port that keeps a run loop running that has nothing else to do: `RunLoop.current.add(Port(), forMode: .default)`, as
/// programs for Darwin do on threads that wait for work.
///
/// Making one of Foundation's own ports on Linux ends the program.
///
/// A port of this library neither receives nor sends messages. The loop holds it; it may be in several loops.
public final class Port: Sendable {
    private struct State: Sendable {
        var isValid = true
        /// The trigger that represents the port in each loop. The loops hold the triggers, and the triggers hold the port.
        var triggers: [ObjectIdentifier: WeakTrigger] = [:]
    }

    private struct WeakTrigger: Sendable {
        weak let object: LoopTrigger?
    }

    private let state = Locked(State())

    /// A valid port that is in no loop.
    public init() {}

    /// Whether the port is valid: false once it was invalidated.
    public var isValid: Bool { state.withLock { $0.isValid } }

    /// Removes the port from all loops for good.
    ///
    /// Idempotent.
    public func invalidate() {
        let triggers = state.withLock { state in
            state.isValid = false
            defer { state.triggers = [:] }
            return state.triggers.values.compactMap { $0.object }
        }
        for trigger in triggers { trigger.invalidate() }
    }

    fileprivate func trigger(in loop: TimerLoop) -> LoopTrigger? {
        state.withLock { state in
            guard state.isValid else { return nil }
            let id = ObjectIdentifier(loop)
            if let trigger = state.triggers[id]?.object, trigger.isValid { return trigger }
            let trigger = LoopTrigger { [self] _ in withExtendedLifetime(self) {} }
            state.triggers[id] = WeakTrigger(object: trigger)
            return trigger
        }
    }

    fileprivate func known(in loop: TimerLoop) -> LoopTrigger? {
        state.withLock { $0.triggers[ObjectIdentifier(loop)]?.object }
    }
}

/// Another name of `Port`: the kind of port that programs for Darwin make as well.
public typealias NSMachPort = Port

extension TimerLoop {
    /// Keeps the loop running in `mode` until the port is removed or invalidated.
    ///
    /// Adding the same port twice counts once.
    public func add(_ port: Port, forMode mode: Mode) {
        if let trigger = port.trigger(in: self) { add(trigger, forMode: mode) }
    }

    /// Removes the port from one mode; the loop runs on as long as it has other work there.
    public func remove(_ port: Port, forMode mode: Mode) {
        if let trigger = port.known(in: self) { remove(trigger, forMode: mode) }
    }
}
#endif
