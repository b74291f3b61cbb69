// SPDX-License-Identifier: Apache-2.0
import HRTimer

/// The result of one source.
struct VsyncResult {
    let kind: VsyncSource.Kind
    /// The reason why there is no other value; nil if there is one.
    var refusal: String?
    var told: FrameRate?
    var framesPerSecond = 0.0
    var state = VsyncSource.State.virtual
    var statistics: VsyncSource.Statistics?
    var calls = 0
    var dropped = 0
    /// The distances of the calls from the line through the refreshes that they were for; sorted, in ns.
    var deviations_ns: [Int64] = []
    /// The kernel's own lateness at the same time.
    var kernel: KernelTicks?

    init(kind: VsyncSource.Kind, refusal: String) {
        self.kind = kind
        self.refusal = refusal
    }

    init(_ source: VsyncSource, _ link: DisplayLink, _ ticks: VsyncTicks, dropped: Int, _ kernel: KernelTicks?) {
        kind = source.kind
        told = source.toldRate
        framesPerSecond = source.framesPerSecond
        state = source.state
        statistics = source.statistics
        calls = ticks.all.count
        self.dropped = dropped
        self.kernel = kernel
        let period_ns = 1e9 / link.maximumFramesPerSecond
        guard let line = Line(ticks.all.map(\.refresh_ns), period_ns: period_ns) else { return }
        deviations_ns = zip(ticks.all, line.numbers)
            .map { Int64(abs(Double($0.called_ns - line.first_ns) - line.offset_ns($1)).rounded()) }
            .sorted()
    }

    /// The least-squares line through instants that are a whole number of periods apart.
    struct Line {
        let first_ns: Int64
        let numbers: [Double]
        private let slope: Double
        private let intercept: Double

        /// Returns nil with fewer than two instants.
        init?(_ instants_ns: [Int64], period_ns: Double) {
            guard let first_ns = instants_ns.first, instants_ns.count >= 2 else { return nil }
            self.first_ns = first_ns
            var numbers = [0.0]
            for (before, next) in zip(instants_ns, instants_ns.dropFirst()) {
                numbers.append(numbers[numbers.count - 1] + max(1, (Double(next - before) / period_ns).rounded()))
            }
            self.numbers = numbers
            let offsets_ns = instants_ns.map { Double($0 - first_ns) }
            let count = Double(numbers.count)
            slope = bench.slope(of: zip(numbers, offsets_ns).map { (x: $0, y: $1) }) ?? period_ns
            intercept = (offsets_ns.reduce(0, +) - slope * numbers.reduce(0, +)) / count
        }

        func offset_ns(_ number: Double) -> Double { intercept + slope * number }
    }
}

extension [Int64] {
    /// Returns a percentile of sorted values; nil unless ten values lie beyond it, as everywhere in the bench.
    func percentile(_ percent: Double) -> Int64? {
        guard Double(count) * (100 - percent) / 100 >= 10 else { return nil }
        return self[Swift.min(count - 1, Int(Double(count) * percent / 100))]
    }
}
