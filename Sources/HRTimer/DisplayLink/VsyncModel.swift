#if os(Linux)
/// Finds the phase and the period of a display's refreshes from a source's samples. Pure: its caller passes the time
/// in.
///
/// It does not use reported rates: those of six in ten set-ups were wrong. The period is the least-squares line through
/// the latest samples, as in Android's VsyncPredictor, with a longer window where the timestamps are noisy.
struct VsyncModel: Sendable {
    /// One refresh, as a source reports it.
    struct Sample: Sendable, Hashable {
        /// The instant, on `CLOCK_MONOTONIC`.
        var time_ns: Int64
        /// The refresh's number, if the source counts.
        var sequence: UInt64?
    }

    enum Verdict: Sendable, Equatable {
        /// Kept, but the period is not known yet.
        case learning
        case accepted
        /// Not a refresh: not later than a former one, ahead of the clock, or long past.
        case stale
        /// Too far from the prediction.
        case refused
        /// The display's rate or phase has changed; it is learnt again.
        case restarted
    }

    /// The line through the latest samples.
    struct Fit: Sendable {
        let grid: FrameGrid
        /// Root mean square of the samples' deviations from it.
        let residual_ns: Double
        let samples: Int
    }

    /// Nil until six samples agree.
    private(set) var fit: Fit?
    private(set) var refusedSamples = 0
    private(set) var staleSamples = 0
    private(set) var restarts = 0
    /// Refreshes that were skipped: by the display's own count, or by the grid, less those that were not requested.
    private(set) var missedRefreshes: Int64 = 0
    /// The instant of the latest refresh that was reported.
    var latest_ns: Int64? { recent.last?.sample.time_ns }

    private struct Point: Sendable {
        let sample: Sample
        let ordinal: Int64
    }

    /// Accepted samples, the latest last.
    private var points: [Point] = []
    /// The latest samples that were not stale, accepted or not, each with the requested distance from the last, in
    /// refreshes.
    private var recent: [(sample: Sample, asked: Int64)] = []
    private var usesSequence = false
    /// How many samples in a row had a rising count and agreed on no period.
    private var disagreements = 0
    /// The latest 16 verdicts, a bit each, set if the sample was refused.
    private var refusals: UInt16 = 0
    private var refusedInRow = 0
    /// How many steps in a row were longer than one refresh although the next one was requested.
    private var longSteps = 0
    /// How many steps in a row were of an even number of refreshes, and how many of those were longer than requested.
    private var evenSteps = (all: 0, long: 0)
    /// How many of the latest samples in a row deviate from the line through those before, to the same side.
    private var leaning = 0

    static let samplesToLock = 6
    private static let window = 32
    /// The window if the timestamps scatter by more than `noise_ns`: the error falls with the root of the number of
    /// samples.
    private static let noisyWindow = 128
    private static let noise_ns = 50_000.0
    /// This many samples in a row that deviate to one side are of another rate or phase, if too near to be refused.
    private static let samplesToLean = 8
    /// This many steps in a row mean another period.
    private static let stepsToDoubt = 16
    /// How far from the prediction a sample may be, as a part of the period.
    private static let gate = 0.2
    /// The same at most, if the samples scatter much and there is a reliable sequence.
    private static let wideGate = 0.6
    /// 10 to 2000 Hz. A server without a lit screen answers once a second, which is not a display's rate.
    private static let plausible_ns = 500_000.0...100_000_000.0

    /// Whether more samples would not improve the fit.
    var hasEnoughSamples: Bool {
        guard let fit, refusedInRow == 0, leaning == 0 else { return false }
        return points.count >= (fit.residual_ns > Self.noise_ns ? Self.noisyWindow : Self.window)
    }

    /// Lately only every second refresh was reported: perhaps there are no others.
    var mayBeDoubled: Bool { fit != nil && !usesSequence && evenSteps.all >= Self.stepsToDoubt / 2 }

    /// Starts again, after a long silence.
    mutating func restart() {
        if fit != nil { restarts += 1 }
        forget()
        recent = []
    }

    /// Adds a sample received at `now_ns`, which should be `asked` refreshes after the last.
    mutating func add(_ sample: Sample, now_ns: Int64, asked: Int64 = 1) -> Verdict {
        guard isFresh(sample, now_ns) else {
            staleSamples += 1
            return .stale
        }
        recent.append((sample, max(1, asked)))
        if recent.count > Self.samplesToLock { recent.removeFirst() }
        guard let fit, let last = points.last else { return learn() ? .accepted : .learning }
        if usesSequence, let sequence = sample.sequence, let before = last.sample.sequence, sequence < before {
            // A new count: the display was off, and may have another phase now.
            restart()
            recent = [(sample, 1)]
            return .restarted
        }
        let ordinal = ordinal(of: sample, after: last, fit)
        let deviation_ns = abs(Double(sample.time_ns - fit.grid.instant_ns(ordinal)))
        if ordinal <= last.ordinal || deviation_ns > gate_ns(fit) { return refuse(fit) }
        refusals <<= 1
        refusedInRow = 0
        let skipped = ordinal - last.ordinal - max(1, asked)
        longSteps = skipped > 0 ? longSteps + 1 : 0
        missedRefreshes += max(0, skipped)
        countEven(ordinal - last.ordinal, isLong: skipped > 0)
        let isDoubled = evenSteps.all >= Self.stepsToDoubt && evenSteps.long >= Self.stepsToDoubt / 4
        if !usesSequence, isDoubled || longSteps >= Self.stepsToDoubt {
            // No two reported refreshes were one period apart: the true period is longer.
            if isDoubled { halveAsked() }
            relearn()
            return .restarted
        }
        points.append(Point(sample: sample, ordinal: ordinal))
        if points.count > Self.noisyWindow { points.removeFirst(points.count - Self.noisyWindow) }
        leaning = countLeaning()
        let hasChanged = leaning == Self.samplesToLean
        if hasChanged {
            restarts += 1
            points.removeFirst(points.count - Self.samplesToLean)
            leaning = 0
        }
        self.fit = Self.line(through: points[...]) ?? fit
        return hasChanged ? .restarted : .accepted
    }

    private mutating func countEven(_ step: Int64, isLong: Bool) {
        evenSteps = step % 2 == 0 ? (evenSteps.all + 1, evenSteps.long + (isLong ? 1 : 0)) : (0, 0)
    }

    private mutating func halveAsked() {
        for place in recent.indices { recent[place].asked = (recent[place].asked + 1) / 2 }
    }

    /// How many of the latest eight samples deviate from the line through the ones before, to the side of the latest
    /// sample, that included.
    ///
    /// A single line would need as many new samples as it has old ones to lose the former rate, as when 60 Hz becomes
    /// 59.94.
    private func countLeaning() -> Int {
        guard points.count >= Self.window + Self.samplesToLean,
            let before = Self.line(through: points.dropLast(Self.samplesToLean))
        else { return 0 }
        let bound_ns = max(4 * before.residual_ns, before.grid.period_ns / 1000)
        let deviations_ns = points.suffix(Self.samplesToLean).reversed().map {
            Double($0.sample.time_ns - before.grid.instant_ns($0.ordinal))
        }
        let isLate = deviations_ns[0] > 0
        let count = deviations_ns.prefix { abs($0) > bound_ns && ($0 > 0) == isLate }.count
        guard count == Self.samplesToLean else { return count }
        // A busy machine makes some late in a row, each by another time; those of another rate lie on a line of their
        // own.
        let ownResidual_ns = Self.line(through: points.suffix(Self.samplesToLean))?.residual_ns ?? .infinity
        return ownResidual_ns <= bound_ns / 2 ? count : count - 1
    }

    private func isFresh(_ sample: Sample, _ now_ns: Int64) -> Bool {
        if let last = recent.last, sample.time_ns <= last.sample.time_ns { return false }
        // Before the period is known, the tolerance of a slow display.
        let period_ns = fit?.grid.period_ns ?? 33_333_333
        let age_ns = Double(now_ns.subtractingSaturating(sample.time_ns))
        return age_ns >= -1.5 * period_ns && age_ns <= 8 * period_ns
    }

    private func ordinal(of sample: Sample, after last: Point, _ fit: Fit) -> Int64 {
        // A count that jumps by more than a million refreshes has restarted.
        if usesSequence, let sequence = sample.sequence, let before = last.sample.sequence, sequence > before,
            sequence - before < 1_000_000
        {
            return last.ordinal + Int64(sequence - before)
        }
        return fit.grid.nearest(to: sample.time_ns)
    }

    private func gate_ns(_ fit: Fit) -> Double {
        let period_ns = fit.grid.period_ns
        guard usesSequence else { return Self.gate * period_ns }
        return max(Self.gate * period_ns, min(4 * fit.residual_ns, Self.wideGate * period_ns))
    }

    private mutating func refuse(_ fit: Fit) -> Verdict {
        refusedSamples += 1
        refusals = refusals << 1 | 1
        refusedInRow += 1
        guard let median_ns = medianStep_ns(withSequence: usesSequence) else { return .refused }
        let isSteady = refusedInRow >= Self.samplesToLock && hasEqualSteps(median_ns)
        let ratio = median_ns / fit.grid.period_ns
        // The steps are whole periods: some samples were late, and the rate is the same.
        let isMultiple = ratio > 0.9 && abs(ratio - ratio.rounded()) <= 0.1
        guard isSteady || refusals.nonzeroBitCount >= 4 && !isMultiple else { return .refused }
        relearn()
        return .restarted
    }

    private mutating func relearn() {
        restarts += 1
        // From the refused samples alone: with former ones the former period would be in the line. If every second one
        // was accepted, as at twice the rate, all of them have the new period.
        if refusedInRow > 1 { recent.removeFirst(max(0, recent.count - refusedInRow)) }
        forget()
        _ = learn()
    }

    private mutating func forget() {
        fit = nil
        points = []
        refusals = 0
        refusedInRow = 0
        longSteps = 0
        evenSteps = (0, 0)
        leaning = 0
    }

    /// The latest samples, if they agree on a period, become the first of the line.
    ///
    /// After a change of rate, count and times disagree for at most five samples. If they disagree for longer, the
    /// count is ignored, and with the times alone half the rate may look like the former one: see
    /// `VsyncCore.willCommit`.
    private mutating func learn() -> Bool {
        guard recent.count == Self.samplesToLock else { return false }
        if learn(withSequence: true) { return true }
        disagreements += steps_ns(withSequence: true) == nil ? 0 : 1
        return (disagreements == 0 || disagreements >= Self.samplesToLock) && learn(withSequence: false)
    }

    private mutating func learn(withSequence: Bool) -> Bool {
        guard let points = agreeing(withSequence: withSequence), let fit = Self.line(through: points[...]) else {
            return false
        }
        self.points = points
        self.fit = fit
        usesSequence = withSequence
        disagreements = 0
        return true
    }

    private func agreeing(withSequence: Bool) -> [Point]? {
        guard let median_ns = medianStep_ns(withSequence: withSequence), Self.plausible_ns.contains(median_ns) else {
            return nil
        }
        var points = [Point(sample: recent[0].sample, ordinal: 0)]
        for (before, next) in zip(recent, recent.dropFirst()) {
            let count = withSequence ? sequenceStep(before.sample, next.sample) : nil
            let byTime = (Double(next.sample.time_ns - before.sample.time_ns) / median_ns).rounded()
            let step = count ?? Int64(max(1, byTime))
            points.append(Point(sample: next.sample, ordinal: points[points.count - 1].ordinal + step))
        }
        guard let fit = Self.line(through: points[...]), Self.plausible_ns.contains(fit.grid.period_ns) else {
            return nil
        }
        let gate_ns = fit.grid.period_ns * (withSequence ? Self.wideGate : Self.gate)
        let agree = points.allSatisfy { abs(Double($0.sample.time_ns - fit.grid.instant_ns($0.ordinal))) <= gate_ns }
        return agree ? points : nil
    }

    private func sequenceStep(_ before: Sample, _ next: Sample) -> Int64? {
        guard let first = before.sequence, let second = next.sequence, second > first, second - first < 1_000_000 else {
            return nil
        }
        return Int64(second - first)
    }

    /// The median time of one refresh, between the latest samples; nil if that needs a sequence, which does not rise.
    private func medianStep_ns(withSequence: Bool) -> Double? {
        guard let steps_ns = steps_ns(withSequence: withSequence) else { return nil }
        return steps_ns.sorted()[steps_ns.count / 2]
    }

    private func hasEqualSteps(_ median_ns: Double) -> Bool {
        steps_ns(withSequence: usesSequence)?.allSatisfy { abs($0 - median_ns) <= Self.gate * median_ns } ?? false
    }

    private func steps_ns(withSequence: Bool) -> [Double]? {
        var steps_ns: [Double] = []
        for (before, next) in zip(recent, recent.dropFirst()) {
            let elapsed_ns = Double(next.sample.time_ns - before.sample.time_ns)
            if withSequence {
                guard let step = sequenceStep(before.sample, next.sample) else { return nil }
                steps_ns.append(elapsed_ns / Double(step))
            } else {
                steps_ns.append(elapsed_ns / Double(next.asked))
            }
        }
        return steps_ns.isEmpty ? nil : steps_ns
    }

    /// The least-squares line through the last 32 points, or through all if they scatter.
    private static func line(through points: ArraySlice<Point>) -> Fit? {
        let latest = points.suffix(window)
        guard let fit = leastSquares(latest) else { return nil }
        return fit.residual_ns > noise_ns && points.count > window ? leastSquares(points) ?? fit : fit
    }

    private static func leastSquares(_ points: ArraySlice<Point>) -> Fit? {
        guard let last = points.last, points.count >= 2 else { return nil }
        // Relative to the latest, so that doubles are exact.
        func x(_ point: Point) -> Double { Double(point.ordinal - last.ordinal) }
        func y(_ point: Point) -> Double { Double(point.sample.time_ns - last.sample.time_ns) }
        let count = Double(points.count)
        let meanX = points.reduce(0) { $0 + x($1) } / count
        let meanY = points.reduce(0) { $0 + y($1) } / count
        var (squares, products) = (0.0, 0.0)
        for point in points {
            squares += (x(point) - meanX) * (x(point) - meanX)
            products += (x(point) - meanX) * (y(point) - meanY)
        }
        guard squares > 0, products > 0 else { return nil }
        let period_ns = products / squares
        let offset_ns = meanY - period_ns * meanX
        let errors = points.reduce(0) { sum, point in
            let error = y(point) - offset_ns - period_ns * x(point)
            return sum + error * error
        }
        let anchor_ns = last.sample.time_ns + Int64(offset_ns.rounded())
        let grid = FrameGrid(anchor_ns: anchor_ns, first: last.ordinal, period_ns: period_ns)
        return Fit(grid: grid, residual_ns: (errors / count).squareRoot(), samples: points.count)
    }
}
#endif
