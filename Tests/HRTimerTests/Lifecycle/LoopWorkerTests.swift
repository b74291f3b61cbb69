// SPDX-License-Identifier: Apache-2.0
import Dispatch
import HRTimer
import HRTimerTesting
import TestSupport
import Testing

/// A thread whose loop moves the manual time itself, as fast as it can.
@Suite struct LoopWorkerTests {
    let time = ManualTime()
    let calls = Recorder<Int>()

    /// Waits in a synchronous function, because `wait()` is not for asynchronous ones.
    private func wait(for worker: LoopWorker) {
        worker.wait()
    }

    @Test("A worker ends when its last timer is invalidated, and what the handlers captured is then freed")
    func lastTimer() throws {
        let start = time.now
        let canaries = Canaries()
        let worker = try LoopWorker(name: "test", time: time.base) { [calls] loop in
            for last in [3, 10] {
                let canary = canaries.make()
                let timer = LoopTimer(timeInterval: .seconds(1), repeats: true) { timer in
                    calls.append(last)
                    if calls.all.filter({ $0 == last }).count == last { timer.invalidate() }
                    withExtendedLifetime(canary) {}
                }
                loop.add(timer, forMode: .default)
            }
        }
        wait(for: worker)
        #expect(worker.isFinished)
        #expect(calls.count == 13)
        #expect(time.now == start.advanced(by: .seconds(10)))
        #expect(canaries.count == 0)
        #expect(worker.loop.liveTimers == 0)
        let late = LoopTimer(timeInterval: .seconds(1), repeats: true) { _ in }
        worker.loop.add(late, forMode: .default)
        #expect(worker.loop.liveTimers == 0)
    }

    @Test("A worker with nothing to do ends at once, and its loop is its thread's current one")
    func nothing() throws {
        wait(for: try LoopWorker(time: time.base) { _ in })
        let isCurrent = Recorder<Bool>()
        let worker = try LoopWorker(time: time.base) { loop in
            isCurrent.append(TimerLoop.current === loop)
            loop.perform { isCurrent.append(TimerLoop.current === loop) }
        }
        wait(for: worker)
        #expect(isCurrent.all == [true, true])
    }

    @Test("A cancelled worker ends and invalidates the timers that are left; wait() in a handler returns at once")
    func cancel() throws {
        let timers = Recorder<LoopTimer>()
        let workers = Recorder<LoopWorker>()
        let worker = try LoopWorker(time: time.base) { [calls] loop in
            let timer = LoopTimer(timeInterval: .seconds(1), repeats: true) { _ in
                // The first calls may come before the worker is recorded.
                guard let worker = workers.all.first else { return }
                worker.wait()
                calls.append(1)
                worker.cancel()
            }
            timers.append(timer)
            loop.add(timer, forMode: .default)
        }
        workers.append(worker)
        wait(for: worker)
        #expect(calls.count == 1)
        #expect(timers.all.map(\.isValid) == [false])
        worker.cancel()
    }

    @Test("A handler that stops the loop does not end the worker, which continues until nothing is left")
    func stop() throws {
        let worker = try LoopWorker(time: time.base) { [calls] loop in
            let timer = LoopTimer(timeInterval: .seconds(1), repeats: true) { timer in
                calls.append(1)
                loop.stop()
                if calls.count == 3 { timer.invalidate() }
            }
            loop.add(timer, forMode: .default)
        }
        wait(for: worker)
        #expect(calls.count == 3)
        #expect(worker.loop.liveTimers == 0)
    }

    @Test("A loop that is kept alive keeps its worker running until the worker is cancelled")
    func keptAlive() throws {
        let worker = try LoopWorker(time: time.base) { [calls] loop in
            loop.isKeptAlive = true
            loop.perform { calls.append(1) }
        }
        let isOver = DispatchSemaphore(value: 0)
        worker.loop.perform { isOver.signal() }
        isOver.wait()
        #expect(!worker.isFinished)
        worker.cancel()
        wait(for: worker)
        #expect(worker.isFinished)
        #expect(calls.count == 1)
    }

    @Test("A worker continues without any reference to it")
    func unreferenced() throws {
        let ended = DispatchSemaphore(value: 0)
        let worker = try LoopWorker(time: time.base) { [time] loop in
            let timer = LoopTimer(timeInterval: .seconds(1), repeats: true) { timer in
                if time.now.nanoseconds >= 100_000_000_000 {
                    timer.invalidate()
                    ended.signal()
                }
            }
            loop.add(timer, forMode: .default)
        }
        _ = consume worker
        #expect(ended.wait(timeout: .now() + 60) == .success)
    }
}
