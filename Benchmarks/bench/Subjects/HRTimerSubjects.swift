// SPDX-License-Identifier: Apache-2.0
import CBench
import Dispatch
import Glibc
import HRTimer

extension Subject {
    /// This library's interfaces, each on its own engine or loop.
    static let hrtimer: [Subject] = [
        Subject(
            "hrtimer.engine.normal",
            "TimerEngine.schedule(at:every:), on the engine's thread; by --only",
            isDefault: false
        ) {
            try measureEngine($0, .normal)
        },
        Subject(
            "hrtimer.engine.normal.slice-inherited",
            "the same with no time slice of its own: timeSlice nil, as on a kernel before Linux 6.12",
            isDefault: false
        ) {
            try measureEngine($0, .normal) { $0.realTime.timeSlice = nil }
        },
        Subject(
            "hrtimer.engine.precise",
            "the same; sleeps until a margin before the deadline and spins",
            isDefault: false
        ) {
            try measureEngine($0, .precise)
        },
        Subject("hrtimer.source.normal", "TimerSource, repeating, on the engine's thread") {
            try measureSource($0, .normal)
        },
        Subject("hrtimer.source.precise", "the same; sleeps until a margin before the deadline and spins the rest") {
            try measureSource($0, .precise)
        },
        Subject(
            "hrtimer.source.precise.budget-0.5",
            "the same with a spinBudget of 0.5 and a spinCoverage of 0.999: who wants the last percentile, and pays for it",
            isDefault: false
        ) {
            try measureSource($0, .precise) {
                $0.spinBudget = 0.5
                $0.spinCoverage = 0.999
            }
        },
        Subject("hrtimer.source.dispatch-queue.normal", "TimerSource, repeating, on a serial DispatchQueue") {
            try measureSource($0, .normal, DispatchQueue(label: "bench"))
        },
        Subject(
            "hrtimer.source.dispatch-queue.precise",
            "the same; submitted earlier by the hop as learned, the block spins the rest"
        ) {
            try measureSource($0, .precise, DispatchQueue(label: "bench"))
        },
        Subject("hrtimer.loop-timer.normal", "LoopTimer on a TimerLoop, repeating") { measureLoopTimer($0, .normal) },
        Subject("hrtimer.loop-timer.precise", "the same; the loop sleeps until a margin before the deadline and spins")
        {
            measureLoopTimer($0, .precise)
        },
        Subject(
            "hrtimer.display-link",
            "DisplayLink on the virtual grid, the interval's rate, on a TimerLoop as it comes"
        ) {
            measureDisplayLink($0, TimerLoop())
        },
        Subject("hrtimer.display-link.precise", "the same on a loop that spins up to each refresh") {
            measureDisplayLink($0, TimerLoop(precision: .precise))
        },
        displayLink("59.94hz", FrameRate(60_000, 1001)),
        displayLink("60hz", FrameRate(60)),
        displayLink("120hz", FrameRate(120)),
        displayLink("144hz", FrameRate(144)),
        displayLink("1000hz", FrameRate(1000)),
        Subject("hrtimer.clock-sleep.normal", "MonotonicClock.sleep(until:) for each deadline") {
            try measureSleep($0, .normal)
        },
        Subject("hrtimer.clock-sleep.precise", "the same on a precise engine; the task's thread hop comes after it") {
            try measureSleep($0, .precise)
        },
        Subject("hrtimer.ticks", "MonotonicClock.ticks(every:), merged as a source's are") { try measureTicks($0) },
        Subject("hrtimer.executor-sleep.normal", "MonotonicClock.sleep(until:) of a task on a TimerExecutor") {
            try measureSleep($0, .normal, onExecutor: true)
        },
        Subject("hrtimer.executor-sleep.precise", "the same on a precise engine: the task goes on right after the spin")
        {
            try measureSleep($0, .precise, onExecutor: true)
        },
    ]

    private static func measureEngine(
        _ recorder: BlockRecorder,
        _ precision: TimerPrecision,
        _ settings: (inout TimerEngine.Configuration) -> Void = { _ in }
    ) throws {
        try withEngine(recorder, precision, settings) { engine in
            let token = engine.schedule(
                at: MonotonicInstant(nanoseconds: recorder.begin()),
                every: .nanoseconds(recorder.interval_ns),
                handler: recorder.handlerOfEngine()
            )
            defer { engine.cancelAndWait(token) }
            try recorder.waitUntilFull()
        }
    }

    private static func measureSource(
        _ recorder: BlockRecorder,
        _ precision: TimerPrecision,
        _ queue: DispatchQueue? = nil,
        _ settings: (inout TimerEngine.Configuration) -> Void = { _ in }
    ) throws {
        try withEngine(recorder, precision, settings) { engine in
            let source = TimerSource(flags: [], engine: engine, queue: queue)
            source.setEventHandler(handler: recorder.handler(of: source))
            source.schedule(
                deadline: MonotonicInstant(nanoseconds: recorder.begin()),
                repeating: .nanoseconds(recorder.interval_ns)
            )
            source.activate()
            defer { source.cancelAndWait() }
            try recorder.waitUntilFull()
        }
    }

    /// On the pool's threads, or on the engine's own.
    private static func measureSleep(
        _ recorder: BlockRecorder,
        _ precision: TimerPrecision,
        onExecutor: Bool = false
    ) throws {
        try withEngine(recorder, precision) { engine in
            let clock = MonotonicClock(engine: engine)
            try recorder.fill(byTaskOn: onExecutor ? TimerExecutor(engine: engine) : nil) {
                try await clock.sleep(until: MonotonicInstant(nanoseconds: $0))
            }
        }
    }

    private static func measureTicks(_ recorder: BlockRecorder) throws {
        try withEngine(recorder, .normal) { engine in
            let consumer = Task.detached {
                let first = MonotonicInstant(nanoseconds: recorder.begin())
                let interval = Duration.nanoseconds(recorder.interval_ns)
                for await tick in MonotonicClock(engine: engine).ticks(every: interval, first: first) {
                    let woke_ns = cbench_now_ns()
                    if !recorder.fire(woke_ns, for: Int64(tick.missedTicks + 1)) { break }
                }
            }
            defer { consumer.cancel() }
            try recorder.waitUntilFull()
        }
    }

    private static func measureLoopTimer(_ recorder: BlockRecorder, _ precision: TimerPrecision) {
        let loop = TimerLoop(precision: precision)
        loop.flightRecorder = WhyRun.flightRecorder
        if let budget = recorder.spinBudget { loop.spinBudget = budget }
        let first = MonotonicInstant(nanoseconds: recorder.begin())
        let interval = Duration.nanoseconds(recorder.interval_ns)
        let timer = LoopTimer(fireAt: first, interval: interval, repeats: true, block: recorder.handlerOfLoopTimer())
        loop.add(timer, forMode: .default)
        loop.run()
        recorder.timersLeftBehind += loop.liveTimers
    }

    /// Returns a subject with a display's rate instead of the run's interval.
    private static func displayLink(_ name: String, _ rate: FrameRate) -> Subject {
        let interval_ns = Int64((1e9 / rate.framesPerSecond).rounded())
        let hertz = rate.denominator == 1 ? "\(rate.numerator)" : "\(rate.numerator)/\(rate.denominator)"
        let explanation = "DisplayLink on the virtual grid at \(hertz) Hz; by --only"
        return Subject("hrtimer.display-link.\(name)", explanation, interval_ns: interval_ns) { recorder in
            measureDisplayLink(recorder, TimerLoop(), rate)
        }
    }

    /// The link has its own grid, which begins when it is added.
    private static func measureDisplayLink(_ recorder: BlockRecorder, _ loop: TimerLoop, _ rate: FrameRate? = nil) {
        let link = DisplayLink(frameRate: rate ?? FrameRate(1e9 / Double(recorder.interval_ns))) { link in
            let woke_ns = cbench_now_ns()
            if !recorder.fire(woke_ns, at: link.timestamp.nanoseconds) { link.invalidate() }
        }
        _ = recorder.begin()
        link.add(to: loop, forMode: .default)
        loop.run()
        recorder.timersLeftBehind += loop.liveTimers
    }

    /// Runs `body` with an engine for one block, and records how many timers are still live on it afterwards.
    private static func withEngine(
        _ recorder: BlockRecorder,
        _ precision: TimerPrecision,
        _ settings: (inout TimerEngine.Configuration) -> Void = { _ in },
        _ body: (TimerEngine) throws -> Void
    ) throws {
        var configuration = TimerEngine.Configuration(name: "bench", precision: precision)
        if let budget = recorder.spinBudget { configuration.spinBudget = budget }
        settings(&configuration)
        let engine = try TimerEngine(configuration)
        engine.flightRecorder = WhyRun.flightRecorder
        defer {
            recorder.timersLeftBehind += timersLeft(on: engine)
            engine.shutdown()
        }
        try body(engine)
    }

    /// Returns the timers that are still live. The engine's thread soon removes a cancelled timer; one that is still there
    /// after a second stays for good.
    private static func timersLeft(on engine: TimerEngine) -> Int {
        let limit_ns = cbench_now_ns() + 1_000_000_000
        while engine.liveTimers > 0, cbench_now_ns() < limit_ns { usleep(1000) }
        return engine.liveTimers
    }
}
