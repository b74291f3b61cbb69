// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CHRTimer

/// How much processor time may be spent on spinning, as a share of one core, kept over each second: `hrt_spin_budget`.
///
/// Engines and loops without a budget of their own share one for the process, and so do the sources and sleeps on them.
@safe package final class SpinBudget: @unchecked Sendable {
    // Sendable: the share is constant, and the time spent is one atomic number. Safe: the memory lives as long as the budget, which each
    // window on it keeps.

    /// The default share: 12.5 µs a fire of a 1 kHz timer; 208 µs a fire of one at 60 Hz, which rarely has a use for 60 of
    /// these.
    package static let defaultShare = 0.0125

    /// The budget of the process.
    package static let shared = SpinBudget(defaultShare, now_ns: TimeBase.kernel.now_ns)

    /// Returns a new budget if a share is given; otherwise the budget of the process, or of a virtual time.
    package static func of(_ share: Double?, _ time: TimeBase) -> SpinBudget {
        if let share { return SpinBudget(share, now_ns: time.on(.monotonic).now_ns) }
        let own = time.own(ObjectIdentifier(SpinBudget.self)) { time in
            SpinBudget(defaultShare, now_ns: time.on(.monotonic).now_ns)
        }
        return own as? SpinBudget ?? shared
    }

    let c: UnsafeMutablePointer<hrt_spin_budget>

    /// Creates a budget. The share is clamped to 0 ... 1; NaN counts as 0. If the clock ticks rarely, it is 0 in any case:
    /// spinning would gain nothing, and last a whole tick.
    package init(_ share: Double, now_ns: Int64) {
        unsafe c = .allocate(capacity: 1)
        unsafe hrt_spin_budget_init(c, SpinWindow.clockIsCoarse ? 0 : share, now_ns)
    }

    /// Spends time that was spun, or is about to be; a negative value gives that time back. Any thread, without a lock.
    package func spend(_ spun_ns: Int64) { unsafe hrt_spin_budget_spend(c, spun_ns) }

    deinit {
        unsafe c.deallocate()
    }
}
#endif
