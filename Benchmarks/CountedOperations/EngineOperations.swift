import HRTimer

/// One-shot timers of an engine.
enum EngineOperations {
    static let all: [CountedOperation] = [
        CountedOperation(face, "schedule", schedule),
        CountedOperation(face, "reschedule", reschedule),
        CountedOperation(face, "fire", fire),
        CountedOperation(face, "cancel", cancel),
    ]

    private static let face = "TimerEngine"

    private static func schedule(_ world: FrozenWorld) throws -> (Int) -> Void {
        let engine = try world.makeEngine()
        let deadlines = world.deadlines()
        return { count in
            for index in 0..<count { engine.schedule(at: deadlines[index]) { _ in } }
        }
    }

    private static func reschedule(_ world: FrozenWorld) throws -> (Int) -> Void {
        let (engine, tokens) = try crowd(world)
        let later = world.deadlines(later: .seconds(1))
        return { count in
            for index in 0..<count { engine.reschedule(tokens[index], at: later[index]) }
        }
    }

    private static func fire(_ world: FrozenWorld) throws -> (Int) -> Void {
        let engine = try world.makeEngine()
        for index in 0..<CountedOperation.most { engine.schedule(at: world.batchDeadline(index)) { _ in } }
        return { count in
            world.fire(first: count)
            world.check(engine.statistics, fires: count)
        }
    }

    private static func cancel(_ world: FrozenWorld) throws -> (Int) -> Void {
        let (engine, tokens) = try crowd(world)
        return { count in
            for index in 0..<count { engine.cancel(tokens[index]) }
            precondition(engine.liveTimers == CountedOperation.most - count)
        }
    }

    private static func crowd(_ world: FrozenWorld) throws -> (TimerEngine, [TimerToken]) {
        let engine = try world.makeEngine()
        return (engine, world.deadlines().map { engine.schedule(at: $0) { _ in } })
    }
}
