// SPDX-License-Identifier: Apache-2.0
import HRTimer

/// One-shot timers of an engine.
enum EngineOperations {
    static let all = [
        CountedOperation("TimerEngine", "schedule") { world in
            let engine = try world.makeEngine()
            let deadlines = world.deadlines()
            return { count in
                for index in 0..<count { engine.schedule(at: deadlines[index]) { _ in } }
            }
        },
        CountedOperation("TimerEngine", "reschedule") { world in
            let (engine, tokens) = try crowd(world)
            let later = world.deadlines(later: .seconds(1))
            return { count in
                for index in 0..<count { engine.reschedule(tokens[index], at: later[index]) }
            }
        },
        CountedOperation("TimerEngine", "fire") { world in
            let engine = try world.makeEngine()
            for index in 0..<CountedOperation.most { engine.schedule(at: world.batchDeadline(index)) { _ in } }
            return { count in
                world.fire(first: count)
                world.check(engine.statistics, fires: count)
            }
        },
        CountedOperation("TimerEngine", "cancel") { world in
            let (engine, tokens) = try crowd(world)
            return { count in
                for index in 0..<count { engine.cancel(tokens[index]) }
                precondition(engine.liveTimers == CountedOperation.most - count)
            }
        },
    ]

    private static func crowd(_ world: FrozenWorld) throws -> (TimerEngine, [TimerToken]) {
        let engine = try world.makeEngine()
        return (engine, world.deadlines().map { engine.schedule(at: $0) { _ in } })
    }
}
