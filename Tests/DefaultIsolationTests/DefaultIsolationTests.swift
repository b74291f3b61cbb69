import HRTimer
import HRTimerCore
import TestSupport
import Testing

#if compiler(>=6.2)

/// A class of an app that belongs to the main actor without an annotation: this module is compiled with
/// `-default-isolation MainActor`.
final class Screen {
    var frames = 0
    func draw() { frames += 1 }
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
}

#endif
