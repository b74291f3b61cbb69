// SPDX-License-Identifier: Apache-2.0
import CBench
import Foundation
import HRTimerCore

/// A thread that runs tasks and fires their sleeps by one timerfd and an array in the order of deadlines: a minimal version
/// of platform executors for Swift, for comparison.
final class TimerFDSleeper: TaskExecutor {
    private struct State {
        var jobs: [UnownedJob] = []
        /// The latest first.
        var sleeps: [(deadline_ns: Int64, continuation: CheckedContinuation<Void, Never>)] = []
        var hasStopped = false
        /// The thread that runs the jobs; it need not wake itself.
        var thread: pthread_t?
    }

    private let state = Locked(State())
    private let timer: CInt
    private let wakeup: CInt

    init() throws {
        timer = cbench_timer_file()
        wakeup = cbench_event_file()
        guard timer >= 0, wakeup >= 0 else {
            throw BenchError("no timerfd or eventfd: \(String(cString: strerror(-min(timer, wakeup))))")
        }
        let thread = Thread { [self] in run() }
        thread.name = "bench-timerfd"
        thread.start()
    }

    deinit {
        close(timer)
        close(wakeup)
    }

    func stop() {
        state.withLock { $0.hasStopped = true }
        wake()
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let isOwn = state.withLock { state in
            state.jobs.append(job)
            return state.thread.map { pthread_equal($0, pthread_self()) != 0 } ?? false
        }
        if !isOwn { wake() }
    }

    func sleep(until_ns deadline_ns: Int64) async {
        await withCheckedContinuation { continuation in
            state.withLock { state in
                let place = state.sleeps.firstIndex { $0.deadline_ns < deadline_ns } ?? state.sleeps.count
                state.sleeps.insert((deadline_ns, continuation), at: place)
            }
            // No wake: this runs on the thread itself, which checks the deadlines before it waits again.
        }
    }

    private func wake() {
        var one: UInt64 = 1
        _ = write(wakeup, &one, 8)
    }

    private func run() {
        state.withLock { $0.thread = pthread_self() }
        var descriptors = [
            pollfd(fd: timer, events: Int16(POLLIN), revents: 0), pollfd(fd: wakeup, events: Int16(POLLIN), revents: 0),
        ]
        while true {
            let (jobs, due, next_ns, hasStopped) = take()
            for job in jobs { job.runSynchronously(on: asUnownedTaskExecutor()) }
            for continuation in due { continuation.resume() }
            if hasStopped { return }
            if !jobs.isEmpty || !due.isEmpty { continue }
            if let next_ns { _ = cbench_timer_file_set(timer, next_ns) }
            _ = poll(&descriptors, 2, -1)
            var count: UInt64 = 0
            for descriptor in descriptors where descriptor.revents != 0 { _ = read(descriptor.fd, &count, 8) }
        }
    }

    private func take() -> ([UnownedJob], [CheckedContinuation<Void, Never>], next_ns: Int64?, hasStopped: Bool) {
        state.withLock { state in
            let now_ns = cbench_now_ns()
            var due: [CheckedContinuation<Void, Never>] = []
            while let last = state.sleeps.last, last.deadline_ns <= now_ns {
                due.append(last.continuation)
                state.sleeps.removeLast()
            }
            let jobs = state.jobs
            state.jobs = []
            return (jobs, due, state.sleeps.last?.deadline_ns, state.hasStopped)
        }
    }
}
