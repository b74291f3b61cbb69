import HRTimerCore
import TestSupport
import Testing

/// Random timers on engines of one frozen clock against arrays that are obviously right. HRTIMER_MODEL_OPERATIONS sets how
/// many operations and calls, HRTIMER_SEED which.
@Suite struct EngineModelTests {
    private static let operations = environment("HRTIMER_MODEL_OPERATIONS").flatMap { Int($0) } ?? 5000
    private static let stepsOfChapter = 300
    /// Nobody keeps up in some chapters, whose steps have ever more calls: minutes of a model that searches from end to end.
    private static let operationsOfChapter = 20_000

    @Test(
        "The same timers are called in the same order at the same instants, with the same counts, as in a sorted list"
    )
    func agreesWithModel() throws {
        var random = SeededRandom.fromEnvironment()
        var operations = 0
        while operations < Self.operations {
            let seed = random.next()
            let (done, difference) = try play(EngineScript(seed: seed))
            operations += done
            guard let difference else { continue }
            Issue.record("chapter \(seed): \(difference)")
            return
        }
    }

    @Test(
        "Chapters that differed once agree",
        arguments: [
            13_066_821_414_949_013_227, 16_175_143_489_966_792_241, 2_420_462_499_707_519_650,
            18_085_252_972_133_662_847,
        ] as [UInt64]
    )
    func agreesAgain(_ seed: UInt64) throws {
        let difference = try play(EngineScript(seed: seed)).difference
        #expect(difference == nil, "\(difference ?? "")")
    }

    @Test("With spin windows the same script gives the same events each time, and no call is early")
    func repeatsWithSpinWindows() throws {
        var random = SeededRandom.fromEnvironment()
        for _ in 0..<20 { try playTwice(random.next()) }
    }

    private func playTwice(_ seed: UInt64) throws {
        func play() throws -> [EngineEvent] {
            let script = EngineScript(seed: seed)
            let engines = try RealEngines(script, spins: true)
            defer { engines.end() }
            var random = SeededRandom(seed: seed)
            for _ in 0..<100 where engines.events.count < 5000 {
                engines.allowance = HandlerAllowance(script)
                engines.perform(script.deed(&random), script)
            }
            return engines.events
        }
        let events = try play()
        #expect(try play() == events, "seed \(seed)")
        for case .called(_, let deadline_ns, let now_ns, _) in events {
            #expect(now_ns >= deadline_ns, "seed \(seed)")
        }
    }

    /// One chapter: engines of their own, so that what went wrong can be told from the start. The first difference, if any.
    private func play(_ script: EngineScript) throws -> (operations: Int, difference: String?) {
        let real = try RealEngines(script)
        defer { real.end() }
        let model = EngineModel(script, start_ns: real.now_ns)
        var random = SeededRandom(seed: script.seed)
        var operations = 0
        for step in 0..<Self.stepsOfChapter where operations < Self.operationsOfChapter {
            let deed = script.deed(&random)
            for world in [real, model] as [any EngineWorld] {
                world.allowance = HandlerAllowance(script)
                world.events.removeAll(keepingCapacity: true)
                world.perform(deed, script)
            }
            operations += 1 + model.events.count
            if let difference = difference(real, model) {
                return (operations, "\(script), step \(step), \(deed): \(difference)")
            }
        }
        return (operations, nil)
    }

    private func difference(_ real: RealEngines, _ model: EngineModel) -> String? {
        if real.events != model.events {
            let index = zip(real.events, model.events).enumerated().first { $1.0 != $1.1 }?.offset
            let place = index ?? min(real.events.count, model.events.count)
            func from(_ events: [EngineEvent]) -> String {
                "\(events.dropFirst(max(0, place - 3)).prefix(8).map { $0 })"
            }
            return
                "event \(place) of \(model.events.count):\n  engine \(from(real.events))\n  model  \(from(model.events))"
        }
        if real.now_ns != model.now_ns { return "the clock reads \(real.now_ns), not \(model.now_ns)" }
        if real.liveTimers != model.liveTimers { return "\(real.liveTimers) timers live, not \(model.liveTimers)" }
        return nil
    }
}
