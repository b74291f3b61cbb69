public import HRTimer
import HRTimerCore

/// What keeps a run loop running that has nothing else to do: `RunLoop.current.add(Port(), forMode: .default)`, as programs for
/// Darwin have it on threads that wait for work. Foundation's own on Linux ends the program when it is made.
///
/// It takes and sends no messages. The loop holds it; several loops may have the same one.
public final class Port: Sendable {
    private struct State: Sendable {
        var isValid = true
        /// What stands for the port in each loop. The loops hold them, and they the port.
        var triggers: [ObjectIdentifier: WeakTrigger] = [:]
    }

    private struct WeakTrigger: Sendable {
        weak let object: LoopTrigger?
    }

    private let state = Locked(State())

    /// A valid port, in no loop.
    public init() {}

    /// False once it was invalidated.
    public var isValid: Bool { state.withLock { $0.isValid } }

    /// Takes it out of all loops for good. Idempotent.
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

/// The port that programs for Darwin make as well.
public typealias NSMachPort = Port

extension TimerLoop {
    /// Keeps the loop running in `mode` until the port is removed or invalidated. The same port twice counts once.
    public func add(_ port: Port, forMode mode: Mode) {
        if let trigger = port.trigger(in: self) { add(trigger, forMode: mode) }
    }

    /// Takes the port out of one mode; the loop runs on as long as it has other things there.
    public func remove(_ port: Port, forMode mode: Mode) {
        if let trigger = port.known(in: self) { remove(trigger, forMode: mode) }
    }
}
