// SPDX-License-Identifier: Apache-2.0
import HRTimer

/// One-shot sources, whose handlers the engine calls.
enum SourceOperations {
    static let all = [
        CountedOperation("TimerSource", "activate") { world in
            let engine = try world.makeEngine()
            let deadlines = world.deadlines()
            var sources: [TimerSource] = []
            sources.reserveCapacity(deadlines.count)
            return { count in
                for index in 0..<count { sources.append(source(engine, deadlines[index])) }
            }
        },
        // Takes no lock: see `TimerSource.schedule`.
        CountedOperation("TimerSource", "schedule-later") { world in
            let sources = try crowd(world)
            let later = world.deadlines(later: .seconds(1))
            return { count in
                for index in 0..<count { sources[index].schedule(deadline: later[index]) }
            }
        },
        CountedOperation("TimerSource", "schedule-earlier") { world in
            let sources = try crowd(world)
            let earlier = world.deadlines(later: .seconds(-1))
            return { count in
                for index in 0..<count { sources[index].schedule(deadline: earlier[index]) }
            }
        },
        CountedOperation("TimerSource", "fire") { world in
            let engine = try world.makeEngine()
            let sources = (0..<CountedOperation.most).map { source(engine, world.batchDeadline($0)) }
            return { count in
                world.fire(first: count)
                world.check(engine.statistics, fires: count)
                withExtendedLifetime(sources) {}
            }
        },
        CountedOperation("TimerSource", "cancel") { world in
            let sources = try crowd(world)
            return { count in
                for index in 0..<count { sources[index].cancel() }
            }
        },
    ]

    private static func crowd(_ world: FrozenWorld) throws -> [TimerSource] {
        let engine = try world.makeEngine()
        return world.deadlines().map { source(engine, $0) }
    }

    private static func source(_ engine: TimerEngine, _ deadline: MonotonicInstant) -> TimerSource {
        let source = TimerSource(engine: engine)
        source.setEventHandler {}
        source.schedule(deadline: deadline)
        source.activate()
        return source
    }
}
