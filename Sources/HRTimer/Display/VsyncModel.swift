// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
/// A model of the phase and the period of a display's refreshes, learnt from a source's samples. It reads no clock: its caller
/// passes the time in.
///
/// It does not use reported rates: those of six in ten set-ups were wrong. The period is the slope of the least-squares line
/// through the latest samples, as in Android's VsyncPredictor, with a longer window if the timestamps are noisy.
struct VsyncModel: Sendable {
    /// One refresh, as a source reports it.
    struct Sample: Sendable, Hashable {
        /// The instant, on `CLOCK_MONOTONIC`.
        var time_ns: Int64
        /// The refresh's number; nil if the source does not count.
        var sequence: UInt64?
    }

    enum Verdict: Sendable, Equatable {
        /// The sample was kept, but the period is not known yet.
        case learning
        case accepted
        /// The sample is not a refresh: it is not later than a former one, lies ahead of the clock, or is long past.
        case stale
        /// The sample is too far from the prediction.
        case refused
        /// The display's rate or phase has changed; the model learns it again.
        case restarted
    }

    /// The line through the latest samples.
    struct Fit: Sendable {
        let grid: FrameGrid
        /// The root mean square of the samples' deviations from the line.
        let residual_ns: Double
        let samples: Int
    }

    /// The present line; nil until six samples agree.
    private(set) var fit: Fit?
    private(set) var refusedSamples = 0
    private(set) var staleSamples = 0
    private(set) var restarts = 0
    /// Skipped refreshes, counted by the display's own sequence or by the grid, without those that were not requested.
    private(set) var missedRefreshes: Int64 = 0
    /// The instant of the latest refresh that was reported.
    var latest_ns: Int64? { recent.last?.sample.time_ns }

    private struct Point: Sendable {
        let sample: Sample
        let ordinal: Int64
    }

    /// Accepted samples, the latest last.
    private var points: [Point] = []
    /// The latest samples that were not stale, accepted or not. Each has the requested distance from the sample before, in
    /// refreshes.
    private var recent: [(sample: Sample, requested: Int64)] = []
    private var usesSequence = false
    /// How many samples in a row had a rising sequence but agreed on no period.
    private var disagreements = 0
    /// The latest 16 verdicts, one bit each, which is set if the sample was refused.
    private var refusals: UInt16 = 0
    private var refusedInRow = 0
    /// How many steps in a row covered more refreshes than requested.
    private var longSteps = 0
    /// How many steps in a row covered an even number of refreshes, and how many of those were longer than requested.
    private var evenSteps = (all: 0, long: 0)
    /// The greatest common divisor of all steps since the period was learnt, in refreshes.
    private var commonStep: Int64 = 0
    /// How many of the latest samples in a row deviate to the same side from the line through the samples before them.
    private var leaning = 0

    static let samplesToLock = 6
    private static let window = 32
    /// The window if the timestamps scatter by more than `noise_ns`: the error falls with the square root of the number of
    /// samples.
    private static let noisyWindow = 128
    private static let noise_ns = 50_000.0
    /// If this many samples in a row deviate to one side, but too little to be refused, they have another rate or phase.
    private static let samplesToLean = 8
    /// This many long or even steps in a row mean another period.
    private static let stepsToDoubt = 16
    /// How far from the prediction a sample may be, as a part of the period.
    private static let gate = 0.2
    /// The upper limit of the gate if the samples scatter much and there is a reliable sequence.
    private static let wideGate = 0.6
    /// Plausible: 10 to 2000 Hz. A server without a lit screen answers once a second, which is not a display's rate.
    private static let plausible_ns = 500_000.0...100_000_000.0

    /// Whether more samples would not improve the fit.
    var hasEnoughSamples: Bool {
        guard let fit, refusedInRow == 0, leaning == 0 else { return false }
        return points.count >= (fit.residual_ns > Self.noise_ns ? Self.noisyWindow : Self.window)
    }

    /// Whether the rate is known: the count of the refreshes says it, or their steps do. If all steps were even, say, the display
    /// may as well have half the rate.
    var isRateSure: Bool { fit != nil && (usesSequence || commonStep == 1) }

    /// Whether the display may have only half the rate of the model: lately only every second refresh was reported.
    var mayBeDoubled: Bool { fit != nil && !usesSequence && evenSteps.all >= Self.stepsToDoubt / 2 }

    /// Starts to learn again, for example after a long silence.
    mutating func restart() {
        if fit != nil { restarts += 1 }
        forget()
        recent = []
    }

    /// Adds a sample received at `now_ns`, which should be `requested` refreshes after the last.
    mutating func add(_ sample: Sample, now_ns: Int64, requested: Int64 = 1) -> Verdict {
        guard isFresh(sample, now_ns) else {
            staleSamples += 1
            return .stale
        }
        recent.append((sample, max(1, requested)))
        if recent.count > Self.samplesToLock { recent.removeFirst() }
        guard let fit, let last = points.last else { return learn() ? .accepted : .learning }
        if usesSequence, let sequence = sample.sequence, let before = last.sample.sequence, sequence < before {
            // The display counts anew: it was off, and may have another phase now.
            restart()
            recent = [(sample, 1)]
            return .restarted
        }
        let ordinal = ordinal(of: sample, after: last, fit)
        let deviation_ns = abs(Double(sample.time_ns - fit.grid.instant_ns(ordinal)))
        if ordinal <= last.ordinal || deviation_ns > gate_ns(fit) { return refuse(fit) }
        refusals <<= 1
        refusedInRow = 0
        let skipped = ordinal - last.ordinal - max(1, requested)
        longSteps = skipped > 0 ? longSteps + 1 : 0
        missedRefreshes += max(0, skipped)
        countEven(ordinal - last.ordinal, isLong: skipped > 0)
        let isDoubled = evenSteps.all >= Self.stepsToDoubt && evenSteps.long >= Self.stepsToDoubt / 4
        if !usesSequence, isDoubled || longSteps >= Self.stepsToDoubt {
            // No two reported refreshes were one period apart: the true period is longer.
            if isDoubled { halveRequested() }
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
        countStep(step)
        evenSteps = step % 2 == 0 ? (evenSteps.all + 1, evenSteps.long + (isLong ? 1 : 0)) : (0, 0)
    }

    private mutating func countStep(_ step: Int64) {
        var other = step
        while other != 0 { (commonStep, other) = (other, commonStep % other) }
    }

    private mutating func halveRequested() {
        for place in recent.indices { recent[place].requested = (recent[place].requested + 1) / 2 }
    }

    /// Returns how many of the latest eight samples, counted backwards from the latest one, deviate from the line through the
    /// samples before these eight, to the same side as the latest.
    ///
    /// A single line would not lose the former rate until it has as many new samples as old ones, for example when 60 Hz
    /// becomes 59.94.
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
        // A busy machine makes several samples in a row late, each by another time. Samples of another rate lie on a line of
        // their own.
        let ownResidual_ns = Self.line(through: points.suffix(Self.samplesToLean))?.residual_ns ?? .infinity
        return ownResidual_ns <= bound_ns / 2 ? count : count - 1
    }

    private func isFresh(_ sample: Sample, _ now_ns: Int64) -> Bool {
        if let last = recent.last, sample.time_ns <= last.sample.time_ns { return false }
        // Before the period is known, uses the tolerance of a slow display.
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
        // If the steps are whole periods, some samples were late, and the rate is the same.
        let isMultiple = ratio > 0.9 && abs(ratio - ratio.rounded()) <= 0.1
        guard isSteady || refusals.nonzeroBitCount >= 4 && !isMultiple else { return .refused }
        relearn()
        return .restarted
    }

    private mutating func relearn() {
        restarts += 1
        // Learns from the refused samples alone: earlier ones would bring the former period into the line. But if every second
        // sample was accepted, as at twice the rate, all of them have the new period.
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
        commonStep = 0
        leaning = 0
    }

    /// Makes the latest samples the first of the line, and returns true, if they agree on a period.
    ///
    /// After a change of rate, the sequence and the times disagree for at most five samples. If they disagree for longer, the
    /// sequence is ignored. With the times alone, half the rate may look like the former one: see `VsyncCore.willCommit`.
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
        for (before, next) in zip(points, points.dropFirst()) { countStep(next.ordinal - before.ordinal) }
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

    /// Returns the median time of one refresh between the latest samples; nil if a sequence is needed and does not rise.
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
                steps_ns.append(elapsed_ns / Double(next.requested))
            }
        }
        return steps_ns.isEmpty ? nil : steps_ns
    }

    /// Returns the least-squares line through the last 32 points, or through all of them if they scatter.
    private static func line(through points: ArraySlice<Point>) -> Fit? {
        let latest = points.suffix(window)
        guard let fit = leastSquares(latest) else { return nil }
        return fit.residual_ns > noise_ns && points.count > window ? leastSquares(points) ?? fit : fit
    }

    private static func leastSquares(_ points: ArraySlice<Point>) -> Fit? {
        guard let last = points.last, points.count >= 2 else { return nil }
        // Values are relative to the latest point, so that doubles are exact.
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
