import CHRTimer
import Glibc
import HRTimer
import HRTimerCore
import TestSupport
import Testing

/// Mistakes that would be silent, told to whoever listens. Debug builds alone tell them. On the real clock, since on a virtual
/// one nobody waits for a loop that does not run.
@Suite(.serialized, .enabled(if: isDebugBuild)) struct UsageWarningTests {
    /// What was told while `body` ran: other tests, beside these, make mistakes of their own.
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

    @Test("A timer on a loop that nobody runs is told a second after its deadline, once for the loop")
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

    @Test("A loop that runs before that is left in peace, and so is one whose timers are gone or never due")
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

    @Test("A thread that ends with timers in a loop that was never run is told")
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

    @Test("A loop's thread that nobody keeps is told, if its loop has timers")
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

    @Test("A run in .common, and one on another thread, are told")
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
        "An active source whose last reference goes is told; a cancelled, suspended, fired or never activated one is not"
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
        "A handler of the main actor's that another thread's loop calls is told; one in the main loop, or of none, is not"
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

    @Test("A timer in two loops, and an invalid one, are told")
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

    @Test("A handler that takes long on a shared engine is told, and one on an engine of its own is not")
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
            // The call is over by the time that the next one comes.
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

    @Test("Per cents given for a part of one are told")
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
