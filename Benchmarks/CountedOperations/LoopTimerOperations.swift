import HRTimer

/// Timers of a loop that the calling thread runs.
enum LoopTimerOperations {
    static let all: [CountedOperation] = [
        CountedOperation(face, "add", add),
        CountedOperation(face, "fireInstant", move),
        CountedOperation(face, "fire", fire),
        CountedOperation(face, "invalidate", invalidate),
    ]

    private static let face = "LoopTimer"

    private static func add(_ world: FrozenWorld) -> (Int) -> Void {
        let loop = world.makeLoop()
        let deadlines = world.deadlines()
        var timers: [LoopTimer] = []
        timers.reserveCapacity(deadlines.count)
        return { count in
            for index in 0..<count { timers.append(timer(loop, deadlines[index])) }
        }
    }

    private static func move(_ world: FrozenWorld) -> (Int) -> Void {
        let (loop, timers) = crowd(world)
        let later = world.deadlines(later: .seconds(1))
        return { count in
            for index in 0..<count { timers[index].fireInstant = later[index] }
            withExtendedLifetime(loop) {}
        }
    }

    private static func fire(_ world: FrozenWorld) -> (Int) -> Void {
        let loop = world.makeLoop()
        for index in 0..<CountedOperation.most { _ = timer(loop, world.batchDeadline(index)) }
        return { count in
            loop.run(until: world.batchDeadline(count - 1))
            world.check(loop.statistics, fires: count)
        }
    }

    private static func invalidate(_ world: FrozenWorld) -> (Int) -> Void {
        let (loop, timers) = crowd(world)
        return { count in
            for index in 0..<count { timers[index].invalidate() }
            precondition(loop.liveTimers == CountedOperation.most - count)
        }
    }

    private static func crowd(_ world: FrozenWorld) -> (TimerLoop, [LoopTimer]) {
        let loop = world.makeLoop()
        return (loop, world.deadlines().map { timer(loop, $0) })
    }

    private static func timer(_ loop: TimerLoop, _ deadline: MonotonicInstant) -> LoopTimer {
        let timer = LoopTimer(fireAt: deadline) { _ in }
        loop.add(timer, forMode: .default)
        return timer
    }
}
