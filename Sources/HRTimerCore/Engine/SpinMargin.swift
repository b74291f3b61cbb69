import CHRTimer

/// How long before a deadline a precise wait has itself woken: `hrt_margin`, used by one thread.
struct SpinMargin {
    /// Nine wakes of ten come within it.
    private static let quantile = 0.9

    var c = hrt_margin()

    init(budget: Double, now_ns: Int64) {
        hrt_margin_init(&c, Self.quantile, budget, now_ns)
    }
}
