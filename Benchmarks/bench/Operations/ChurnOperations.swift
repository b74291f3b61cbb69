// SPDX-License-Identifier: Apache-2.0
import CBench
import Dispatch
import Foundation
import HRTimer

// One-shot timers that are made and cancelled again and again.
extension PublicOperations {
    static func churnComparison(timers: Int) -> OperationComparison {
        OperationComparison(
            operation: "create-arm-cancel-destroy",
            explanation: "make a one-shot timer whose closure holds an object, arm it, cancel it, let it go",
            timers: timers,
            baseID: "hrtimer.source",
            rivals: churn(timers) + [churnNIO(timers), churnLimit(timers)]
        )
    }

    private static func churn(_ timers: Int) -> [OperationRival] {
        [
            // A closure needs no source.
            onEngine("hrtimer.engine") { engine, deadlines in
                _ = try makePending(timers) { engineTimer(deadlines.any(), on: engine) }
                return measure(engine) { _ in engine.cancel(engineTimer(deadlines.any(), on: engine)) }
            },
            onEngine("hrtimer.source") { engine, deadlines in
                _ = try makePending(timers) { engineTimer(deadlines.any(), on: engine) }
                return measure(engine) { _ in source(deadlines.any(), on: engine).cancel() }
            },
            rival("dispatch.source") { deadlines in
                let queue = DispatchQueue(label: "bench.ops")
                let sources = try makePending(timers) { dispatchSource(deadlines.any(), on: queue) }
                defer { for source in sources { source.cancel() } }
                return OperationLoop().measure(drain: { queue.sync {} }) { _ in
                    dispatchSource(deadlines.any(), on: queue).cancel()
                }
            },
            rival("hrtimer.loop-timer") { deadlines in
                let loop = TimerLoop()
                let all = try makePending(timers) { loopTimer(deadlines.any(), on: loop) }
                defer { for timer in all { timer.invalidate() } }
                return OperationLoop().measure { _ in loopTimer(deadlines.any(), on: loop).invalidate() }
            },
            rival("foundation.timer") { deadlines in
                try withFoundationTimers(timers, &deadlines) { _, deadlines in
                    OperationLoop().measure { _ in foundationTimer(deadlines.any()).invalidate() }
                }
            },
        ]
    }

    /// Compares what a tolerance costs the thread that arms.
    static func toleranceComparison(timers: Int) -> OperationComparison {
        OperationComparison(
            operation: "arm-cancel-tolerance",
            explanation:
                "cancel a random one-shot timer of an engine and schedule another: a plain engine, a .coalesced one, "
                + "and there with a tolerance of 10 ms",
            timers: timers,
            baseID: "hrtimer.engine",
            rivals: [
                replaceOnEngine("hrtimer.engine", timers, .normal, .zero),
                replaceOnEngine("hrtimer.engine.coalesced", timers, .coalesced, .zero),
                replaceOnEngine("hrtimer.engine.coalesced-tolerance", timers, .coalesced, .milliseconds(10)),
            ]
        )
    }

    private static func replaceOnEngine(
        _ id: String,
        _ timers: Int,
        _ precision: TimerPrecision,
        _ tolerance: Duration
    ) -> OperationRival {
        onEngine(id, precision) { engine, deadlines in
            var tokens = try makePending(timers) { engineTimer(deadlines.any(), on: engine, tolerance: tolerance) }
            return measure(engine) { _ in
                let timer = deadlines.timer(below: timers)
                engine.cancel(tokens[timer])
                tokens[timer] = engineTimer(deadlines.any(), on: engine, tolerance: tolerance)
            }
        }
    }
}
