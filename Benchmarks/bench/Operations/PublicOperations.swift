// SPDX-License-Identifier: Apache-2.0
import CBench
import Dispatch
import Foundation
import HRTimer

/// Whole packages through their Swift API, with their locks, threads and closures.
enum PublicOperations {
    static func comparisons(timers: Int) -> [OperationComparison] {
        [
            reArmComparison(timers: timers), churnComparison(timers: timers), toleranceComparison(timers: timers),
        ] + loopComparisons(timers: timers)
    }

    /// Returns a rival whose rounds each run on a fresh thread, which has its own run loops.
    static func rival(
        _ id: String,
        _ body: @escaping @Sendable (inout Deadlines) throws -> OperationSample
    ) -> OperationRival {
        OperationRival(id: id) { seed in
            try onFreshThread {
                var deadlines = Deadlines(seed: seed)
                return try body(&deadlines)
            }
        }
    }

    /// Returns a rival whose rounds each have an engine of their own.
    static func onEngine(
        _ id: String,
        _ precision: TimerPrecision = .normal,
        _ body: @escaping @Sendable (TimerEngine, inout Deadlines) throws -> OperationSample
    ) -> OperationRival {
        rival(id) { deadlines in try withEngine(precision) { engine in try body(engine, &deadlines) } }
    }

    static func withEngine<Result>(
        _ precision: TimerPrecision = .normal,
        _ body: (TimerEngine) throws -> Result
    ) throws -> Result {
        let engine = try TimerEngine(.init(name: "bench-ops", precision: precision))
        defer { engine.shutdown() }
        return try body(engine)
    }

    /// Measures operations on an engine's timers. Counts also how often the engine's thread was woken, which costs the
    /// caller a system call.
    static func measure(_ engine: TimerEngine, _ operation: (_ index: Int) -> Void) -> OperationSample {
        let before = engine.statistics.wakesSent
        var calls = 0
        var sample = OperationLoop().measure { index in
            calls += 1
            operation(index)
        }
        sample.wakesPerOp = Double(engine.statistics.wakesSent - before) / Double(calls)
        return sample
    }
}

// One-shot timers, armed. The closure of each holds an object, where no other closure is given.
extension PublicOperations {
    /// The object that closures hold.
    final class Payload: Sendable {}

    static func engineTimer(
        _ deadline_ns: Int64,
        on engine: TimerEngine,
        tolerance: Duration = .zero
    ) -> TimerToken {
        let payload = Payload()
        return engine.schedule(at: MonotonicInstant(nanoseconds: deadline_ns), tolerance: tolerance) { _ in
            withExtendedLifetime(payload) {}
        }
    }

    // Inlined, since its calls are what is timed.
    @inline(__always)
    static func source(
        _ deadline_ns: Int64,
        on engine: TimerEngine,
        handler: @escaping @Sendable () -> Void = makeHandler()
    ) -> TimerSource {
        let source = TimerSource(engine: engine)
        source.setEventHandler(handler: handler)
        source.schedule(deadline: MonotonicInstant(nanoseconds: deadline_ns))
        source.activate()
        return source
    }

    static func dispatchSource(_ deadline_ns: Int64, on queue: DispatchQueue) -> any DispatchSourceTimer {
        let source = DispatchSource.makeTimerSource(queue: queue)
        source.setEventHandler(handler: makeHandler())
        source.schedule(deadline: .init(instant_ns: deadline_ns))
        source.activate()
        return source
    }

    static func loopTimer(_ deadline_ns: Int64, on loop: TimerLoop) -> LoopTimer {
        let payload = Payload()
        let instant = MonotonicInstant(nanoseconds: deadline_ns)
        let timer = LoopTimer(fireAt: instant, interval: .zero, repeats: false) { _ in
            withExtendedLifetime(payload) {}
        }
        loop.add(timer, forMode: .default)
        return timer
    }

    static func foundationTimer(_ deadline_ns: Int64) -> Timer {
        let payload = Payload()
        let timer = Timer(fire: date(deadline_ns), interval: 0, repeats: false) { _ in
            withExtendedLifetime(payload) {}
        }
        RunLoop.current.add(timer, forMode: .default)
        return timer
    }

    /// Runs `body` with pending timers of the thread's run loop.
    static func withFoundationTimers(
        _ timers: Int,
        _ deadlines: inout Deadlines,
        _ body: ([Timer], inout Deadlines) -> OperationSample
    ) throws -> OperationSample {
        var all: [Timer] = []
        defer { invalidate(all) }
        try armPending(timers) { _ in all.append(foundationTimer(deadlines.any())) }
        return body(all, &deadlines)
    }

    /// Invalidates the earliest timer first: a run loop searches for the timer from there, which takes minutes in any other
    /// order.
    static func invalidate(_ timers: [Timer]) {
        for timer in timers.sorted(by: { $0.fireDate < $1.fireDate }) { timer.invalidate() }
    }

    /// Returns the date of an instant; which clock it counts on does not matter here.
    static func date(_ instant_ns: Int64) -> Date {
        Date(timeIntervalSinceNow: Double(instant_ns - cbench_now_ns()) / 1e9)
    }
}
