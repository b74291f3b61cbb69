// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CHRTimer
import HRTimerCore

/// The lead: how long before its deadline a precise source submits a call to its queue, so that the block has begun by the
/// deadline and spins for the rest. It covers the latencies from the instant meant for the submission to the begin of the
/// block, as far as the engine's budget allows (`hrt_spin_window`).
///
/// The engine does not spin up to that instant: it submits as soon as it is awake, and the rest of its own spin window shortens
/// the latency. Two waits that are each nearly always long enough would together be longer than one wait for both.
///
/// Guarded by the engine's lock.
struct SourceLead: Sendable {
    private let window: SpinWindow
    private var sleep_ns: Int64 = 0
    /// The lead of the deadline that was armed last; 0 before the first.
    private(set) var lead_ns: Int64 = 0
    /// The deadline that the call in flight was submitted for.
    private var submittedFor_ns = Int64.min

    init(budget: SpinBudget) {
        window = SpinWindow(budget: budget)
    }

    /// Returns the instant at which the engine is to submit the call for `deadline_ns`.
    mutating func instant_ns(before deadline_ns: Int64, now_ns: Int64) -> Int64 {
        guard deadline_ns < .max else { return .max }
        sleep_ns = max(0, deadline_ns.subtractingSaturating(now_ns))
        lead_ns = unsafe hrt_spin_window_ns(window.c, sleep_ns, now_ns)
        return deadline_ns.subtractingSaturating(lead_ns)
    }

    mutating func submit(for deadline_ns: Int64) { submittedFor_ns = deadline_ns }

    /// Records that the block of the call for `deadline_ns` has begun. Returns whether the block has to wait for that deadline;
    /// if the source was rescheduled since, the engine waits for it.
    func begin(_ deadline_ns: Int64, now_ns: Int64) -> Bool {
        let hop_ns = now_ns.subtractingSaturating(deadline_ns.subtractingSaturating(lead_ns))
        unsafe hrt_spin_window_record_wake(window.c, sleep_ns, max(0, hop_ns))
        return now_ns < deadline_ns && deadline_ns == submittedFor_ns
    }
}

extension SourceCore {
    /// Returns the deadline of a call that has come to the target before it; nil if the call need not wait. With the lock held.
    func deadlineToSpinTo(_ state: borrowing State, _ engine: borrowing FiringCore) -> Int64? {
        guard let lead = state.extras?.pointee.lead, state.alarm == nil, let record = record(state, engine) else {
            return nil
        }
        let deadline_ns = unsafe record.pointee.deadline_ns
        return lead.begin(deadline_ns, now_ns: core.time.now_ns) ? deadline_ns : nil
    }

    /// Spins up to the deadline, but never longer than the lead and the engine's spin window. A source that is cancelled,
    /// suspended or moved meanwhile is not called, or not yet. Nor is a source called whose wall clock was set back too far for
    /// a spin: the engine wakes for its deadline again.
    func spinOut(until deadline_ns: Int64) {
        let spun_ns = core.time.spin(until: deadline_ns, from: core.time.now_ns, atMost: EngineCore.longestSpin_ns)
            .spun_ns
        core.countSpun(spun_ns)
    }
}
#endif
