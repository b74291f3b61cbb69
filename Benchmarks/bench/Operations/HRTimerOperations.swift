import CBench
import HRTimer

extension PublicOperations {
    @Sendable
    static func reArmSource(_ timers: Int) -> OperationRival {
        rival("hrtimer.source") { deadlines in
            try withEngine { engine in
                var sources: [TimerSource] = []
                try armPending(timers) { _ in
                    let source = TimerSource(engine: engine)
                    source.setEventHandler {}
                    source.schedule(deadline: MonotonicInstant(nanoseconds: deadlines.any()))
                    source.activate()
                    sources.append(source)
                }
                let owned = Owned(sources)
                return measure(engine) { index in
                    let deadline = MonotonicInstant(nanoseconds: deadlines.later(index))
                    owned.with(deadlines.timer(below: timers)) { $0.schedule(deadline: deadline) }
                }
            }
        }
    }

    /// Reschedules by token: the engine finds the timer through the token alone.
    @Sendable
    static func reArmEngine(_ timers: Int) -> OperationRival {
        rival("hrtimer.engine") { deadlines in
            try withEngine { engine in
                var tokens: [TimerToken] = []
                try armPending(timers) { _ in tokens.append(scheduled(deadlines.any(), on: engine)) }
                return measure(engine) { index in
                    let deadline = MonotonicInstant(nanoseconds: deadlines.later(index))
                    engine.reschedule(tokens[deadlines.timer(below: timers)], at: deadline)
                }
            }
        }
    }

    @Sendable
    static func reArmLoopTimer(_ timers: Int) -> OperationRival {
        rival("hrtimer.loop-timer") { deadlines in
            let loop = TimerLoop()
            var all: [LoopTimer] = []
            try armPending(timers) { _ in
                all.append(loopTimer(deadlines.any(), on: loop))
            }
            defer { for timer in all { timer.invalidate() } }
            let owned = Owned(all)
            return OperationLoop().measure { index in
                let deadline = MonotonicInstant(nanoseconds: deadlines.later(index))
                owned.with(deadlines.timer(below: timers)) { $0.fireInstant = deadline }
            }
        }
    }

    /// Creates and cancels one-shot closures, which need no source.
    @Sendable
    static func churnEngine(_ timers: Int) -> OperationRival {
        rival("hrtimer.engine") { deadlines in
            try withEngine { engine in
                try armPending(timers) { _ in _ = scheduled(deadlines.any(), on: engine) }
                return measure(engine) { _ in engine.cancel(scheduled(deadlines.any(), on: engine)) }
            }
        }
    }

    @Sendable
    static func churnSource(_ timers: Int) -> OperationRival {
        rival("hrtimer.source") { deadlines in
            try withEngine { engine in
                try armPending(timers) { _ in _ = scheduled(deadlines.any(), on: engine) }
                return measure(engine) { _ in
                    let source = TimerSource(engine: engine)
                    source.setEventHandler(handler: makeHandler())
                    source.schedule(deadline: MonotonicInstant(nanoseconds: deadlines.any()))
                    source.activate()
                    source.cancel()
                }
            }
        }
    }

    @Sendable
    static func churnLoopTimer(_ timers: Int) -> OperationRival {
        rival("hrtimer.loop-timer") { deadlines in
            let loop = TimerLoop()
            var all: [LoopTimer] = []
            try armPending(timers) { _ in all.append(loopTimer(deadlines.any(), on: loop)) }
            defer { for timer in all { timer.invalidate() } }
            return OperationLoop().measure { _ in loopTimer(deadlines.any(), on: loop).invalidate() }
        }
    }

    static func scheduled(
        _ deadline_ns: Int64,
        on engine: TimerEngine,
        tolerance: Duration = .zero
    ) -> TimerToken {
        let payload = Payload()
        return engine.schedule(at: MonotonicInstant(nanoseconds: deadline_ns), tolerance: tolerance) { _ in
            withExtendedLifetime(payload) {}
        }
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
            isPinned: false,
            isExtra: false,
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
        rival(id) { deadlines in
            try withEngine(precision) { engine in
                var tokens: [TimerToken] = []
                try armPending(timers) { _ in
                    tokens.append(scheduled(deadlines.any(), on: engine, tolerance: tolerance))
                }
                return measure(engine) { _ in
                    let timer = deadlines.timer(below: timers)
                    engine.cancel(tokens[timer])
                    tokens[timer] = scheduled(deadlines.any(), on: engine, tolerance: tolerance)
                }
            }
        }
    }

    private static func loopTimer(_ deadline_ns: Int64, on loop: TimerLoop) -> LoopTimer {
        let payload = Payload()
        let instant = MonotonicInstant(nanoseconds: deadline_ns)
        let timer = LoopTimer(fireAt: instant, interval: .zero, repeats: false) { _ in
            withExtendedLifetime(payload) {}
        }
        loop.add(timer, forMode: .default)
        return timer
    }

    /// Counts also how often the engine's thread was woken, which costs the caller a system call.
    private static func measure(_ engine: TimerEngine, _ operation: (_ index: Int) -> Void) -> OperationSample {
        let before = engine.statistics.wakesSent
        var calls = 0
        var sample = OperationLoop().measure { index in
            calls += 1
            operation(index)
        }
        sample.wakesPerOp = Double(engine.statistics.wakesSent - before) / Double(calls)
        return sample
    }

    static func withEngine<Result>(
        _ precision: TimerPrecision = .normal,
        _ body: (TimerEngine) throws -> Result
    ) throws -> Result {
        let engine = try TimerEngine(.init(name: "bench-ops", precision: precision))
        defer { engine.shutdown() }
        return try body(engine)
    }
}
