import CHRTimer

/// How long before a deadline a precise wait has itself woken: `hrt_margin`.
final class SpinMargin: @unchecked Sendable {
    // Sendable: the engine's thread alone touches it.

    /// Nine wakes of ten come within it.
    private static let quantile = 0.9

    let c: UnsafeMutablePointer<hrt_margin>

    init(budget: Double, now_ns: Int64) {
        c = .allocate(capacity: 1)
        hrt_margin_init(c, Self.quantile, budget, now_ns)
    }

    deinit {
        c.deallocate()
    }
}
