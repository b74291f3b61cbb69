// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Glibc
import HRTimer

/// Calls a function that waits, on the thread that it would wait for: `arguments` are the place, "main" or "thread", and the way.
/// Prints "went on" when the function has returned. The kernel ends the program after 60 s.
func waitOnLoopsThread(_ arguments: [String]) {
    guard arguments.count == 2 else { exit(2) }
    alarm(60)
    if arguments[0] == "main" { return wait(on: .main, arguments[1]) }
    let done = DispatchSemaphore(value: 0)
    do {
        let worker = try TimerLoop.thread()
        worker.loop.perform {
            wait(on: worker.loop, arguments[1])
            done.signal()
        }
        done.wait()
        worker.shutdown()
    } catch {
        print(error)
    }
}

/// `loop` is the calling thread's.
private func wait(on loop: TimerLoop, _ way: String) {
    switch way {
    case "another thread's timer, before any run": waitForAnotherThread()
    case "perform in another loop's handler":
        inOtherLoop { loop.perform(waitUntilDone: true) { print("went on") } }
    default:
        // The timer's own handler is running, in a run until an instant, when the timer is invalidated.
        let timer = LoopTimer(timeInterval: .milliseconds(1), repeats: true) { timer in
            invalidate(timer, loop, way)
            loop.stop()
        }
        loop.add(timer, forMode: .default)
        loop.run(until: .now.advanced(by: .seconds(50)))
    }
}

private func invalidate(_ timer: LoopTimer, _ loop: TimerLoop, _ way: String) {
    let invalidate = { @Sendable in
        timer.invalidateAndWait()
        timer.invalidateAndWait()
        print("went on")
        loop.stop()
    }
    let nested = { loop.run(until: .now.advanced(by: .seconds(50))) }
    switch way {
    case "its handler": return invalidate()
    case "its handler, after it left the loop":
        loop.remove(timer, forMode: .default)
        return invalidate()
    case "its handler, after it moved to another loop":
        loop.remove(timer, forMode: .default)
        TimerLoop().add(timer, forMode: .default)
        return invalidate()
    case "another loop's handler": return inOtherLoop(invalidate)
    case "another timer's handler":
        loop.add(LoopTimer(timeInterval: .milliseconds(1), repeats: false) { _ in invalidate() }, forMode: .default)
        _ = nested()
    case "a block":
        loop.perform(invalidate)
        _ = nested()
    case "an observer":
        let observer = LoopObserver(activities: .beforeTimers, repeats: false) { _, _ in invalidate() }
        loop.add(observer, forMode: .default)
        loop.perform {}
        _ = nested()
    case "a source":
        var ends: [Int32] = [0, 0]
        pipe(&ends)
        write(ends[1], "x", 1)
        let source = try? LoopSource(descriptor: ends[0]) { source, _ in
            source.invalidate()
            invalidate()
        }
        if let source { try? loop.add(source, forMode: .default) }
        _ = nested()
    case "the main queue":
        DispatchQueue.main.async(execute: invalidate)
        _ = nested()
    default: print("which of the ways in Waiting.swift?")
    }
}

/// Runs another loop on this thread, and calls `body` in a handler there.
private func inOtherLoop(_ body: @escaping @Sendable () -> Void) {
    let other = TimerLoop()
    other.add(LoopTimer(timeInterval: .milliseconds(1), repeats: false) { _ in body() }, forMode: .default)
    other.run()
}

/// Invalidates a timer whose handler runs on another thread: there is something to wait for.
private func waitForAnotherThread() {
    let begun = DispatchSemaphore(value: 0)
    let timer = LoopTimer(timeInterval: .milliseconds(1), repeats: true) { _ in
        begun.signal()
        usleep(50_000)
        print("handler has returned")
    }
    do {
        let worker = try TimerLoop.thread()
        worker.loop.add(timer, forMode: .default)
        begun.wait()
        // Out of its loop it is no longer known which thread calls it.
        worker.loop.remove(timer, forMode: .default)
        timer.invalidateAndWait()
        print("went on")
        worker.shutdown()
    } catch {
        print(error)
    }
}
