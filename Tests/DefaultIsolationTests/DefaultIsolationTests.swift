// SPDX-License-Identifier: Apache-2.0
import Glibc
import HRTimer
import HRTimerCore
import TestSupport
import Testing

/// A class of an app that belongs to the main actor without an annotation: this module is compiled with
/// `-default-isolation MainActor`.
final class Screen {
    var frames = 0
    func draw() {
        MainActor.assertIsolated()
        frames += 1
    }
}

/// Handlers written the way such an app writes them run on the main actor, whichever thread fires the timer. Nothing traps.
@Suite(.serialized) struct DefaultIsolationTests {
    let screen = Screen()

    private func wait(until isDone: () -> Bool) async {
        for _ in 0..<2000 where !isDone() { try? await Task.sleep(for: .milliseconds(5)) }
    }

    @Test("A timer in another thread's loop calls a main actor's handler on the main actor")
    func loopTimer() async throws {
        let thread = try TimerLoop.thread(name: "other")
        let screen = screen
        let timer = LoopTimer(timeInterval: .milliseconds(2), repeats: true) { @MainActor _ in screen.draw() }
        thread.loop.add(timer, forMode: .default)
        await wait { screen.frames >= 3 }
        timer.invalidate()
        #expect(screen.frames >= 3)
        await thread.shutdown()
    }

    @Test("A source on an engine's thread calls a main actor's handler on the main actor")
    func source() async throws {
        let engine = try TimerEngine(name: "engine")
        let source = TimerSource(engine: engine)
        let screen = screen
        source.setEventHandler { @MainActor in screen.draw() }
        source.schedule(deadline: .now, repeating: .milliseconds(2))
        source.activate()
        await wait { screen.frames >= 3 }
        source.cancel()
        #expect(screen.frames >= 3)
        await engine.shutdown()
    }

    @Test("A display link and a performed block in another thread's loop run on the main actor")
    func linkAndBlock() async throws {
        let thread = try TimerLoop.thread(name: "other")
        let screen = screen
        let link = DisplayLink(framesPerSecond: 100) { @MainActor _ in screen.draw() }
        link.add(to: thread.loop, forMode: .default)
        await wait { screen.frames >= 3 }
        link.invalidate()
        #expect(screen.frames >= 3)
        var isPerformed = false
        thread.loop.perform { @MainActor in isPerformed = true }
        await wait { isPerformed }
        #expect(isPerformed)
        await thread.shutdown()
    }

    @Test(
        "A method without an isolation annotation belongs to the main actor and is called there"
    )
    func method() async throws {
        let thread = try TimerLoop.thread(name: "other")
        let timer = LoopTimer(timeInterval: .milliseconds(1), repeats: false, block: tick)
        thread.loop.add(timer, forMode: .default)
        let screen = screen
        await wait { screen.frames == 1 }
        #expect(screen.frames == 1)
        await thread.shutdown()
    }

    private func tick(_ timer: LoopTimer) { screen.draw() }

    @Test("Closures without an annotation, given to items of another thread's loop, run on the main actor")
    func closures() async throws {
        let thread = try TimerLoop.thread(name: "other")
        let loop = thread.loop
        let screen = screen
        func count(_ name: String, while item: AnyObject) async {
            let before = screen.frames
            await wait { screen.frames >= before + 3 }
            #expect(screen.frames >= before + 3, "\(name)")
            withExtendedLifetime(item) {}
        }
        let timers = [
            LoopTimer(timeInterval: .milliseconds(2), repeats: true) { _ in screen.draw() },
            LoopTimer(timeInterval: 0.002, repeats: true) { _ in screen.draw() },
            LoopTimer(fireAt: .now, interval: 0.002, repeats: true) { _ in screen.draw() },
            LoopTimer(fireAt: WallInstant.now, interval: 0.002, repeats: true) { _ in screen.draw() },
            LoopTimer.rearmable(fireAt: .now) { timer in
                screen.draw()
                timer.fireInstant = .now + .milliseconds(2)
            },
        ]
        for (number, timer) in timers.enumerated() {
            loop.add(timer, forMode: .default)
            await count("timer \(number)", while: timer)
            timer.invalidate()
        }
        let signal = try LoopSource.signal(SIGWINCH) { _, _ in for _ in 1...3 { screen.draw() } }
        try loop.add(signal, forMode: .default)
        kill(getpid(), SIGWINCH)
        await count("signal", while: signal)
        signal.invalidate()
        await thread.shutdown()
    }

    @Test("A nonisolated handler that code of the main actor keeps in a constant is called by the loop's thread")
    func constant() async throws {
        let main = pthread_self()
        let threads = Recorder<pthread_t>()
        let note: LoopTimer.Handler = { _ in threads.append(pthread_self()) }
        let thread = try TimerLoop.thread(name: "other")
        thread.loop.add(LoopTimer(timeInterval: .milliseconds(1), repeats: false, block: note), forMode: .default)
        await wait { threads.count == 1 }
        #expect(threads.count == 1 && threads.all.allSatisfy { $0 != main })
        await thread.shutdown()
    }

    @Test("What code of the main actor sends to another thread runs there, unless it names its actor")
    func elsewhere() async throws {
        let main = pthread_self()
        let threads = Recorder<pthread_t>()
        let thread = try TimerLoop.thread(name: "other")
        let engine = try TimerEngine(name: "engine")
        let source = TimerSource(engine: engine)
        source.setEventHandler { threads.append(pthread_self()) }
        source.schedule(deadline: .now)
        source.activate()
        thread.loop.perform { threads.append(pthread_self()) }
        thread.loop.perform(afterDelay: 0.001) { threads.append(pthread_self()) }
        await wait { threads.count == 3 }
        #expect(threads.count == 3 && threads.all.allSatisfy { $0 != main })
        source.cancel()
        await thread.shutdown()
        await engine.shutdown()
    }
}
