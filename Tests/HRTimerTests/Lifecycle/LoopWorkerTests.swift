import Dispatch
import HRTimer
import HRTimerTesting
import TestSupport
import Testing

/// A thread whose loop moves the frozen time itself, as fast as it can.
@Suite struct LoopWorkerTests {
    let time = ManualTime()
    let calls = Recorder<Int>()

    /// `wait()` is not for asynchronous functions.
    private func wait(for worker: LoopWorker) {
        worker.wait()
    }

    @Test("It ends when its last timer is invalidated, and what the handlers captured is freed then")
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

    @Test("With nothing to do it ends at once; its loop is the thread's own, and a handler that waits for it does not")
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

    @Test("Cancelled it ends although timers are left, and these are invalid then")
    func cancel() throws {
        let timers = Recorder<LoopTimer>()
        let workers = Recorder<LoopWorker>()
        let worker = try LoopWorker(time: time.base) { [calls] loop in
            let timer = LoopTimer(timeInterval: .seconds(1), repeats: true) { _ in
                // There is none before the first calls.
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

    @Test("A handler that stops the loop does not end the work: it goes on until nothing is left")
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

    @Test("A loop that is kept alive keeps it until it is cancelled")
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

    @Test("Nobody needs to keep it: it works on without a reference")
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
