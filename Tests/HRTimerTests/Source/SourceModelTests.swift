// SPDX-License-Identifier: Apache-2.0
import HRTimer
import TestSupport
import Testing

/// Random sources of an engine on a frozen clock against arrays that are obviously right. HRTIMER_MODEL_OPERATIONS sets how
/// many operations and calls, HRTIMER_SEED which.
@Suite struct SourceModelTests {
    private static let operations = environment("HRTIMER_MODEL_OPERATIONS").flatMap { Int($0) } ?? 5000
    private static let stepsOfChapter = 300
    /// Nobody keeps up in some chapters, whose steps have ever more calls.
    private static let operationsOfChapter = 3000

    @Test("The same sources are called in the same order at the same instants, with the same data, as in a plain list")
    func agreesWithModel() throws {
        try play(spins: false)
    }

    @Test("With spin windows sources are called at the same instants, with the same data, as in a plain list without")
    func agreesWithSpinWindows() throws {
        try play(spins: true)
    }

    @Test(
        "Chapters that differed once agree",
        arguments: [
            10_451_216_379_200_822_465, 15_847_914_186_252_977_247, 17_911_839_290_282_890_590,
            10_987_583_248_141_275_951, 1_216_750_802_008_901_446,
        ] as [UInt64]
    )
    func agreesAgain(_ seed: UInt64) throws {
        let difference = try play(SourceScript(seed: seed)).difference
        #expect(difference == nil, "\(difference ?? "")")
    }

    @Test(
        "Chapters that differed once with spin windows agree",
        arguments: [15_847_914_186_252_977_247, 7_216_252_612_619_619_014] as [UInt64]
    )
    func agreesAgainWithSpinWindows(_ seed: UInt64) throws {
        let difference = try play(SourceScript(seed: seed, spins: true)).difference
        #expect(difference == nil, "\(difference ?? "")")
    }

    @Test("With spin windows the same script gives the same events each time")
    func repeatsWithSpinWindows() throws {
        var random = SeededRandom.fromEnvironment()
        for _ in 0..<20 { try playTwice(random.next()) }
    }

    private func playTwice(_ seed: UInt64) throws {
        func play() throws -> [SourceEvent] {
            let script = SourceScript(seed: seed)
            let sources = try RealSources(script, spins: true)
            defer { sources.end() }
            var random = SeededRandom(seed: seed)
            for step in 0..<100 where sources.events.count < 5000 {
                sources.allowance = SourceAllowance(script)
                sources.perform(script.action(step, &random))
            }
            return sources.events
        }
        let events = try play()
        #expect(try play() == events, "seed \(seed)")
    }

    private func play(spins: Bool) throws {
        var random = SeededRandom.fromEnvironment()
        var operations = 0
        while operations < Self.operations {
            let seed = random.next()
            let (done, difference) = try play(SourceScript(seed: seed, spins: spins))
            operations += done
            guard let difference else { continue }
            Issue.record("chapter \(seed): \(difference)")
            return
        }
    }

    /// One chapter: an engine of its own, so that what went wrong can be told from the start. The first difference, if any.
    private func play(_ script: SourceScript) throws -> (operations: Int, difference: String?) {
        let real = try RealSources(script, spins: script.spins)
        defer { real.end() }
        let model = SourceModel(script, start_ns: real.now_ns)
        var random = SeededRandom(seed: script.seed)
        var operations = 0
        for step in 0..<Self.stepsOfChapter where operations < Self.operationsOfChapter {
            let action = script.action(step, &random)
            for world in [real, model] as [any SourceWorld] {
                world.allowance = SourceAllowance(script)
                world.events.removeAll(keepingCapacity: true)
                world.perform(action)
            }
            operations += 1 + model.events.count
            if let difference = difference(real, model, script) {
                return (operations, "\(script), step \(step), \(action): \(difference)")
            }
        }
        real.end()
        if real.liveTimers == 0, real.keptHandlers == 0 { return (operations, nil) }
        let left = "\(real.liveTimers) timers and \(real.keptHandlers) handlers"
        return (operations, "\(script): at the end there are \(left)")
    }

    private func difference(_ real: RealSources, _ model: SourceModel, _ script: SourceScript) -> String? {
        let (events, expected) = (compared(real.events, script), compared(model.events, script))
        if events != expected {
            let index = zip(events, expected).enumerated().first { $1.0 != $1.1 }?.offset
            let place = index ?? min(events.count, expected.count)
            func from(_ events: [SourceEvent]) -> String {
                "\(events.dropFirst(max(0, place - 3)).prefix(8).map { $0 })"
            }
            return "event \(place) of \(expected.count):\n  sources \(from(events))\n  model   \(from(expected))"
        }
        if real.now_ns != model.now_ns { return "the clock reads \(real.now_ns), not \(model.now_ns)" }
        // An engine that spins has looked at the clock, and arms for that instant what has passed.
        let atLeast_ns = script.spins ? real.now_ns : .min
        let next_ns = (real: max(real.nextDeadline_ns, atLeast_ns), model: max(model.nextDeadline_ns, atLeast_ns))
        if next_ns.real != next_ns.model { return "the clock's next deadline is \(next_ns.real), not \(next_ns.model)" }
        if real.liveTimers != model.liveTimers { return "\(real.liveTimers) timers live, not \(model.liveTimers)" }
        if real.keptHandlers != model.keptHandlers {
            return "\(real.keptHandlers) handlers are kept, not \(model.keptHandlers)"
        }
        // A call that is only prepared counts already.
        if script.spins { return nil }
        let statistics = real.statistics
        if statistics.fires != model.fires { return "\(statistics.fires) fires, not \(model.fires)" }
        if statistics.missedTicks != model.missedTicks {
            return "\(statistics.missedTicks) missed ticks, not \(model.missedTicks)"
        }
        return nil
    }

    /// The events in order; with spin windows in that of each source: among equal instants the sources may come in another.
    private func compared(_ events: [SourceEvent], _ script: SourceScript) -> [SourceEvent] {
        if !script.spins { return events }
        return events.enumerated().sorted { ($0.1.source, $0.0) < ($1.1.source, $1.0) }.map(\.1)
    }
}
