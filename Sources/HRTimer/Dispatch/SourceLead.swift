#if os(Linux)
import CHRTimer
import HRTimerCore

/// The lead: how long before its deadline a precise source submits a call to its queue, so that the block has begun by
/// then and spins for the rest. What it covers are the latencies from the instant meant for the submission to the begin of
/// the block, as far as the engine's budget allows (`hrt_spin_window`).
///
/// The engine does not spin up to that instant: it submits when it is awake, and what is left of its own spin window
/// shortens that latency. Two waits that are each nearly always long enough would be longer together than one for both.
///
/// Under the engine's lock.
struct SourceLead: Sendable {
    private let window: SpinWindow
    private var sleep_ns: Int64 = 0
    /// Of the deadline that is armed; 0 without one.
    private(set) var lead_ns: Int64 = 0
    /// What the call on its way was submitted for.
    private var submittedFor_ns = Int64.min
    private var expected: (sleep_ns: Int64, lead_ns: Int64) = (0, 0)

    init(budget: SpinBudget) {
        window = SpinWindow(budget: budget)
    }

    /// When the engine is to submit the call for `deadline_ns`.
    mutating func instant_ns(before deadline_ns: Int64, now_ns: Int64) -> Int64 {
        guard deadline_ns < .max else { return .max }
        sleep_ns = max(0, deadline_ns.subtractingSaturating(now_ns))
        lead_ns = hrt_spin_window_ns(window.c, sleep_ns, now_ns)
        return deadline_ns.subtractingSaturating(lead_ns)
    }

    /// The same for the deadline after the one that a call is on its way for, which needs what holds for that until it has
    /// begun. `confirm` makes it hold.
    mutating func expect(_ deadline_ns: Int64, now_ns: Int64) -> Int64 {
        let length_ns = max(0, deadline_ns.subtractingSaturating(now_ns))
        expected = (length_ns, hrt_spin_window_ns(window.c, length_ns, now_ns))
        return deadline_ns.subtractingSaturating(expected.lead_ns)
    }

    mutating func confirm() { (sleep_ns, lead_ns) = expected }

    mutating func submit(for deadline_ns: Int64) { submittedFor_ns = deadline_ns }

    /// The block of the call for `deadline_ns` has begun. Returns whether the block has to wait for that deadline; if
    /// the source was rescheduled since, the engine does.
    func begin(_ deadline_ns: Int64, now_ns: Int64) -> Bool {
        let hop_ns = now_ns.subtractingSaturating(deadline_ns.subtractingSaturating(lead_ns))
        hrt_spin_window_record_wake(window.c, sleep_ns, max(0, hop_ns))
        return now_ns < deadline_ns && deadline_ns == submittedFor_ns
    }
}

extension SourceCore {
    /// On the target, with the lock held: the deadline of the call that has come before it, if it has.
    func deadlineToSpinTo(_ state: borrowing State, _ engine: borrowing FiringCore) -> Int64? {
        guard let lead = state.extras?.pointee.lead, state.alarm == nil, let record = record(state, engine) else {
            return nil
        }
        let deadline_ns = record.pointee.position.deadline_ns
        return lead.begin(deadline_ns, now_ns: core.time.now_ns) ? deadline_ns : nil
    }

    /// Spins up to the deadline: never longer than the lead and the engine's spin window. A source that is cancelled, suspended
    /// or moved meanwhile is not called, or not yet; nor is one whose wall clock was set back so far that this is no spin any
    /// more: its engine wakes for it again.
    func spinOut(until deadline_ns: Int64) {
        let spun_ns = core.time.spin(until: deadline_ns, from: core.time.now_ns, atMost: EngineCore.longestSpin_ns)
            .spun_ns
        core.countSpun(spun_ns)
    }
}
#endif
