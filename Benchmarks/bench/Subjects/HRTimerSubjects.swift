import CBench
import HRTimer

extension Subject {
    /// This library's faces, each on an engine or loop of its own.
    static let hrtimer: [Subject] = [
        Subject("hrtimer.source.normal", "TimerSource, repeating, on the engine's thread", measure: measureSource),
        Subject("hrtimer.clock-sleep.normal", "MonotonicClock.sleep(until:) for each deadline", measure: measureSleep),
    ]

    @Sendable
    private static func measureSource(_ recorder: BlockRecorder) throws {
        try withEngine(recorder) { engine in
            let source = TimerSource(engine: engine)
            source.setEventHandler { [weak source] in
                let woke_ns = cbench_now_ns()
                recorder.fire(woke_ns, for: Int64(source?.data ?? 1))
            }
            source.schedule(
                deadline: MonotonicInstant(nanoseconds: recorder.begin()),
                repeating: .nanoseconds(recorder.interval_ns)
            )
            source.activate()
            defer { source.cancelAndWait() }
            try recorder.waitUntilFull()
        }
    }

    @Sendable
    private static func measureSleep(_ recorder: BlockRecorder) throws {
        try withEngine(recorder) { engine in
            let sleeper = Task.detached {
                let clock = MonotonicClock(engine: engine)
                _ = recorder.begin()
                var woke_ns: Int64
                repeat {
                    try await clock.sleep(until: MonotonicInstant(nanoseconds: recorder.nextDeadline_ns))
                    woke_ns = cbench_now_ns()
                } while recorder.fire(woke_ns)
            }
            defer { sleeper.cancel() }
            try recorder.waitUntilFull()
        }
    }

    /// An engine for one block; what still lives on it afterwards is noted.
    private static func withEngine(_ recorder: BlockRecorder, _ body: (TimerEngine) throws -> Void) throws {
        let engine = try TimerEngine(.init(name: "bench"))
        defer {
            recorder.timersLeftBehind += engine.liveTimers
            engine.shutdown()
        }
        try body(engine)
    }
}
