// SPDX-License-Identifier: Apache-2.0
import CHRTimer
import Dispatch
import FoundationEssentials
import Glibc
import HRTimer
import HRTimerCore
import TestSupport
import TestTraits
import Testing

/// Warnings of mistakes that would otherwise be silent. Only debug builds give them. The tests use the real clock, since
/// nothing waits on a virtual clock for a loop that does not run.
@Suite(.serialized, .enabled(if: isDebugBuild)) struct UsageWarningTests {
    /// Returns the warnings of that kind that came while `body` ran: other tests, beside these, cause warnings of their own.
    /// With a `thread`, those that this one causes: tests beside this one cause the same.
    private func mistakes(
        _ kind: UsageWarning.Kind,
        on thread: pthread_t? = nil,
        _ body: () async throws -> Void
    ) async rethrows -> [UsageWarning] {
        let told = Recorder<UsageWarning>()
        UsageWarning.handler = { if $0.kind == kind, thread == nil || thread == pthread_self() { told.append($0) } }
        defer { UsageWarning.handler = nil }
        try await body()
        return told.all
    }

    private func onOwnThread(_ body: @escaping @Sendable () -> Void) async {
        await onThreadOfItsOwn(body)
    }

    @Test("A timer on a loop that nobody runs causes one warning for the loop, a second after its deadline")
    func loopNotRun() async {
        let told = Recorder<UsageWarning>()
        UsageWarning.handler = { if $0.description.contains("with 3 timers") { told.append($0) } }
        defer { UsageWarning.handler = nil }
        let loop = TimerLoop()
        let start = MonotonicInstant.now
        for _ in 1...3 { loop.add(LoopTimer(fireAt: .now) { _ in }, forMode: .default) }
        while told.count == 0, start.duration(to: .now) < .seconds(20) { try? await Task.sleep(for: .milliseconds(20)) }
        #expect(start.duration(to: .now) >= .seconds(1))
        #expect(told.all.map(\.kind) == [.loopNotRun])
        loop.add(LoopTimer(fireAt: .now) { _ in }, forMode: .default)
        #expect(told.count == 1)
    }

    @Test("A timer that is moved while nobody runs its loop causes the warning when it is due")
    func movedAndNotRun() async {
        let told = Recorder<UsageWarning>()
        UsageWarning.handler = { if $0.description.contains("with 5 timers") { told.append($0) } }
        defer { UsageWarning.handler = nil }
        let loop = TimerLoop()
        let timer = LoopTimer(fireAt: .now) { _ in }
        for _ in 1...4 { loop.add(LoopTimer(fireAt: .distantFuture) { _ in }, forMode: .default) }
        loop.add(timer, forMode: .default)
        let due = MonotonicInstant.now.advanced(by: .milliseconds(1500))
        timer.fireInstant = due
        while told.count == 0, due.duration(to: .now) < .seconds(20) { try? await Task.sleep(for: .milliseconds(20)) }
        #expect(due.duration(to: .now) >= .seconds(1))
        #expect(told.all.map(\.kind) == [.loopNotRun])
    }

    @Test("Without a handler each kind of warning is written to standard error once")
    func standardError() async throws {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            await onThreadOfItsOwn { for _ in 0..<3 { TimerLoop().run(mode: .common, for: 0) } }
        }
        let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
        #expect(text.split(separator: "\n").filter { $0.hasPrefix("HRTimer: ") }.count == 1, "\(text)")
    }

    @Test("Display links on a loop that nobody runs cause the same warning")
    func linksNotRun() async {
        let told = Recorder<UsageWarning>()
        UsageWarning.handler = { if $0.description.contains("with 4 timers") { told.append($0) } }
        defer { UsageWarning.handler = nil }
        let loop = TimerLoop()
        let start = MonotonicInstant.now
        let links = (1...4).map { _ in DisplayLink(framesPerSecond: 60) { _ in } }
        for link in links { link.add(to: loop, forMode: .default) }
        while told.count == 0, start.duration(to: .now) < .seconds(20) { try? await Task.sleep(for: .milliseconds(20)) }
        #expect(told.all.map(\.kind) == [.loopNotRun])
        for link in links { link.invalidate() }
    }

    @Test(
        "The thread that looks for loops that nobody runs ends when these have ended, or have no timers left",
        .hangLimit
    )
    func watchEnds() async {
        await #expect(processExitsWith: .success) {
            let kept = TimerLoop()
            let inAnHour = LoopTimer(timeInterval: 3600, repeats: false) { _ in }
            kept.add(inAnHour, forMode: .default)
            // A loop that ends with its timer.
            await onThreadOfItsOwn {
                LoopTimer.scheduled(timeInterval: 3600, repeats: false) { _ in }
                while !Kernel.threadNames.contains("hrtimer-watch") { pause(.milliseconds(1)) }
            }
            pause(.milliseconds(1500))
            #expect(Kernel.threadNames.contains("hrtimer-watch"))
            for _ in 0..<2 {
                inAnHour.invalidate()
                while Kernel.threadNames.contains("hrtimer-watch") { pause(.milliseconds(10)) }
                // It comes back for the next one.
                let next = LoopTimer(timeInterval: 3600, repeats: false) { _ in }
                kept.add(next, forMode: .default)
                while !Kernel.threadNames.contains("hrtimer-watch") { pause(.milliseconds(1)) }
                next.invalidate()
            }
        }
    }

    @Test("A loop that runs before that causes no warning, nor does one whose timers are gone or never due")
    func loopRuns() async {
        let told = await mistakes(.loopNotRun) {
            await onOwnThread {
                let run = TimerLoop()
                run.add(LoopTimer(timeInterval: 0.01, repeats: true) { _ in }, forMode: .default)
                run.run(for: 0.02)
                run.add(LoopTimer(fireAt: .distantFuture) { _ in }, forMode: .default)
                let timer = LoopTimer(timeInterval: 0.01, repeats: false) { _ in }
                let other = TimerLoop()
                other.add(timer, forMode: .default)
                timer.invalidate()
                withExtendedLifetime((run, other)) {}
            }
        }
        #expect(told.filter { $0.description.contains("with 2 timers") }.isEmpty)
    }

    @Test("A thread that ends with timers in a loop that never ran causes a warning")
    func threadEnded() async {
        let told = Recorder<UsageWarning>()
        UsageWarning.handler = { if $0.description.contains("with 5 timers") { told.append($0) } }
        defer { UsageWarning.handler = nil }
        let start = MonotonicInstant.now
        await onOwnThread {
            for _ in 1...5 { LoopTimer.scheduled(timeInterval: 100, repeats: true) { _ in } }
        }
        // The thread's destructors run after its body.
        while told.count == 0, start.duration(to: .now) < .seconds(20) { try? await Task.sleep(for: .milliseconds(1)) }
        #expect(told.all.map(\.kind) == [.threadEnded])
    }

    @Test("A loop's thread to which nobody keeps a reference causes a warning, if its loop has timers")
    func threadNotKept() async throws {
        let told = try await mistakes(.threadNotKept) {
            let dropped = try TimerLoop.thread(name: "dropped")
            dropped.loop.add(LoopTimer(timeInterval: 100, repeats: true) { _ in }, forMode: .default)
            withExtendedLifetime(dropped) {}
            _ = try TimerLoop.thread(name: "idle")
            let kept = try TimerLoop.thread(name: "kept")
            kept.loop.add(LoopTimer(timeInterval: 100, repeats: true) { _ in }, forMode: .default)
            await kept.shutdown()
        }
        #expect(told.filter { $0.description.contains("has 1 timer:") }.count == 1)
    }

    @Test("A run in .common, and a run on another thread, each cause a warning")
    func runs() async {
        let common = await mistakes(.ranInCommonModes) {
            await onOwnThread { TimerLoop().run(mode: .common, for: 1) }
        }
        #expect(common.count >= 1)
        let elsewhere = await mistakes(.ranOnOtherThread) {
            guard let thread = try? TimerLoop.thread(name: "other") else { return }
            await onOwnThread { thread.loop.run(for: 1) }
            await thread.shutdown()
        }
        #expect(elsewhere.count >= 1)
    }

    @Test(
        "An active source causes a warning when it is dropped; a cancelled, suspended, fired or inactive one does not"
    )
    func droppedSources() async throws {
        let engine = try TimerEngine(name: "dropping")
        func make(_ change: (TimerSource) -> Void) {
            let source = TimerSource(engine: engine)
            source.setEventHandler {}
            source.schedule(deadline: .now.advanced(by: .seconds(1000)), repeating: .seconds(1))
            change(source)
        }
        let quiet = await mistakes(.activeSourceDropped) {
            make { _ in }
            make {
                $0.activate()
                $0.cancel()
            }
            make {
                $0.activate()
                $0.suspend()
            }
            make {
                $0.schedule(deadline: .distantFuture)
                $0.activate()
            }
            let fired = Recorder<Int>()
            let once = TimerSource(engine: engine)
            once.setEventHandler { fired.append(1) }
            once.schedule(deadline: .now)
            once.activate()
            while fired.count == 0 { pause(.milliseconds(1)) }
            pause(.milliseconds(20))
        }
        #expect(quiet.count == 0)
        let told = await mistakes(.activeSourceDropped) { make { $0.activate() } }
        #expect(told.count == 1)
        await engine.shutdown()
    }

    @Test(
        "A main-actor handler that another thread's loop calls causes a warning; a handler of no actor does not"
    )
    func mainActorElsewhere() async throws {
        let thread = try TimerLoop.thread(name: "elsewhere")
        let threads = Recorder<pthread_t>()
        thread.loop.perform { threads.append(pthread_self()) }
        while threads.count < 1 { try await Task.sleep(for: .milliseconds(1)) }
        let calls = Recorder<Int>()
        let told = await mistakes(.mainActorHandlerElsewhere, on: threads.all[0]) {
            thread.loop.add(LoopTimer(timeInterval: 0.001, repeats: false) { _ in calls.append(1) }, forMode: .default)
            while calls.count < 1 { try? await Task.sleep(for: .milliseconds(1)) }
        }
        #expect(told.count == 0)
        let hopped = await mistakes(.mainActorHandlerElsewhere, on: threads.all[0]) {
            thread.loop.add(
                LoopTimer(timeInterval: 0.001, repeats: false) { @MainActor _ in calls.append(2) },
                forMode: .default
            )
            while calls.count < 2 { try? await Task.sleep(for: .milliseconds(1)) }
        }
        #expect(hopped.count == 1)
        await thread.shutdown()
    }

    @Test("Adding a timer to a second loop, or adding an invalid timer, causes a warning")
    func adding() async {
        let timer = LoopTimer(fireAt: .distantFuture) { _ in }
        let (first, second) = (TimerLoop(), TimerLoop())
        let twice = await mistakes(.timerInTwoLoops) {
            first.add(timer, forMode: .default)
            first.add(timer, forMode: .common)
            second.add(timer, forMode: .default)
        }
        #expect(twice.count >= 1)
        let invalid = await mistakes(.invalidTimerAdded) {
            timer.invalidate()
            second.add(timer, forMode: .default)
        }
        #expect(invalid.count >= 1)
    }

    @Test("A slow handler on a shared engine causes a warning, and one on an engine of its own does not")
    func slowHandler() async throws {
        @Sendable func take() {
            blockThread(until: MonotonicInstant.now.nanoseconds + 80_000_000)
        }
        let own = try TimerEngine(name: "own")
        let told = await mistakes(.slowHandlerOnSharedEngine) {
            await withCheckedContinuation { done in
                own.schedule(at: .now) { _ in
                    take()
                    done.resume()
                }
            }
            // When the next call comes, the slow one is over.
            await withCheckedContinuation { done in own.schedule(at: .now) { _ in done.resume() } }
        }
        #expect(told.filter { $0.description.contains("hrtimer-own") }.isEmpty)
        for engine in [TimerEngine.shared as AnyTimerEngine, WallTimerEngine.shared, BootTimeTimerEngine.shared] {
            let told = await mistakes(.slowHandlerOnSharedEngine) {
                for _ in 0..<2 {
                    await withCheckedContinuation { done in
                        _ = engine.core.runSoon {
                            take()
                            done.resume()
                        }
                    }
                }
            }
            #expect(told.count >= 1)
        }
    }

    @Test(
        "An engine dropped with timers that are still due causes a warning; one without any, or that was shut down, does not",
        arguments: ["monotonic", "wall", "boot time"]
    )
    func droppedEngines(_ clock: String) async throws {
        func make(_ name: String) throws -> AnyTimerEngine {
            switch clock {
            case "wall": try WallTimerEngine(name: name)
            case "boot time": try BootTimeTimerEngine(name: name)
            default: try TimerEngine(name: name)
            }
        }
        func add(_ engine: AnyTimerEngine, never: Bool = false) {
            switch engine {
            case let engine as WallTimerEngine:
                engine.schedule(at: never ? .distantFuture : .now + .seconds(1000)) { _ in }
            case let engine as BootTimeTimerEngine:
                engine.schedule(at: never ? .distantFuture : .now + .seconds(1000)) { _ in }
            case let engine as TimerEngine:
                engine.schedule(at: never ? .distantFuture : .now + .seconds(1000)) { _ in }
            default: Issue.record("an engine of no clock")
            }
        }
        let quiet = try await mistakes(.engineNotKept) {
            _ = try make("quiet")
            add(try make("quiet"), never: true)
            let ended = try make("quiet")
            add(ended)
            await ended.shutdown()
            let source = TimerSource(engine: try TimerEngine(name: "quiet"))
            source.schedule(after: 1000)
            source.setEventHandler {}
            source.activate()
            source.cancel()
            // Dropped in a one-shot timer's last call.
            let called = Recorder<Int>()
            let fired = try TimerEngine(name: "quiet")
            fired.schedule(at: .now) { _ in called.append(1) }
            while called.count == 0 { pause(.milliseconds(1)) }
            _ = try SuspensionMonitor { _ in }
        }
        #expect(quiet.filter { $0.description.contains("engine quiet") || $0.description.contains("hrt-") }.isEmpty)
        for count in 1...2 {
            let told = try await mistakes(.engineNotKept) {
                let engine = try make("dropped")
                for _ in 0..<count { add(engine) }
            }
            let own = told.filter { $0.description.contains("engine dropped") }
            #expect(own.count == 1)
            #expect(own.allSatisfy { $0.description.contains(count == 1 ? "with it 1 timer:" : "with it 2 timers:") })
        }
    }

    @Test("A debouncer or throttle dropped while an element waits causes a warning, unless it was flushed or emptied")
    func droppedElements() async throws {
        let engine = try TimerEngine(name: "pacing")
        func debounce(_ end: (Debouncer<Int>) -> Void) {
            let debouncer = Debouncer<Int>(for: .seconds(1000), engine: engine) { _ in }
            debouncer.send(1)
            end(debouncer)
        }
        func throttle(_ end: (Throttle<Int>) -> Void) {
            let throttle = Throttle<Int>(for: .seconds(1000), engine: engine) { _ in }
            // The first one passes.
            for element in 1...2 { throttle.send(element) }
            end(throttle)
        }
        let quiet = await mistakes(.waitingElementDropped) {
            debounce { $0.flush() }
            debounce { $0.discard() }
            debounce { $0.cancel() }
            throttle { $0.flush() }
            throttle { $0.discard() }
            throttle { $0.cancel() }
            withExtendedLifetime(Debouncer<Int>(for: 1, engine: engine) { _ in }) {}
        }
        #expect(quiet.isEmpty)
        #expect(await mistakes(.waitingElementDropped) { debounce { _ in } }.count == 1)
        #expect(await mistakes(.waitingElementDropped) { throttle { _ in } }.count == 1)
        await engine.shutdown()
    }

    @Test("A timer added to a loop that has ended causes a warning, also in one line that makes the loop's thread")
    func endedLoops() async throws {
        @Sendable func make() -> LoopTimer { LoopTimer(timeInterval: 1000, repeats: true) { _ in } }
        let told = try await mistakes(.timerInEndedLoop) {
            let thread = try TimerLoop.thread(name: "ended")
            await thread.shutdown()
            thread.loop.add(make(), forMode: .default)
        }
        #expect(told.count == 1)
        // The thread is released before the timer is added, or after it.
        let recorded = Recorder<UsageWarning>()
        UsageWarning.handler = { recorded.append($0) }
        try TimerLoop.thread(name: "one line").loop.add(make(), forMode: .default)
        UsageWarning.handler = nil
        #expect(recorded.all.contains { $0.kind == .timerInEndedLoop || $0.kind == .threadNotKept })
        // A handler that adds a timer while its own loop ends could not know.
        let added = Recorder<Int>()
        let quiet = try await mistakes(.timerInEndedLoop) {
            let thread = try TimerLoop.thread(name: "ending")
            thread.loop.perform { [loop = thread.loop] in
                added.append(0)
                while added.count < 2 { pause(.milliseconds(1)) }
                loop.add(make(), forMode: .default)
                added.append(2)
            }
            while added.count == 0 { pause(.milliseconds(1)) }
            async let end: Void = thread.shutdown()
            pause(.milliseconds(20))
            added.append(1)
            await end
        }
        #expect(added.all == [0, 1, 2])
        #expect(quiet.isEmpty)
    }

    @Test("NaN where a length of time or a date is taken causes a warning that says so, in every face")
    func notANumber() async throws {
        let never = Date(timeIntervalSinceReferenceDate: .nan)
        let engine = try TimerEngine(name: "nan")
        let loop = TimerLoop()
        let source = TimerSource(engine: engine)
        let timer = LoopTimer(timeInterval: 1000, repeats: true) { _ in }
        let uses: [(String, @Sendable () -> Void)] = [
            ("LoopTimer", { _ = LoopTimer(timeInterval: .nan, repeats: true) { _ in } }),
            ("LoopTimer at a date", { _ = LoopTimer(fireAt: never) { _ in } }),
            ("fireDate", { timer.fireDate = never }),
            ("perform", { loop.perform(afterDelay: .nan) {} }),
            ("engine's delay", { engine.schedule(after: Double.nan) { _ in } }),
            ("engine's interval", { engine.cancel(engine.schedule(after: 1000, every: .nan) { _ in }) }),
            ("source", { source.schedule(after: 1000, repeating: .nan) }),
            ("source as GCD's", { source.schedule(deadline: DispatchTime.now(), repeating: Double.nan) }),
            ("ticks", { _ = MonotonicClock(engine: engine).ticks(every: .nan) }),
            ("debouncer", { _ = Debouncer<Int>(for: .milliseconds(Double.nan), engine: engine) { _ in } }),
        ]
        for (face, use) in uses {
            let told = await mistakes(.notANumber) { use() }
            #expect(told.contains { $0.description.contains("is NaN: ") }, "\(face)")
        }
        await engine.shutdown()
    }

    @Test("A quantile in per cent, rather than as a fraction of one, causes a warning; one that is 1 causes none")
    func quantile() async {
        let told = await mistakes(.quantileAboveOne) {
            let histogram = LatencyHistogram()
            histogram.record(1.0)
            #expect(histogram.quantile(99) == .seconds(1))
        }
        #expect(told.contains { $0.description.hasPrefix("quantile(99.0) takes 0 ... 1") })
        let none = await mistakes(.quantileAboveOne) { _ = LatencyHistogram().quantile(1) }
        #expect(none.isEmpty)
    }
}

private var isDebugBuild: Bool { UsageWarning.isLookedFor }
