// SPDX-License-Identifier: Apache-2.0
import HRTimer

/// Timers of a loop that the calling thread runs, and links of displays without hardware in it.
enum LoopOperations {
    static let timers = [
        CountedOperation("LoopTimer", "add") { world in
            let loop = world.makeLoop()
            let deadlines = world.deadlines()
            var timers: [LoopTimer] = []
            timers.reserveCapacity(deadlines.count)
            return { count in
                for index in 0..<count { timers.append(timer(loop, deadlines[index])) }
            }
        },
        CountedOperation("LoopTimer", "fireInstant") { world in
            let (loop, timers) = crowd(world)
            let later = world.deadlines(later: .seconds(1))
            return { count in
                for index in 0..<count { timers[index].fireInstant = later[index] }
                withExtendedLifetime(loop) {}
            }
        },
        CountedOperation("LoopTimer", "fire") { world in
            let loop = world.makeLoop()
            for index in 0..<CountedOperation.most { _ = timer(loop, world.batchDeadline(index)) }
            return { count in
                loop.run(until: world.batchDeadline(count - 1))
                world.check(loop.statistics, fires: count)
            }
        },
        CountedOperation("LoopTimer", "invalidate") { world in
            let (loop, timers) = crowd(world)
            return { count in
                for index in 0..<count { timers[index].invalidate() }
                precondition(loop.liveTimers == CountedOperation.most - count)
            }
        },
    ]

    /// One call of a link for its frame. A batch of links has the same refreshes, 1 ms apart.
    static let displayLink = CountedOperation("DisplayLink", "frame") { world in
        let loop = world.makeLoop()
        let links = (0..<FrozenWorld.batch).map { _ in
            let link = DisplayLink(framesPerSecond: 1000) { _ in }
            link.add(to: loop, forMode: .default)
            return link
        }
        return { count in
            loop.run(until: world.batchDeadline(count - 1))
            world.check(loop.statistics, fires: count)
            withExtendedLifetime(links) {}
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
