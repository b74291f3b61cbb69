// SPDX-License-Identifier: Apache-2.0
import HRTimer

/// Timeouts of an hour, of which each batch begins 1 ms after the one before.
enum IdleTimeoutOperations {
    static let all = [
        CountedOperation("IdleTimeout", "init") { world in
            let engine = try world.makeEngine()
            var timeouts: [IdleTimeout] = []
            timeouts.reserveCapacity(CountedOperation.most)
            return { count in
                for _ in 0..<count { timeouts.append(timeout(engine)) }
            }
        },
        CountedOperation("IdleTimeout", "touch") { world in
            let timeouts = try crowd(world)
            return { count in
                for index in 0..<count { timeouts[index].touch() }
            }
        },
        CountedOperation("IdleTimeout", "expire") { world in
            let timeouts = try crowd(world)
            return { count in
                world.advance(to: world.batchDeadline(count - 1).advanced(by: .seconds(3600)))
                precondition(timeouts.count { $0.nextDeadline == nil } == count)
            }
        },
        CountedOperation("IdleTimeout", "cancel") { world in
            let timeouts = try crowd(world)
            return { count in
                for index in 0..<count { timeouts[index].cancel() }
            }
        },
    ]

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
