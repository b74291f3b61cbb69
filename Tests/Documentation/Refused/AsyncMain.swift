import HRTimer

import func HRTimerCompat.CFRunLoopRun
import class HRTimerCompat.Timer

// An asynchronous function has no thread of its own, and so no loop: what takes the calling thread's loop is refused there, with what
// to do instead.

func uses(_ worker: LoopThread) async throws {
    TimerLoop.main.run()  // refused: TimerLoop.main runs by itself under an async main
    TimerLoop.main.run(for: 1)  // refused: TimerLoop.main runs by itself under an async main
    TimerLoop.main.run(until: .now)  // refused: TimerLoop.main runs by itself under an async main
    TimerLoop.main.run(mode: .default, before: .now)  // refused: TimerLoop.main runs by itself under an async main
    CFRunLoopRun()  // refused: TimerLoop.main runs by itself under an async main
    _ = TimerLoop.current  // refused: use TimerLoop.main, which runs by itself under an async main
    LoopTimer.scheduled(timeInterval: 1, repeats: true) { _ in }  // refused: add a LoopTimer to TimerLoop.main
    LoopTimer.scheduledHere(timeInterval: 1, repeats: true) { _ in }  // refused: with a @MainActor block
    Timer.scheduledTimer(withTimeInterval: 1, repeats: true) { _ in }  // refused: add a LoopTimer to TimerLoop.main
    _ = worker.settingResults  // refused: await awaitSettingResults()

    // What the messages name compiles.
    TimerLoop.main.add(LoopTimer(timeInterval: 1, repeats: true) { _ in }, forMode: .default)
    worker.loop.add(LoopTimer(timeInterval: 1, repeats: true) { _ in }, forMode: .default)
    _ = await worker.awaitSettingResults()
}
