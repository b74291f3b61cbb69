// SPDX-License-Identifier: Apache-2.0
import CHRTimer
import Glibc
import HRTimerCore
import TestSupport
import TestTraits
import Testing

@testable import HRTimer

/// The end of a loop when its own thread or another one takes away the last thing that the loop had to do.
@Suite(.hangLimit) struct LoopEndContractTests {
    /// Returns true as soon as `condition` holds, false if it does not within two seconds.
    private func comes(_ condition: () -> Bool) -> Bool {
        for _ in 0..<2000 {
            if condition() { return true }
            usleep(1000)
        }
        return condition()
    }

    private func waitUntilWaiting(_ loop: TimerLoop) {
        #expect(comes { loop.isWaiting })
    }

    @Test(
        "A worker ends when another thread takes its last timer away, however distant the timer's deadline",
        arguments: ["invalidated", "removed"]
    )
    func lastTimer(how: String) throws {
        for deadline in [MonotonicInstant.distantFuture, .now.advanced(by: .seconds(3600))] {
            let timer = LoopTimer(fireAt: deadline, interval: .seconds(1), repeats: true) { _ in }
            let worker = try LoopWorker { loop in
                loop.add(timer, forMode: .default)
                loop.add(timer, forMode: .modalPanel)
            }
            waitUntilWaiting(worker.loop)
            worker.loop.remove(timer, forMode: .modalPanel)
            usleep(1000)
            #expect(!worker.isFinished)
            if how == "removed" {
                worker.loop.remove(timer, forMode: .default)
            } else {
                timer.invalidate()
            }
            #expect(comes { worker.isFinished })
            worker.cancel()
        }
    }

    @Test(
        "A worker ends when another thread invalidates or removes its last trigger or source",
        arguments: ["invalidated", "removed"]
    )
    func lastItem(how: String) throws {
        var ends: [Int32] = [0, 0]
        pipe(&ends)
        defer { ends.forEach { close($0) } }
        for isTrigger in [true, false] {
            let trigger = LoopTrigger { _ in }
            let source = try LoopSource(descriptor: ends[0]) { _, _ in }
            let worker = try LoopWorker { loop in
                if isTrigger { loop.add(trigger, forMode: .default) } else { try? loop.add(source, forMode: .default) }
            }
            waitUntilWaiting(worker.loop)
            switch (how, isTrigger) {
            case ("removed", true): worker.loop.remove(trigger, forMode: .default)
            case ("removed", false): worker.loop.remove(source, forMode: .default)
            case (_, true): trigger.invalidate()
            case (_, false): source.invalidate()
            }
            #expect(comes { worker.isFinished }, "a \(isTrigger ? "trigger" : "source")")
            worker.cancel()
        }
    }

    @Test("A thread that sleeps with nothing to do ends when its loop is no longer kept alive")
    func keptAliveNoLonger() throws {
        let worker = try TimerLoop.thread()
        waitUntilWaiting(worker.loop)
        worker.loop.isKeptAlive = false
        #expect(comes { worker.loop.core.state.withLock { $0.isEnded } })
        worker.shutdown()
    }

    @Test("A thread whose loop is no longer kept alive does not spin: it ends with its last timer")
    func notKeptAlive() throws {
        let worker = try TimerLoop.thread()
        let timer = LoopTimer(fireAt: .distantFuture, interval: .zero, repeats: false) { _ in }
        worker.loop.add(timer, forMode: .default)
        worker.loop.isKeptAlive = false
        waitUntilWaiting(worker.loop)
        timer.invalidate()
        // An ended loop accepts nothing.
        let late = LoopTimer(fireAt: .distantFuture, interval: .zero, repeats: false) { _ in }
        #expect(
            comes {
                worker.loop.add(late, forMode: .modalPanel)
                defer { worker.loop.remove(late, forMode: .modalPanel) }
                return !worker.loop.contains(late, forMode: .modalPanel)
            }
        )
        worker.shutdown()
    }

    private final class Target: Sendable {
        let canary: any AnyObject & Sendable
        init(_ canary: any AnyObject & Sendable) { self.canary = canary }
        func call() {}
    }

    @Test("A loop that ends while three threads add to it keeps nothing of what they add")
    func endsMeanwhile() throws {
        let canaries = Canaries()
        for _ in 0..<20 {
            let worker = try TimerLoop.thread()
            let loop = worker.loop
            let threads = try (0..<3).map { _ in
                try startThread {
                    for _ in 0..<200 {
                        let target = Target(canaries.make())
                        loop.add(
                            LoopTimer(timeInterval: .zero, repeats: true) { _ in target.call() },
                            forMode: .default
                        )
                        let trigger = LoopTrigger { _ in target.call() }
                        loop.add(trigger, forMode: .common)
                        trigger.signal()
                        loop.add(LoopObserver(activities: .entry) { _, _ in target.call() }, forMode: .default)
                        loop.perform { target.call() }
                        loop.perform(afterDelay: .microseconds(50), for: target) { target.call() }
                        loop.cancelPreviousPerformRequests(withTarget: target)
                        loop.stop()
                    }
                }
            }
            usleep(300)
            worker.shutdown()
            for thread in threads { pthread_join(thread, nil) }
            #expect(loop.liveTimers == 0)
        }
        #expect(canaries.count == 0)
    }

    @Test("Every caller who shuts down a loop's thread waits for its end, the second too")
    func endedTwice() throws {
        let worker = try TimerLoop.thread()
        let log = Recorder<String>()
        let isBusy = Recorder<Bool>()
        worker.loop.perform {
            isBusy.append(true)
            usleep(50_000)
            worker.shutdown()
            log.append("handler")
        }
        while isBusy.count == 0 { usleep(50) }
        let callers = try (0..<3).map { _ in
            try startThread {
                worker.shutdown()
                log.append("ended")
            }
        }
        for caller in callers { pthread_join(caller, nil) }
        worker.shutdown()
        #expect(log.all == ["handler", "ended", "ended", "ended"])
    }
}
