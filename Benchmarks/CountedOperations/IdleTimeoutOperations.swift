import HRTimer

/// Timeouts of an hour, of which each batch begins 1 ms after the one before.
enum IdleTimeoutOperations {
    static let all: [CountedOperation] = [
        CountedOperation(face, "init", start),
        CountedOperation(face, "touch", touch),
        CountedOperation(face, "expire", expire),
        CountedOperation(face, "cancel", cancel),
    ]

    private static let face = "IdleTimeout"

    private static func start(_ world: FrozenWorld) throws -> (Int) -> Void {
        let engine = try world.makeEngine()
        var timeouts: [IdleTimeout] = []
        timeouts.reserveCapacity(CountedOperation.most)
        return { count in
            for _ in 0..<count { timeouts.append(timeout(engine)) }
        }
    }

    private static func touch(_ world: FrozenWorld) throws -> (Int) -> Void {
        let timeouts = try crowd(world)
        return { count in
            for index in 0..<count { timeouts[index].touch() }
        }
    }

    private static func expire(_ world: FrozenWorld) throws -> (Int) -> Void {
        let timeouts = try crowd(world)
        return { count in
            world.advance(to: world.batchDeadline(count - 1).advanced(by: .seconds(3600)))
            precondition(timeouts.count { $0.nextDeadline == nil } == count)
        }
    }

    private static func cancel(_ world: FrozenWorld) throws -> (Int) -> Void {
        let timeouts = try crowd(world)
        return { count in
            for index in 0..<count { timeouts[index].cancel() }
        }
    }

    private static func crowd(_ world: FrozenWorld) throws -> [IdleTimeout] {
        let engine = try world.makeEngine()
        return (0..<CountedOperation.most).map { index in
            world.advance(to: world.batchDeadline(index))
            return timeout(engine)
        }
    }

    private static func timeout(_ engine: TimerEngine) -> IdleTimeout {
        IdleTimeout(.seconds(3600), engine: engine) {}
    }
}
