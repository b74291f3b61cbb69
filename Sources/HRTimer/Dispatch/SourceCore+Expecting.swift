#if os(Linux)
import HRTimerCore

// A call on a queue ends on another thread than the engine's, which sleeps by then. If that thread armed the next deadline,
// each call would wake the engine once more, which is one more context switch a fire (`bench run`,
// hrtimer.source.dispatch-queue.*). So the engine arms the next deadline as soon as it has submitted the call. A call that ends
// in time finds the timer already armed.
//
// The engine does not do so if the end of the call decides the next deadline.
extension SourceCore {
    /// Arms the engine's timer for the deadline after that of the submitted call. On the engine's thread, with its lock held.
    func expect(_ engine: inout FiringCore) {
        guard let timer = state.timer, !engine.isShutDown, state.isInFlight, !state.isCancelled else { return }
        guard state.isActive, state.suspensions == 0 else { return }
        let recurrence = engine.record(of: timer).pointee.recurrence
        guard recurrence.repeats, !recurrence.policy.countsFromReturn else { return }
        guard let extras = state.extras, extras.pointee.owned.alarm == nil else { return }
        // While the handler runs, the record already has the next deadline.
        var position = engine.record(of: timer).pointee.position
        if state.running == nil { recurrence.advance(&position) }
        let deadline_ns = position.deadline_ns
        guard deadline_ns < .max else { return }
        extras.pointee.expected_ns = deadline_ns
        let instant_ns = extras.pointee.lead?.expect(deadline_ns, now_ns: core.time.now_ns) ?? deadline_ns
        _ = arm(timer, instant_ns, &state, &engine)
    }

    /// Returns whether the engine's timer is already armed for `deadline_ns`, and clears the expected deadline.
    static func isExpected(_ deadline_ns: Int64, _ extras: UnsafeMutablePointer<SourceExtras>) -> Bool {
        let isExpected = extras.pointee.expected_ns == deadline_ns
        extras.pointee.expected_ns = .max
        if isExpected { extras.pointee.lead?.confirm() }
        return isExpected
    }
}
#endif
