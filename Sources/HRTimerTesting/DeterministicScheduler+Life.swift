// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import HRTimer
import HRTimerLibc

/// The scheduler's life, from the first job to the last.
extension DeterministicScheduler {
    /// Runs the whole test on the calling thread, which is the scheduler's from now on.
    func run(_ time: ManualTime, toleratesLeftovers: Bool) {
        state.withLock { $0.thread = pthread_self() }
        CurrentTime.with(time) {
            let outcome = pump(time, Pumping(isDone: { $0.hasBodyEnded }))
            if case .nothing = outcome {
                // If the test has already failed, the earlier reason stays.
                fail(.deadlock, time)
                state.withLock(\.cancelBody)?()
                _ = pump(time, Pumping(isLastStep: true))
            } else {
                _ = pump(time, Pumping(isLastStep: true))
                if !toleratesLeftovers, !leftovers(time).isEmpty { failForLeftovers(time) }
            }
            endOwned(time)
        }
        endAll()
    }

    func setBody(cancel: @escaping @Sendable () -> Void) {
        state.withLock { $0.cancelBody = cancel }
    }

    func endBody() {
        state.change { state in
            state.hasBodyEnded = true
            state.changes += 1
        }
    }

    /// Ends everything: no thread could be started to run the test.
    func abandon() {
        state.withLock(\.cancelBody)?()
        endAll()
    }

    /// Fails the test from another thread, and leaves the scheduler's thread in the job that blocks it. Jobs that are ready go
    /// on elsewhere, and may let that job go on, too.
    func giveUp(_ time: ManualTime) {
        fail(.blocked, time)
        state.withLock(\.cancelBody)?()
        endAll()
    }

    /// Runs ready jobs on a second thread, one after the other, as long as the scheduler's thread is in the same job. That job
    /// may wait for one of them to cancel it, or to release a lock. The clock stands still.
    func relieve(_ steps: Int, _ time: ManualTime) {
        let baton = addBaton("beside a slow task", time)
        let isStarted = state.change { state -> Bool in
            guard state.steps == steps, !state.isEnding else { return false }
            baton.phase = .running
            state.current = baton
            return true
        }
        // If no thread can be started, nothing runs beside the job, and the patience ends.
        let thread = isStarted ? try? startThread { [self] in runBeside(steps, baton) } : nil
        if let thread { pthread_detach(thread) } else { end(baton) }
    }

    private func runBeside(_ steps: Int, _ baton: Baton) {
        state.withLock { $0.threads[pthread_self(), default: []].append(baton) }
        CurrentTime.with(baton.time) {
            while true {
                var job: ReadyJob?
                state.wait { state in
                    if state.steps != steps || state.isEnding { return true }
                    job = state.ready.next()
                    return job != nil
                }
                guard let job else { break }
                job.run(by: self)
            }
        }
        end(baton)
    }

    /// Shuts down the engines that the time owns: their sleeps throw, as when any engine ends.
    private func endOwned(_ time: ManualTime) {
        var owned = state.withLock { state in
            defer { state.owned = [:] }
            return state.owned
        }
        for engine in owned.values { (engine as? AnyTimerEngine)?.endInTest() }
        owned = [:]
        _ = pump(time, Pumping(isLastStep: true))
    }

    private func failForLeftovers(_ time: ManualTime) {
        let lines = leftovers(time)
        state.withLock { state in
            guard state.failure == nil else { return }
            state.failure = TestTimeFailure(reason: .leftovers, instant: time.now.description, pending: lines)
        }
    }

    private func endAll() {
        let (isFirst, jobs, requests) = state.change { state in
            let isFirst = !state.isOver
            state.isOver = true
            state.changes += 1
            state.cancelBody = nil
            defer { (state.requests, state.continuing) = ([], []) }
            return (isFirst, state.continuing + state.ready.takeAll(), state.requests)
        }
        if isFirst { CaughtTasks.close(self) }
        for request in requests { request.continuation.resume(returning: .max) }
        for job in jobs { job.runElsewhere(for: self) }
    }

    /// Waits on the time: for a loop that sleeps, or for a latch. The scheduler's own thread runs everything else inside the
    /// wait; another thread passes its baton on.
    func wait(
        _ time: ManualTime,
        until instant_ns: Int64,
        for deadline_ns: Int64,
        _ waiter: any VirtualWaiter
    ) -> VirtualWait {
        guard isOnItsThread else { return park(until: instant_ns, for: deadline_ns, waiter) }
        let outcome = pump(time, Pumping(waiter: waiter, until_ns: instant_ns, deadline_ns: deadline_ns))
        if case .nothing = outcome {
            fail(.deadlock, time)
            state.withLock(\.cancelBody)?()
            return .over
        }
        return outcome
    }
}

extension AnyTimerEngine {
    /// On virtual time there is no thread that this could wait for.
    fileprivate func endInTest() { core.shutdown() }
}
#endif
