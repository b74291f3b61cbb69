// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import HRTimer

/// The answers of an X server on vkms when its display went away, recorded in a guest. After each answer the next refresh was
/// requested at once.
private struct Storm: Sendable, CustomTestStringConvertible {
    let name: String
    let period_ns: Double
    /// The differences of count and timestamp from the answer before, and how much later the answer came, in µs.
    let answers: [(count: Int, time_us: Int64, arrival_us: Int64)]

    var testDescription: String { name }

    static let all = [
        Storm(
            name: "monitor put to sleep at 144 Hz",
            period_ns: 6944444.5,
            answers: [
                (-413, -10285097, 46288), (0, 0, 1011), (0, 0, 495), (0, 0, 555), (0, 0, 6645), (0, 0, 598),
                (0, 0, 379), (0, 0, 386), (0, 0, 9061), (0, 0, 837), (0, 0, 669), (0, 0, 6412), (0, 0, 743),
                (0, 0, 666), (0, 0, 600), (0, 0, 643), (0, 0, 13320), (0, 0, 1069), (0, 0, 681), (0, 0, 644),
                (0, 0, 628), (0, 0, 5526), (0, 0, 853), (0, 0, 577),
            ]
        ),
        Storm(
            name: "monitor put to sleep",
            period_ns: 16665600.1,
            answers: [
                (0, 0, 24643), (-504, -15751145, 2026), (0, 0, 13833), (0, 0, 565), (0, 0, 637), (0, 0, 295),
                (0, 0, 577), (0, 0, 315), (0, 0, 270), (0, 0, 292), (0, 0, 5063), (0, 0, 414), (0, 0, 332), (0, 0, 355),
                (0, 0, 306), (0, 0, 349), (0, 0, 746), (0, 0, 423), (0, 0, 12750), (0, 0, 644), (0, 0, 376),
                (0, 0, 384), (0, 0, 335), (0, 0, 308),
            ]
        ),
        Storm(name: "mode change", period_ns: 16580400.0, answers: [(0, 0, 25448)]),
        Storm(
            name: "output switched off",
            period_ns: 16580400.0,
            answers: [
                (0, 0, 9753), (-710, -23104014, 29554), (0, 0, 635), (0, 0, 666), (0, 0, 514), (0, 0, 313), (0, 0, 275),
                (0, 0, 313), (0, 0, 13036), (0, 0, 2470), (0, 0, 5665), (0, 0, 383), (0, 0, 295), (0, 0, 306),
                (0, 0, 266), (0, 0, 254), (0, 0, 249), (0, 0, 293), (0, 0, 564), (0, 0, 388), (0, 0, 5222), (0, 0, 368),
                (0, 0, 358), (0, 0, 315),
            ]
        ),
    ]
}

@Suite struct VsyncReplayTests {
    @Test("Answers without a refresh are stale, and change nothing that is known", arguments: Storm.all)
    private func storm(_ storm: Storm) throws {
        var model = VsyncModel()
        var (time_ns, count) = (Int64(30_000_000_000), Int64(5000))
        var now_ns = time_ns
        for number in 1...100 {
            // The server's timestamps are in whole microseconds.
            time_ns = 30_000_000_000 + Int64(Double(number) * storm.period_ns / 1000) * 1000
            now_ns = time_ns + 700_000
            count += 1
            _ = model.add(VsyncModel.Sample(time_ns: time_ns, sequence: UInt64(count)), now_ns: now_ns)
        }
        let before = try #require(model.fit)
        for answer in storm.answers {
            time_ns += answer.time_us * 1000
            now_ns += answer.arrival_us * 1000
            count += Int64(answer.count)
            #expect(model.add(.init(time_ns: time_ns, sequence: UInt64(count)), now_ns: now_ns) == .stale)
        }
        #expect(model.fit?.grid == before.grid)
        #expect(abs(before.grid.period_ns - storm.period_ns) < 20)
        // The display comes back, in another phase and with another count.
        var verdicts: [VsyncModel.Verdict] = []
        let back_ns = now_ns + 1_000_000_000
        for number in 1...12 {
            time_ns = back_ns + Int64(Double(number) * storm.period_ns / 1000) * 1000
            let sample = VsyncModel.Sample(time_ns: time_ns, sequence: UInt64(20 + number))
            verdicts.append(model.add(sample, now_ns: time_ns + 700_000))
        }
        #expect(verdicts.last == .accepted)
        let after = try #require(model.fit)
        #expect(abs(after.grid.nearest_ns(to: time_ns) - time_ns) < 2000)
    }

    /// Feeds refreshes whose timestamps are in whole microseconds, as a display server's are; the first is one step after
    /// `start`. Returns the verdicts and the last refresh.
    private func feed(
        _ model: inout VsyncModel,
        from start: (time_ns: Double, count: Int64),
        _ period_ns: Double,
        steps: [Int64]
    ) -> (verdicts: [VsyncModel.Verdict], end: (time_ns: Double, count: Int64)) {
        var (time_ns, count) = start
        let verdicts = steps.map { step in
            time_ns += Double(step) * period_ns
            count += step
            let told_ns = Int64(time_ns / 1000) * 1000
            return model.add(.init(time_ns: told_ns, sequence: UInt64(count)), now_ns: told_ns + 1_050_000)
        }
        return (verdicts, (time_ns, count))
    }

    @Test(
        "A virtual terminal that is left for 2.4 s, as weston reported it on vkms, causes no refusal and no restart"
    )
    func virtualTerminal() throws {
        var model = VsyncModel()
        // Of 300 presentations ten came two refreshes after the one before, and one came 142 refreshes after.
        var steps = (0..<299).map { $0 % 28 == 27 ? Int64(2) : 1 }
        steps[60] = 142
        let (verdicts, _) = feed(&model, from: (21_000_000_000, 582), 16_665_600, steps: steps)
        #expect(verdicts.dropFirst(5).allSatisfy { $0 == .accepted })
        #expect(model.restarts + model.refusedSamples + model.staleSamples == 0)
        #expect(model.missedRefreshes == steps.reduce(0) { $0 + $1 - 1 })
        let fit = try #require(model.fit)
        #expect(abs(fit.grid.period_ns - 16_665_600) < 100)
        #expect(fit.residual_ns < 1000)
    }

    @Test(
        "A new mode, as Xorg reported it on vkms, is learnt: a count reported twice, a gap, then the other period",
        arguments: [(16_580_400.0, 6_944_444.5), (6_944_444.5, 16_665_600)],
        [0, 97_000_000.0]
    )
    func mode(_ periods_ns: (Double, Double), _ gap_ns: Double) throws {
        var model = VsyncModel()
        let (_, end) = feed(&model, from: (30_000_000_000, 5000), periods_ns.0, steps: Array(repeating: 1, count: 100))
        let again_ns = Int64(end.time_ns / 1000) * 1000
        let again = VsyncModel.Sample(time_ns: again_ns, sequence: UInt64(end.count))
        #expect(model.add(again, now_ns: again_ns + 25_448_000) == .stale)
        let (verdicts, _) = feed(
            &model,
            from: (end.time_ns + gap_ns, end.count),
            periods_ns.1,
            steps: Array(repeating: 1, count: 24)
        )
        #expect(verdicts.last == .accepted)
        let fit = try #require(model.fit)
        #expect(abs(fit.grid.period_ns / periods_ns.1 - 1) < 0.001)
    }
}
