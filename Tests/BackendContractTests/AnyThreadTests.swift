// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Glibc
import HRTimer
import HRTimerCore
import Seeded
import TestSupport
import TestTraits
import Testing

/// What may be called on any thread, called by four threads at once and at random while timers fire. Thread Sanitizer finds a lock
/// that is not taken; without it, a hang or a crash shows.
@Suite(.hangLimit) struct AnyThreadTests {
    private typealias Operation = @Sendable (_ number: Int) -> Void

    /// Runs the operations in random order, on four threads at once.
    private func storm(_ operations: [Operation]) throws {
        var seeds = SeededRandom.fromEnvironment()
        let threads = try (0..<4).map { _ in
            let seed = seeds.next()
            return try startThread {
                var random = SeededRandom(seed: seed)
                for _ in 0..<1500 {
                    let operation = operations.randomElement(using: &random)!
                    operation(Int.random(in: 0..<1000, using: &random))
                }
            }
        }
        for thread in threads { pthread_join(thread, nil) }
    }

    @Test("An engine's timers and properties may be used by any thread", arguments: TimerPrecision.allCases)
    func engine(precision: TimerPrecision) throws {
        let engine = try TimerEngine(.init(precision: precision))
        let tokens = Recorder<TimerToken>()
        @Sendable func token(_ number: Int) -> TimerToken? {
            let latest = Array(tokens.all.suffix(20))
            return latest.isEmpty ? nil : latest[number % latest.count]
        }
        let recorder = FlightRecorder()
        let operations: [Operation] = [
            { number in tokens.append(engine.schedule(after: .microseconds(number)) { _ in }) },
            { number in
                let interval = Duration.microseconds(500 + number)
                tokens.append(engine.schedule(after: .microseconds(number), every: interval) { _ in })
            },
            { number in if let token = token(number) { engine.cancel(token) } },
            { number in if let token = token(number) { engine.cancelAndWait(token) } },
            { number in if let token = token(number) { engine.reschedule(token, after: .microseconds(number)) } },
            { number in
                guard let token = token(number) else { return }
                engine.reschedule(token, at: engine.now, every: .milliseconds(1 + number))
            },
            { number in if let token = token(number) { _ = engine.deadline(of: token) } },
            { _ in _ = engine.liveTimers },
            { _ in _ = engine.statistics },
            { _ in _ = (engine.lateness, engine.wakeLatency, engine.settingResults, engine.description) },
            { number in engine.onLate(beyond: .microseconds(number)) { _ in }.cancel() },
            { number in engine.flightRecorder = number % 2 == 0 ? recorder : nil },
            { number in if number < 20 { _ = recorder.json() } },
        ]
        try storm(operations)
        let isCalled = Latch()
        engine.schedule(at: .distantPast) { _ in isCalled.open() }
        isCalled.wait()
        engine.shutdown()
    }

    @Test("A source may be used by any thread", arguments: [false, true])
    func source(hasQueue: Bool) throws {
        let engine = try TimerEngine(.init(precision: .precise))
        let source = TimerSource(engine: engine, queue: hasQueue ? DispatchQueue(label: "source") : nil)
        let other = DispatchQueue(label: "other")
        source.activate()
        let operations: [Operation] = [
            { number in source.schedule(deadline: .now, repeating: .microseconds(100 + number)) },
            { number in source.schedule(deadline: .now + .microseconds(number), leeway: .microseconds(number)) },
            { number in source.schedule(wallDeadline: .now() + 0.001, repeating: 0.001 * Double(1 + number)) },
            { _ in source.setEventHandler {} },
            { number in if number % 4 == 0 { source.setEventHandler(handler: nil) } },
            { _ in source.setRegistrationHandler {} },
            { _ in source.setCancelHandler {} },
            { number in if hasQueue { source.setTarget(queue: number % 2 == 0 ? other : nil) } },
            { number in source.policy = MissedTickPolicy.allCases[number % MissedTickPolicy.allCases.count] },
            { number in source.precision = number % 2 == 0 ? .normal : nil },
            { number in source.jitter = number % 2 == 0 ? .upTo(.microseconds(50)) : nil },
            { _ in
                source.suspend()
                source.resume()
            },
            { _ in _ = (source.data, source.isStrict, source.isCancelled, source.nextDeadline) },
            { number in source.onLate(beyond: .microseconds(number)) { _ in }.cancel() },
        ]
        try storm(operations)
        let isCalled = Latch()
        source.setEventHandler { isCalled.open() }
        source.schedule(deadline: .now)
        isCalled.wait()
        source.cancelAndWait()
        _ = engine.shutdown()
    }

    @Test("A loop, its timers, triggers, observers and sources may be used by any thread", arguments: [false, true])
    func loop(isPrecise: Bool) throws {
        let worker = try TimerLoop.thread()
        let loop = worker.loop
        if isPrecise { loop.precision = .precise }
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        let timers = (0..<8).map { number in
            LoopTimer(timeInterval: .microseconds(300 + 50 * number), repeats: true) { _ in }
        }
        let trigger = LoopTrigger { _ in }
        let observer = LoopObserver { _, _ in }
        let source = try LoopSource(descriptor: ends[0]) { _, _ in }
        let recorder = FlightRecorder()
        for timer in timers { loop.add(timer, forMode: .default) }
        try storm(ofTimers(timers, loop) + ofItems(trigger, observer, source, loop) + ofLoop(loop, recorder))
        let isCalled = Latch()
        loop.perform { isCalled.open() }
        isCalled.wait()
        for timer in timers { timer.invalidateAndWait() }
        while loop.liveTimers > 0 { usleep(1000) }
        worker.shutdown()
        for descriptor in ends { close(descriptor) }
    }

    private func ofTimers(_ timers: [LoopTimer], _ loop: TimerLoop) -> [Operation] {
        [
            { number in loop.add(timers[number % 8], forMode: number % 2 == 0 ? .default : .tracking) },
            { number in loop.remove(timers[number % 8], forMode: .default) },
            { number in _ = loop.contains(timers[number % 8], forMode: .default) },
            { number in timers[number % 8].fireInstant = .now + .microseconds(number) },
            { number in timers[number % 8].tolerance = Double(number) * 1e-6 },
            { number in timers[number % 8].keepsLoopRunning = number % 2 == 0 },
            { number in timers[number % 8].precision = number % 2 == 0 ? .precise : nil },
            { number in
                let timer = timers[number % 8]
                _ = (timer.isValid, timer.fireInstant, timer.missedTicks, timer.userInfo == nil, timer.tolerance)
                _ = (timer.interval, timer.policy, timer.jitter, timer.fireDate, timer.description)
            },
            { number in timers[number % 8].fire() },
        ]
    }

    private func ofItems(
        _ trigger: LoopTrigger,
        _ observer: LoopObserver,
        _ source: LoopSource,
        _ loop: TimerLoop
    ) -> [Operation] {
        [
            { _ in trigger.signal() },
            { number in
                number % 2 == 0 ? loop.add(trigger, forMode: .default) : loop.remove(trigger, forMode: .default)
            },
            { number in
                number % 2 == 0 ? loop.add(observer, forMode: .default) : loop.remove(observer, forMode: .default)
            },
            { number in
                if number % 2 == 0 { return loop.remove(source, forMode: .default) }
                try? loop.add(source, forMode: .default)
            },
            { _ in source.signal() },
            { number in source.keepsLoopRunning = number % 2 == 0 },
            { _ in _ = (trigger.isValid, observer.isValid, source.isValid, source.keepsLoopRunning) },
        ]
    }

    private func ofLoop(_ loop: TimerLoop, _ recorder: FlightRecorder) -> [Operation] {
        [
            { _ in loop.perform {} },
            { number in _ = loop.perform(afterDelay: .microseconds(number)) {} },
            { _ in loop.wakeUp() },
            { number in loop.addCommonMode(TimerLoop.Mode("mode \(number % 5)")) },
            { number in loop.spinBudget = number % 2 == 0 ? 0.5 : nil },
            { _ in _ = (loop.isKeptAlive, loop.precision, loop.spinBudget, loop.currentMode, loop.isWaiting) },
            { _ in _ = (loop.liveTimers, loop.statistics, loop.lateness, loop.description) },
            { number in loop.onLate(beyond: .microseconds(number)) { _ in }.cancel() },
            { number in loop.flightRecorder = number % 2 == 0 ? recorder : nil },
        ]
    }

    @Test("Ticks, idle timeouts, debouncers, throttles and registries may be used by any thread")
    func others() throws {
        let engine = try TimerEngine(.init(precision: .precise))
        let ticks = MonotonicClock(engine: engine).ticks(every: .milliseconds(1))
        let consumers = (0..<2).map { _ in Task { for await _ in ticks {} } }
        let idle = IdleTimeout(.milliseconds(1), engine: engine) {}
        let debouncer = Debouncer<Int>(for: .microseconds(500), engine: engine) { _ in }
        let throttle = Throttle<Int>(for: .microseconds(500), engine: engine) { _ in }
        let registry = TimerRegistry(engine: engine)
        let operations: [Operation] = [
            { number in ticks.interval = .microseconds(200 + number) },
            { number in ticks.schedule(every: .microseconds(200 + number)) },
            { _ in _ = (ticks.interval, ticks.statistics, ticks.isCancelled) },
            { number in ticks.onLate(beyond: .microseconds(number)) { _ in }.cancel() },
            { _ in idle.touch() },
            { _ in idle.suspend() },
            { _ in idle.resume() },
            { number in idle.timeout = .microseconds(500 + number) },
            { _ in _ = (idle.timeout, idle.nextDeadline) },
            { number in debouncer.send(number) },
            { number in throttle.send(number) },
            { _ in debouncer.flush() },
            { _ in throttle.flush() },
            { _ in _ = (debouncer.isWaiting, throttle.isWaiting) },
            { number in _ = try? registry.execute(name: "\(number % 5)", interval: .milliseconds(1)) {} },
            { number in for key in registry.keys(named: "\(number % 5)") { registry.cancel(key) } },
        ]
        try storm(operations)
        ticks.cancel()
        for consumer in consumers { consumer.cancel() }
        idle.cancel()
        debouncer.cancel()
        throttle.cancel()
        registry.cancelAll()
        _ = engine.shutdown()
    }

    @Test("Display links and their source may be used by any thread")
    func links() throws {
        let workers = try (0..<2).map { _ in try TimerLoop.thread() }
        let source = VsyncSource(frameRates: 100...400)
        let links = (0..<4).map { _ in DisplayLink(source: source) { _ in } }
        for (number, link) in links.enumerated() { link.add(to: workers[number % 2].loop, forMode: .default) }
        let operations: [Operation] = [
            { number in links[number % 4].isPaused = number % 3 == 0 },
            { number in links[number % 4].preferredFramesPerSecond = Double(number) },
            { number in
                let range = FrameRateRange(minimum: 10, maximum: 10 + Double(number))
                links[number % 4].preferredFrameRateRange = range
            },
            { number in links[number % 4].precision = number % 2 == 0 ? .precise : nil },
            { number in links[number % 4].keepsLoopRunning = number % 2 == 0 },
            { number in links[number % 4].wakeLead = .fixed(.microseconds(number)) },
            { number in links[number % 4].add(to: workers[number % 4 % 2].loop, forMode: .tracking) },
            { number in links[number % 4].remove(from: workers[number % 4 % 2].loop, forMode: .tracking) },
            { number in links[number % 4].onLate(beyond: .microseconds(number)) { _ in }.cancel() },
            { number in
                let link = links[number % 4]
                _ = (link.timestamp, link.targetTimestamp, link.duration, link.delta, link.droppedFrames, link.isValid)
                _ = (link.actualFramesPerSecond, link.maximumFramesPerSecond, link.statistics, link.lateness)
                _ = (link.isPaused, link.precision, link.wakeLead, link.preferredFrameRateRange, link.source == nil)
            },
            { _ in _ = (source.state, source.framesPerSecond, source.period, source.frameRate) },
        ]
        try storm(operations)
        for link in links { link.invalidate() }
        for worker in workers { worker.shutdown() }
    }
}
