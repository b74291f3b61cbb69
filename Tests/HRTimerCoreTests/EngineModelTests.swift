// SPDX-License-Identifier: Apache-2.0
import HRTimerCore
import TestSupport
import Testing

/// Random timers on engines of one frozen clock, compared with arrays that are obviously right. HRTIMER_MODEL_OPERATIONS sets
/// the number of operations and calls, HRTIMER_SEED the random seed.
@Suite struct EngineModelTests {
    private static let operations = environment("HRTIMER_MODEL_OPERATIONS").flatMap { Int($0) } ?? 5000
    private static let stepsOfChapter = 300
    /// In overloaded chapters each step has more calls than the one before; without a bound the model, which searches linearly,
    /// would take minutes.
    private static let operationsOfChapter = 20_000

    @Test(
        "Engines call the timers that a sorted-list model calls, in its order, at its instants and with its counts"
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
        "Chapters of the script that once differed from the model agree",
        arguments: [
            13_066_821_414_949_013_227, 16_175_143_489_966_792_241, 2_420_462_499_707_519_650,
            18_085_252_972_133_662_847,
        ] as [UInt64]
    )
    func agreesAgain(_ seed: UInt64) throws {
        let difference = try play(EngineScript(seed: seed)).difference
        #expect(difference == nil, "\(difference ?? "")")
    }

    @Test("With spin windows a script gives the same events each time, and no call is early")
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
                engines.perform(script.action(&random), script)
            }
            return engines.events
        }
        let events = try play()
        #expect(try play() == events, "seed \(seed)")
        for case .called(_, let deadline_ns, let now_ns, _) in events {
            #expect(now_ns >= deadline_ns, "seed \(seed)")
        }
    }

    /// Plays one chapter on engines of its own, so that a failure can be replayed from the start. Returns the first difference.
    private func play(_ script: EngineScript) throws -> (operations: Int, difference: String?) {
        let real = try RealEngines(script)
        defer { real.end() }
        let model = EngineModel(script, start_ns: real.now_ns)
        var random = SeededRandom(seed: script.seed)
        var operations = 0
        for step in 0..<Self.stepsOfChapter where operations < Self.operationsOfChapter {
            let action = script.action(&random)
            for world in [real, model] as [any EngineWorld] {
                world.allowance = HandlerAllowance(script)
                world.events.removeAll(keepingCapacity: true)
                world.perform(action, script)
            }
            operations += 1 + model.events.count
            if let difference = difference(real, model) {
                return (operations, "\(script), step \(step), \(action): \(difference)")
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
