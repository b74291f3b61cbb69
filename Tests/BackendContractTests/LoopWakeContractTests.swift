// SPDX-License-Identifier: Apache-2.0
import Glibc
import HRTimer
import TestSupport
import Testing

/// Changes by another thread to a sleeping loop. They take effect at once, and not when the loop wakes for a reason of its own.
@Suite struct LoopWakeContractTests {
    private let fires = Recorder<MonotonicInstant>()

    /// Returns true as soon as `condition` holds, false if it does not within ten seconds.
    private func comes(_ condition: () -> Bool) -> Bool {
        for _ in 0..<10_000 {
            if condition() { return true }
            usleep(1000)
        }
        return condition()
    }

    private func timer(after delay: Duration) -> LoopTimer {
        LoopTimer(fireAt: .now.advanced(by: delay), interval: .zero, repeats: false) { [fires] _ in
            fires.append(.now)
        }
    }

    @Test("A precision that ignores tolerances takes effect at once in a sleeping loop", arguments: ["loop", "timer"])
    func precision(of whose: String) throws {
        let worker = try TimerLoop.thread()
        let timer = timer(after: .milliseconds(50))
        timer.tolerance = 3600
        worker.loop.add(timer, forMode: .default)
        #expect(comes { worker.loop.isWaiting })
        if whose == "loop" { worker.loop.precision = .normal } else { timer.precision = .normal }
        #expect(comes { fires.count == 1 })
        worker.shutdown()
    }

    @Test("A trigger that has a signal when it is added to a sleeping loop is called at once")
    func signalledTrigger() throws {
        let worker = try TimerLoop.thread()
        worker.loop.add(timer(after: .seconds(3600)), forMode: .default)
        #expect(comes { worker.loop.isWaiting })
        let trigger = LoopTrigger { [fires] _ in fires.append(.now) }
        trigger.signal()
        worker.loop.add(trigger, forMode: .default)
        #expect(comes { fires.count == 1 })
        worker.shutdown()
    }

    @Test("A sleeping run that a precise timer's handler has begun ends at once if another thread takes its last timer")
    func lastTimerOfNestedRun() throws {
        let loop = TimerLoop(precision: .precise)
        loop.spinBudget = 1
        let lasts = Recorder<LoopTimer>()
        let results = Recorder<TimerLoop.RunResult>()
        let runs = LoopTimer(timeInterval: .milliseconds(1), repeats: true) { [self] timer in
            let last = self.timer(after: .seconds(3600))
            loop.add(last, forMode: .modalPanel)
            lasts.append(last)
            results.append(loop.run(mode: .modalPanel, for: .seconds(60)))
            if results.count == 20 { timer.invalidate() }
        }
        loop.add(runs, forMode: .default)
        let runner = try startThread { loop.run() }
        for count in 1...20 {
            try #require(comes { lasts.count == count && loop.isWaiting })
            lasts.all.last?.invalidate()
            try #require(comes { results.count == count })
        }
        join(runner)
        #expect(results.all == [TimerLoop.RunResult](repeating: .finished, count: 20))
    }

    @Test("A mode that becomes a common mode takes effect at once in a sleeping loop")
    func commonMode() throws {
        let loop = TimerLoop()
        loop.isKeptAlive = true
        loop.add(timer(after: .milliseconds(1)), forMode: .common)
        let runner = try startThread { loop.run(mode: .modalPanel, before: .now.advanced(by: .seconds(60))) }
        #expect(comes { loop.isWaiting })
        usleep(5000)
        #expect(fires.count == 0)
        loop.addCommonMode(.modalPanel)
        #expect(comes { fires.count == 1 })
        loop.stop()
        join(runner)
    }
}
