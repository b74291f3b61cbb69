#if os(Linux)
import HRTimerCore

// A call on a queue ends on another thread than the engine's, which sleeps by then. If the deadline that follows were armed
// there, each call would wake the engine once more, for one more context switch a fire (`bench run`,
// hrtimer.source.dispatch-queue.*). So the engine arms it when it has submitted the call, and the end of a call that came in time
// finds all done.
//
// Not where the call's end decides the next deadline.
extension SourceCore {
    /// On the engine's thread, with its lock held, after a call was submitted.
    func expect(_ engine: inout FiringCore) {
        guard let timer = state.timer, !engine.isShutDown, state.isInFlight, !state.isCancelled else { return }
        guard state.isActive, state.suspensions == 0 else { return }
        let recurrence = engine.record(of: timer).pointee.recurrence
        guard recurrence.repeats, !recurrence.policy.countsFromReturn else { return }
        guard let extras = state.extras, extras.pointee.owned.alarm == nil else { return }
        // Once the handler runs, the next one is in the record.
        var position = engine.record(of: timer).pointee.position
        if state.running == nil { recurrence.advance(&position) }
        let deadline_ns = position.deadline_ns
        guard deadline_ns < .max else { return }
        extras.pointee.expected_ns = deadline_ns
        let instant_ns = extras.pointee.lead?.expect(deadline_ns, now_ns: core.time.now_ns) ?? deadline_ns
        _ = arm(timer, instant_ns, &state, &engine)
    }

    /// Whether the engine's timer is armed already for the deadline that is to be armed.
    static func isExpected(_ deadline_ns: Int64, _ extras: UnsafeMutablePointer<SourceExtras>) -> Bool {
        let isExpected = extras.pointee.expected_ns == deadline_ns
        extras.pointee.expected_ns = .max
        if isExpected { extras.pointee.lead?.confirm() }
        return isExpected
    }
}
#endif
