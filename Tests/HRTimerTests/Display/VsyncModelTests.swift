// SPDX-License-Identifier: Apache-2.0
import Glibc
import TestSupport
import Testing

@testable import HRTimer

/// Tests of the model on synthetic displays; the bounds were found when the model was designed.
@Suite struct VsyncModelTests {
    /// A display, and the errors in the reports of its refreshes.
    struct Display {
        var period_ns = 1e9 / 60
        var hasSequence = true
        var noise_ns: (inout SeededRandom) -> Double = { _ in 0 }
        var isMissed: (inout SeededRandom) -> Bool = { _ in false }
        var count = 2000

        /// Returns the samples, each with the instant at which it arrives and the true instant of the next refresh.
        func trace(_ random: inout SeededRandom, start_ns: Double = 5e9) -> [(
            VsyncModel.Sample, Int64, next_ns: Double
        )] {
            (1...count).compactMap { number in
                let noise_ns = noise_ns(&random)
                if isMissed(&random) { return nil }
                let true_ns = start_ns + Double(number) * period_ns
                let time_ns = Int64((true_ns + noise_ns).rounded())
                let sample = VsyncModel.Sample(time_ns: time_ns, sequence: hasSequence ? UInt64(100 + number) : nil)
                return (sample, time_ns + 50_000, true_ns + period_ns)
            }
        }
    }

    struct Outcome {
        var errors_us: [Double] = []
        var model = VsyncModel()

        var sd_us: Double { (errors_us.reduce(0) { $0 + $1 * $1 } / Double(errors_us.count)).squareRoot() }
        var worst_us: Double { errors_us.map(abs).max() ?? .infinity }
    }

    /// Returns how far each predicted next refresh is from the true one, from the sample after `settling` on.
    static func run(_ display: Display, settling: Int = 200, seed: UInt64 = 7) -> Outcome {
        var random = SeededRandom(seed: seed)
        var outcome = Outcome()
        for (index, (sample, now_ns, next_ns)) in display.trace(&random).enumerated() {
            _ = outcome.model.add(sample, now_ns: now_ns)
            guard index >= settling else { continue }
            guard let fit = outcome.model.fit else {
                outcome.errors_us.append(.infinity)
                continue
            }
            let predicted_ns = fit.grid.nearest_ns(to: Int64(next_ns))
            outcome.errors_us.append((Double(predicted_ns) - next_ns) / 1e3)
        }
        return outcome
    }

    private static func normal(_ sd_ns: Double) -> (inout SeededRandom) -> Double {
        { random in
            let (u, v) = (
                Double.random(in: .leastNonzeroMagnitude...1, using: &random), Double.random(in: 0..<1, using: &random)
            )
            return sd_ns * (-2 * log(u)).squareRoot() * cos(2 * .pi * v)
        }
    }

    private static func uniform(_ bound_ns: Double) -> (inout SeededRandom) -> Double {
        { Double.random(in: -bound_ns...bound_ns, using: &$0) }
    }

    private static func chance(_ probability: Double) -> (inout SeededRandom) -> Bool {
        { Double.random(in: 0..<1, using: &$0) < probability }
    }

    @Test("Exact timestamps are predicted to the nanosecond that they were rounded to")
    func exact() {
        for rate in [24.0, 59.94, 60, 120, 144, 240] {
            let outcome = Self.run(Display(period_ns: 1e9 / rate, count: 600))
            #expect(outcome.worst_us <= 0.002, "\(rate) Hz")
            #expect(outcome.model.refusedSamples + outcome.model.staleSamples + outcome.model.restarts == 0)
        }
    }

    @Test("Timestamps with a deviation of 20 µs, 2 % of them missing, are predicted to 7 µs, at worst to 23 µs")
    func someNoise() {
        let display = Display(period_ns: 1e9 / 59.94, noise_ns: Self.normal(20_000), isMissed: Self.chance(0.02))
        let outcome = Self.run(display)
        #expect(outcome.sd_us <= 7.5)
        #expect(outcome.worst_us <= 30)
        #expect(outcome.model.restarts == 0)
    }

    @Test("Half a millisecond of noise, as of a virtual X server, is averaged out", arguments: [60.0, 144])
    func strongNoise(_ rate: Double) {
        let outcome = Self.run(Display(period_ns: 1e9 / rate, noise_ns: Self.uniform(500_000)))
        #expect(outcome.sd_us <= 107)
        #expect(outcome.worst_us <= 365)
        #expect(outcome.model.restarts == 0)
        #expect(outcome.model.refusedSamples == 0)
    }

    @Test("Without sequences, with 200 µs of noise and 5 % missing, the error is 69 µs, at worst 216 µs")
    func withoutSequence() {
        let display = Display(hasSequence: false, noise_ns: Self.normal(200_000), isMissed: Self.chance(0.05))
        let outcome = Self.run(display)
        #expect(outcome.sd_us <= 69)
        #expect(outcome.worst_us <= 216)
        #expect(outcome.model.restarts == 0)
    }

    @Test("Samples that are sometimes late by up to a refresh are refused; the error is 32 µs, at worst 181 µs")
    func lateOnes() {
        let display = Display(
            period_ns: 1e9 / 144,
            hasSequence: false,
            noise_ns: { random in
                Double.random(in: 0..<1, using: &random) < 0.03 ? Double.random(in: 0...8e6, using: &random) : 0
            }
        )
        let outcome = Self.run(display)
        #expect(outcome.sd_us <= 32)
        #expect(outcome.worst_us <= 181)
        #expect(outcome.model.refusedSamples > 10)
        #expect(outcome.model.restarts == 0)
    }

    @Test("The model assumes no rates that could mislead: 39.8 Hz without a sequence is found at once")
    func oddRate() {
        let outcome = Self.run(
            Display(period_ns: 25_136_000, hasSequence: false, noise_ns: Self.normal(40_000)),
            settling: 40
        )
        #expect(outcome.sd_us <= 20)
        #expect(outcome.worst_us <= 60)
        #expect(abs((outcome.model.fit?.grid.period_ns ?? 0) - 25_136_000) < 10_000)
        #expect(outcome.model.restarts == 0)
    }

    /// Follows `first`, then `second` from the end of the first. Returns how many samples of the second it took to be right.
    private func change(_ first: Display, _ second: Display, gap_ns: Double = 0) -> (samples: Int?, model: VsyncModel) {
        var random = SeededRandom(seed: 3)
        var model = VsyncModel()
        var end_ns = 5e9
        for (sample, now_ns, next_ns) in first.trace(&random) {
            _ = model.add(sample, now_ns: now_ns)
            end_ns = next_ns
        }
        for (index, (sample, now_ns, _)) in second.trace(&random, start_ns: end_ns + gap_ns).enumerated() {
            _ = model.add(sample, now_ns: now_ns)
            if let fit = model.fit, abs(fit.grid.period_ns / second.period_ns - 1) < 0.02 { return (index + 1, model) }
        }
        return (nil, model)
    }

    @Test(
        "Another rate, or another phase, is learnt from a few samples",
        arguments: [(60.0, 144.0), (144, 60), (60, 120), (120, 60), (60, 75), (60, 30), (60, 50)]
    )
    func newRate(_ before: Double, _ after: Double) {
        for hasSequence in [true, false] {
            let first = Display(period_ns: 1e9 / before, hasSequence: hasSequence, count: 200)
            let second = Display(period_ns: 1e9 / after, hasSequence: hasSequence, count: 60)
            let outcome = change(first, second, gap_ns: 3_000_000)
            #expect((outcome.samples ?? .max) <= (hasSequence ? 12 : 24), "\(hasSequence)")
            #expect(outcome.model.restarts >= 1)
        }
    }

    @Test(
        "A display that changes its rate while it is learnt is learnt by its count, without samples of the former rate",
        arguments: [(70.34, 35.17), (35.17, 70.34), (144, 48), (60, 75)]
    )
    func newRateInLearning(_ before: Double, _ after: Double) {
        for (former, step) in (1...5).flatMap({ former in [1, 2].map { (former, $0) } }) {
            var model = VsyncModel()
            var (time_ns, count) = (5e9, UInt64(100))
            for index in 0..<60 {
                time_ns += Double(step) * 1e9 / (index < former ? before : after)
                count += UInt64(step)
                let sample = VsyncModel.Sample(time_ns: Int64(time_ns), sequence: count)
                _ = model.add(sample, now_ns: Int64(time_ns) + 50_000, requested: Int64(step))
            }
            let found = model.fit?.grid.framesPerSecond ?? 0
            #expect(abs(found / after - 1) < 1e-3, "\(former) samples of \(before) Hz, each of \(step)")
        }
    }

    @Test("The same rate in another phase is found after six samples")
    func newPhase() {
        var random = SeededRandom(seed: 1)
        var model = VsyncModel()
        let display = Display(hasSequence: false, count: 100)
        for (sample, now_ns, _) in display.trace(&random) { _ = model.add(sample, now_ns: now_ns) }
        let shifted = display.trace(&random, start_ns: 5e9 + 100 * display.period_ns + 7e6)
        let verdicts = shifted.prefix(6).map { model.add($0.0, now_ns: $0.1) }
        #expect(verdicts.last == .restarted)
        let predicted_ns = model.fit?.grid.nearest_ns(to: Int64(shifted[5].next_ns)) ?? 0
        #expect(abs(Double(predicted_ns) - shifted[5].next_ns) < 10)
    }

    @Test(
        "A rate or phase too near to be refused is learnt from eight samples, however many of the former there were",
        arguments: [(60.0, 59.94, 0.0), (59.94, 60, 0), (144, 143.856, 0), (60, 60, 2e6), (60, 60, -2e6), (60, 61, 0)]
    )
    func nearby(_ before: Double, _ after: Double, _ gap_ns: Double) {
        for (hasSequence, noise_ns) in [(true, 0.0), (false, 0), (true, 2000), (false, 2000)] {
            var random = SeededRandom(seed: 3)
            var model = VsyncModel()
            var display = Display(
                period_ns: 1e9 / before,
                hasSequence: hasSequence,
                noise_ns: Self.uniform(noise_ns),
                count: 200
            )
            for (sample, now_ns, _) in display.trace(&random) { _ = model.add(sample, now_ns: now_ns) }
            #expect(model.hasEnoughSamples)
            let end_ns = 5e9 + 200 * display.period_ns + gap_ns
            display.period_ns = 1e9 / after
            display.count = 10
            let trace = display.trace(&random, start_ns: end_ns)
            // The first sample may not be off far enough.
            for (sample, now_ns, _) in trace { _ = model.add(sample, now_ns: now_ns) }
            #expect(model.restarts == 1)
            let fit = model.fit
            #expect(abs((fit?.grid.period_ns ?? 0) - display.period_ns) <= 1 + noise_ns / 4)
            let next_ns = trace[9].next_ns
            #expect(abs(Double(fit?.grid.nearest_ns(to: Int64(next_ns)) ?? 0) - next_ns) <= 2 + 2 * noise_ns)
        }
    }

    @Test(
        "Samples that a busy machine delays for a second, each by another time, are not taken for another rate"
    )
    func busy() {
        var random = SeededRandom(seed: 11)
        var model = VsyncModel()
        let display = Display(noise_ns: Self.uniform(100_000), count: 400)
        for (index, (sample, now_ns, _)) in display.trace(&random).enumerated() {
            var late = sample
            if (200..<260).contains(index) { late.time_ns += Int64.random(in: 600_000...3_200_000, using: &random) }
            #expect(model.add(late, now_ns: now_ns + 4_000_000) == (index < 5 ? .learning : .accepted))
        }
        #expect(model.restarts == 0)
        #expect(abs((model.fit?.grid.period_ns ?? 0) / display.period_ns - 1) < 0.0003)
    }

    @Test("A gap loses nothing: the grid goes on from the next sample")
    func gap() {
        var random = SeededRandom(seed: 1)
        var model = VsyncModel()
        for (index, (sample, now_ns, _)) in Display(count: 300).trace(&random).enumerated()
        where !(100..<160).contains(index) {
            #expect(model.add(sample, now_ns: now_ns) == (index < 5 ? .learning : .accepted))
        }
        #expect(model.restarts == 0)
    }

    @Test("A sequence that stands still or is made up is not believed", arguments: [true, false])
    func badSequence(_ isConstant: Bool) {
        var random = SeededRandom(seed: 5)
        var model = VsyncModel()
        let display = Display(
            period_ns: 25_136_000,
            noise_ns: Self.normal(40_000),
            isMissed: Self.chance(0.1),
            count: 300
        )
        for (index, (sample, now_ns, _)) in display.trace(&random).enumerated() {
            var spoilt = sample
            spoilt.sequence = isConstant ? 0 : UInt64(index)
            _ = model.add(spoilt, now_ns: now_ns)
        }
        #expect(abs((model.fit?.grid.period_ns ?? 0) / display.period_ns - 1) < 0.001)
    }

    @Test("A sequence that does not fit the times is ignored from the eleventh sample on")
    func unfittingSequence() {
        var random = SeededRandom(seed: 5)
        var model = VsyncModel()
        for (index, (sample, now_ns, _)) in Display(count: 12).trace(&random).enumerated() {
            let unfitting = VsyncModel.Sample(time_ns: sample.time_ns, sequence: UInt64(7 * index * index))
            _ = model.add(unfitting, now_ns: now_ns)
            #expect((model.fit != nil) == (index >= 10), "\(index)")
        }
    }

    @Test("A sample that is not later than the one before, lies ahead, or is long past is no refresh")
    func stale() {
        var random = SeededRandom(seed: 1)
        var model = VsyncModel()
        var last: (sample: VsyncModel.Sample, now_ns: Int64) = (.init(time_ns: 0), 0)
        for (sample, now_ns, _) in Display(count: 50).trace(&random) {
            _ = model.add(sample, now_ns: now_ns)
            last = (sample, now_ns)
        }
        let before = model.fit?.grid
        let period_ns = Int64(1e9 / 60)
        for time_ns in [last.sample.time_ns, last.sample.time_ns - 1, .min, 0, last.now_ns + 2 * period_ns, .max] {
            #expect(model.add(.init(time_ns: time_ns, sequence: 1000), now_ns: last.now_ns) == .stale)
        }
        let later_ns = last.now_ns + 20 * period_ns
        #expect(model.add(.init(time_ns: later_ns - 9 * period_ns, sequence: 161), now_ns: later_ns) == .stale)
        #expect(model.fit?.grid == before)
        #expect(model.staleSamples == 7)
    }

    @Test("A count that goes back is a new one: the display may have any phase, and is learnt anew from that sample")
    func otherCount() {
        var random = SeededRandom(seed: 1)
        var model = VsyncModel()
        let display = Display(count: 100)
        for (sample, now_ns, _) in display.trace(&random) { _ = model.add(sample, now_ns: now_ns) }
        // The counts 101 to 106 once more, 7 ms off: too far off to be accepted, and near enough to be refused one by one.
        let again = display.trace(&random, start_ns: 5e9 + 100 * display.period_ns + 7e6)
        let verdicts = again.prefix(6).map { model.add($0.0, now_ns: $0.1) }
        #expect(verdicts == [.restarted, .learning, .learning, .learning, .learning, .accepted])
        #expect(model.refusedSamples == 0)
    }

    @Test("A refresh may be reported up to a period and a half ahead, by a server that knows when it will be")
    func ahead() {
        var random = SeededRandom(seed: 1)
        for (periods, isTaken) in [(1.0, true), (1.4, true), (1.6, false)] {
            var model = VsyncModel()
            let display = Display(count: 100)
            for (sample, _, _) in display.trace(&random) {
                // Before its period is known a display is taken for one of 30 Hz.
                let early_ns = periods * (model.fit == nil ? 1 : display.period_ns)
                _ = model.add(sample, now_ns: sample.time_ns - Int64(early_ns))
            }
            #expect(model.staleSamples == (isTaken ? 0 : 94))
            #expect(model.fit != nil)
        }
    }

    @Test(
        "Of noisy refreshes with a sequence one is refused that is further off than four times their deviation",
        arguments: [(0.35, false), (0.45, true)] as [(Double, Bool)]
    )
    func gate(offset: Double, isRefused: Bool) {
        var model = VsyncModel()
        func add(_ number: Int, _ offset: Double) {
            let time_ns = Int64(5e9 + (Double(number) + offset) * 1e9 / 60)
            _ = model.add(.init(time_ns: time_ns, sequence: UInt64(100 + number)), now_ns: time_ns + 50_000)
        }
        for number in 1...300 { add(number, number % 2 == 0 ? 0.1 : -0.1) }
        #expect(model.refusedSamples == 0)
        add(301, offset)
        #expect(model.refusedSamples == (isRefused ? 1 : 0))
    }

    @Test("A count that jumps by a million has begun anew: then the times alone tell the period")
    func jump() {
        var model = VsyncModel()
        for number in 1...6 {
            let time_ns = Int64(5e9 + Double(number) * 1e9 / 60)
            let sequence = UInt64(number > 3 ? number + 999_999 : number)
            _ = model.add(.init(time_ns: time_ns, sequence: sequence), now_ns: time_ns + 50_000)
        }
        #expect(model.fit != nil)
    }

    @Test("Once a second is no refresh rate")
    func onceASecond() {
        let outcome = Self.run(Display(period_ns: 1e9, count: 100), settling: 0)
        #expect(outcome.model.fit == nil)
    }

    @Test("Any samples are safe, and the period is never out of bounds")
    func anything() {
        var random = SeededRandom.fromEnvironment()
        var model = VsyncModel()
        var now_ns: Int64 = 0
        for _ in 0..<20_000 {
            let scale: Int64 = [1, 1000, 1_000_000, 20_000_000, 1_000_000_000_000].randomElement(using: &random) ?? 1
            now_ns = now_ns.addingSaturating(Int64.random(in: 0...scale, using: &random))
            let time_ns = now_ns.subtractingSaturating(Int64.random(in: -scale...scale, using: &random))
            let sequence = Bool.random(using: &random) ? UInt64.random(in: 0 ... .max, using: &random) : nil
            let small = Bool.random(using: &random) ? UInt64(now_ns >> 24) : nil
            _ = model.add(
                .init(
                    time_ns: Int64.random(in: 0..<50, using: &random) == 0
                        ? .random(in: .min ... .max, using: &random) : time_ns,
                    sequence: small ?? sequence
                ),
                now_ns: now_ns,
                requested: .random(in: 0...3, using: &random)
            )
            if let fit = model.fit { #expect((400_000...200_000_000).contains(fit.grid.period_ns)) }
        }
    }
}

extension FrameGrid {
    /// Returns the instant of the refresh nearest to `instant_ns`.
    func nearest_ns(to instant_ns: Int64) -> Int64 { self.instant_ns(nearest(to: instant_ns)) }
}
