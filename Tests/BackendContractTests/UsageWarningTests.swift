import CHRTimer
import Glibc
import HRTimer
import HRTimerCore
import TestSupport
import Testing

/// Warnings of mistakes that would otherwise be silent. Only debug builds give them. The tests use the real clock, since
/// nothing waits on a virtual clock for a loop that does not run.
@Suite(.serialized, .enabled(if: isDebugBuild)) struct UsageWarningTests {
    /// Returns the warnings of that kind that came while `body` ran: other tests, beside these, cause warnings of their own.
    private func mistakes(_ kind: UsageWarning.Kind, _ body: () async throws -> Void) async rethrows -> [UsageWarning] {
        let told = Recorder<UsageWarning>()
        UsageWarning.handler = { if $0.kind == kind { told.append($0) } }
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
        #expect(told.filter { $0.description.contains("has 1 timers") }.count == 1)
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
        let calls = Recorder<Int>()
        let told = await mistakes(.mainActorHandlerElsewhere) {
            thread.loop.add(LoopTimer(timeInterval: 0.001, repeats: false) { _ in calls.append(1) }, forMode: .default)
            while calls.count < 1 { try? await Task.sleep(for: .milliseconds(1)) }
        }
        #expect(told.count == 0)
        let hopped = await mistakes(.mainActorHandlerElsewhere) {
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

    @Test("A quantile in per cent, rather than as a fraction of one, causes a warning")
    func quantile() async {
        let told = await mistakes(.quantileAboveOne) {
            let histogram = LatencyHistogram()
            histogram.record(1.0)
            #expect(histogram.quantile(99) == .seconds(1))
        }
        #expect(told.contains { $0.description.hasPrefix("quantile(99.0) takes 0 ... 1") })
    }
}

private var isDebugBuild: Bool { UsageWarning.isLookedFor }
