#if os(Linux)
import CHRTimer

/// How much processor time may be spun, as a share of one core, kept over each second: `hrt_spin_budget`.
///
/// Engines and loops that are given none of their own share one for the process, and so do the sources and sleeps upon them.
package final class SpinBudget: @unchecked Sendable {
    // Sendable: the share is constant, and what is spent one atomic number.

    /// By default: 12.5 µs a fire of a 1 kHz timer, 208 µs of one at 60 Hz, of which it rarely has a use for 60.
    package static let defaultShare = 0.0125

    /// That of the process.
    package static let shared = SpinBudget(defaultShare, now_ns: TimeBase.kernel.now_ns)

    /// One of its own, if a share is given; else that of the process, or of a virtual time.
    package static func of(_ share: Double?, _ time: TimeBase) -> SpinBudget {
        if let share { return SpinBudget(share, now_ns: time.on(.monotonic).now_ns) }
        let own = time.own(ObjectIdentifier(SpinBudget.self)) { time in
            SpinBudget(defaultShare, now_ns: time.on(.monotonic).now_ns)
        }
        return own as? SpinBudget ?? shared
    }

    let c: UnsafeMutablePointer<hrt_spin_budget>

    /// Clamped to 0 ... 1, NaN counts as 0. Where the clock ticks seldom, spinning gains nothing, and would last a whole tick:
    /// there it is 0 in any case.
    package init(_ share: Double, now_ns: Int64) {
        c = .allocate(capacity: 1)
        hrt_spin_budget_init(c, SpinWindow.clockIsCoarse ? 0 : share, now_ns)
    }

    /// Spends what was spun, or is about to be; below 0, gives so much of it back. Any thread, without a lock.
    package func spend(_ spun_ns: Int64) { hrt_spin_budget_spend(c, spun_ns) }

    deinit {
        c.deallocate()
    }
}
#endif
