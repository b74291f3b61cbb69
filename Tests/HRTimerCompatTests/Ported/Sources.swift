// SPDX-License-Identifier: Apache-2.0
import Dispatch
import TestTraits
import Testing

#if !PEERS
import enum HRTimerCompat.DispatchSource
import class HRTimerCompat.DispatchSourceTimer
import class HRTimerCompat.TimerSource
#endif

/// Uses timer sources as a program written for GCD does. PeersTests compiles this file without the imports of HRTimerCompat.
@Suite(.serialized, .ownThread) private struct DispatchStyleTests {
    private let queue = DispatchQueue(label: "sources")

    @Test("A repeating source counts, cancels itself, and calls its cancel handler")
    func poller() {
        let log = Recorder<String>()
        let done = DispatchSemaphore(value: 0)
        let timer = DispatchSource.makeTimerSource(queue: queue)
        timer.schedule(deadline: .now() + .milliseconds(5), repeating: .milliseconds(5), leeway: .nanoseconds(0))
        timer.setEventHandler {
            log.append(timer.data >= 1 ? "poll" : "nothing to poll")
            if log.count == 3 { timer.cancel() }
        }
        timer.setCancelHandler {
            log.append("cancelled")
            done.signal()
        }
        timer.resume()
        #expect(done.wait(timeout: .now() + 30) == .success)
        #expect(log.all == ["poll", "poll", "poll", "cancelled"])
        #expect(timer.isCancelled)
    }

    @Test("A countdown takes its interval as a Double in seconds, and is registered before its first event")
    func countdown() {
        let log = Recorder<String>()
        let done = DispatchSemaphore(value: 0)
        let timer: DispatchSourceTimer = DispatchSource.makeTimerSource(flags: .strict, queue: queue)
        timer.schedule(deadline: .now(), repeating: 0.002)
        var left = 3
        timer.setRegistrationHandler { log.append("registered") }
        timer.setEventHandler(
            handler: DispatchWorkItem {
                log.append("\(left)")
                left -= 1
                if left == 0 {
                    timer.cancel()
                    done.signal()
                }
            }
        )
        timer.activate()
        #expect(done.wait(timeout: .now() + 30) == .success)
        #expect(log.all == ["registered", "3", "2", "1"])
    }

    @Test("A suspended source is silent, and reports what passed in one call once it is resumed")
    func suspended() {
        let counts = Recorder<UInt>()
        let timer = DispatchSource.makeTimerSource(queue: queue)
        timer.setEventHandler(qos: .userInitiated, flags: [], handler: { counts.append(timer.data) })
        timer.schedule(wallDeadline: .now(), repeating: .milliseconds(10))
        timer.suspend()
        timer.activate()
        let silence = DispatchSemaphore(value: 0)
        queue.asyncAfter(deadline: .now() + 0.05) { silence.signal() }
        silence.wait()
        #expect(counts.count == 0)
        timer.resume()
        while counts.count == 0 { queue.sync {} }
        timer.cancel()
        queue.sync {}
        #expect(counts.all.first! >= 5)
    }

    @Test("A source that has fired can be scheduled again; one for the distant future never fires")
    func again() {
        let fired = DispatchSemaphore(value: 0)
        let timer = DispatchSource.makeTimerSource(flags: [], queue: queue)
        timer.setEventHandler { fired.signal() }
        timer.schedule(deadline: .now())
        timer.activate()
        #expect(fired.wait(timeout: .now() + 30) == .success)
        timer.schedule(deadline: .now() + .milliseconds(1))
        #expect(fired.wait(timeout: .now() + 30) == .success)
        timer.schedule(deadline: .distantFuture, repeating: .seconds(1))
        #expect(fired.wait(timeout: .now() + 0.02) == .timedOut)
        timer.cancel()
    }

    /// A class that is not Sendable, like most of a program.
    private final class Meter {
        let queue = DispatchQueue(label: "meter")
        let done = DispatchSemaphore(value: 0)
        var readings = 0
        var isOver = false

        func start() -> DispatchSourceTimer {
            let timer = DispatchSource.makeTimerSource(queue: queue)
            timer.schedule(deadline: .now(), repeating: .milliseconds(1))
            timer.setRegistrationHandler { self.readings = 100 }
            timer.setEventHandler {
                self.readings += 1
                if self.readings == 103 { timer.cancel() }
            }
            timer.setCancelHandler {
                self.isOver = true
                self.done.signal()
            }
            timer.resume()
            return timer
        }
    }

    @Test("Handlers may capture objects that are not Sendable and used only on the source's queue")
    func notSendable() {
        let meter = Meter()
        let timer = meter.start()
        #expect(meter.done.wait(timeout: .now() + 30) == .success)
        meter.queue.sync {
            #expect(meter.readings == 103)
            #expect(meter.isOver)
        }
        timer.cancel()
    }
}
