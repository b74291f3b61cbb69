import CBench
import Glibc
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
            recorder.timersLeftBehind += timersLeft(on: engine)
            engine.shutdown()
        }
        try body(engine)
    }

    /// A cancelled timer goes when the engine's thread comes to it, which is soon; one that is there after a second is
    /// there for good.
    private static func timersLeft(on engine: TimerEngine) -> Int {
        let limit_ns = cbench_now_ns() + 1_000_000_000
        while engine.liveTimers > 0, cbench_now_ns() < limit_ns { usleep(1000) }
        return engine.liveTimers
    }
}
