// SPDX-License-Identifier: Apache-2.0
import CBench
import Dispatch
import Foundation
import HRTimer

// Keep-alives: long-lived timers that are moved later again and again.
extension PublicOperations {
    static func reArmComparison(timers: Int) -> OperationComparison {
        reArmComparison(timers, reArmOurs(timers) + reArmOthers(timers) + [reArmNIO(timers), reArmLimit(timers)])
    }

    /// Returns the comparison of rivals that are fast enough with millions of timers.
    static func crowdComparison(timers: Int) -> OperationComparison {
        reArmComparison(timers, reArmOurs(timers) + [reArmLimit(timers)])
    }

    private static func reArmComparison(_ timers: Int, _ rivals: [OperationRival]) -> OperationComparison {
        OperationComparison(
            operation: "re-arm",
            explanation: "schedule a random long-lived timer again, later than it was",
            timers: timers,
            baseID: "hrtimer.source",
            rivals: rivals
        )
    }

    private static func reArmOurs(_ timers: Int) -> [OperationRival] {
        [
            onEngine("hrtimer.source") { engine, deadlines in
                let sources = Owned(try makePending(timers) { source(deadlines.any(), on: engine) {} })
                return measure(engine) { index in
                    let deadline = MonotonicInstant(nanoseconds: deadlines.later(index))
                    sources.with(deadlines.timer(below: timers)) { $0.schedule(deadline: deadline) }
                }
            },
            // By token: the engine finds the timer through the token alone.
            onEngine("hrtimer.engine") { engine, deadlines in
                let tokens = try makePending(timers) { engineTimer(deadlines.any(), on: engine) }
                return measure(engine) { index in
                    let deadline = MonotonicInstant(nanoseconds: deadlines.later(index))
                    engine.reschedule(tokens[deadlines.timer(below: timers)], at: deadline)
                }
            },
        ]
    }

    private static func reArmOthers(_ timers: Int) -> [OperationRival] {
        [
            rival("dispatch.source") { deadlines in
                let queue = DispatchQueue(label: "bench.ops")
                let sources = try makePending(timers) { dispatchSource(deadlines.any(), on: queue) }
                defer { for source in sources { source.cancel() } }
                let owned = Owned(sources.compactMap { $0 as? DispatchSource })
                return OperationLoop().measure(drain: { queue.sync {} }) { index in
                    let deadline = DispatchTime(instant_ns: deadlines.later(index))
                    owned.with(deadlines.timer(below: timers)) { $0.schedule(deadline: deadline) }
                }
            },
            rival("hrtimer.loop-timer") { deadlines in
                let loop = TimerLoop()
                let all = try makePending(timers) { loopTimer(deadlines.any(), on: loop) }
                defer { for timer in all { timer.invalidate() } }
                let owned = Owned(all)
                return OperationLoop().measure { index in
                    let deadline = MonotonicInstant(nanoseconds: deadlines.later(index))
                    owned.with(deadlines.timer(below: timers)) { $0.fireInstant = deadline }
                }
            },
            rival("foundation.timer") { deadlines in
                try withFoundationTimers(timers, &deadlines) { all, deadlines in
                    let owned = Owned(all)
                    return OperationLoop().measure { index in
                        let date = date(deadlines.later(index))
                        owned.with(deadlines.timer(below: timers)) { $0.fireDate = date }
                    }
                }
            },
        ]
    }
}
