#if os(Linux)
#if compiler(>=6.3)
import CHRTimer
@_spi(ExperimentalCustomExecutors) import _Concurrency
import Dispatch
import HRTimerLibc
import HRTimer
import Synchronization

/// The sleeps of all tasks on the pool, and the threads that wait for their deadlines: a few of libdispatch's threads,
/// which wait on one shared alarm as leader and followers.
///
/// The thread that the alarm wakes makes ready the task whose sleep is over, and runs that task itself, so that a sleep
/// takes one switch of threads. Meanwhile the next thread waits. The last waiting thread never leaves: the tasks that it
/// makes ready resume in libdispatch's pool. If a thread finds a crowd of sleeps, their tasks resume there, too.
///
/// Unless sleeps coalesce, the thread wakes a lead before the deadline and spins until the deadline: one thread at a time.
final class Sleeps: Sendable {
    private let state: Locked<State>
    private let sharedAlarm: SharedAlarm
    /// The number of threads that wait on the shared alarm, or are about to.
    private let waiting = Atomic(0)
    private let isSpinning = Atomic(false)
    /// Nil unless sleeps are precise.
    private let warmUp: CacheWarmUp?
    /// Whether tolerances have an effect.
    let coalesces: Bool

    private struct State: ~Copyable, Sendable {
        var monotonic: SleepQueue
        var bootTime: SleepQueue
        /// Nil where no thread is woken early.
        let lead: SleepLead?
        var threads = 0

        /// Counts one more thread, which the caller starts after it has released the lock. Returns false if there are too
        /// many.
        mutating func addThread(atMost most: Int) -> Bool {
            if threads >= most { return false }
            threads += 1
            return true
        }
    }

    init(_ precision: TimerPrecision, _ spinBudget: Double?) {
        let sharedAlarm: SharedAlarm
        do {
            sharedAlarm = try SharedAlarm()
        } catch {
            // Ends the program, as the shared engines do: a sleep cannot fail.
            fatalError("TimerExecutors could not \(error)")
        }
        let lead: SleepLead? =
            switch precision {
            case .coalesced: nil
            // The lead is the latency that nine wakes of ten have anyway. Only the tenth spins, for next to no time.
            case .normal: SleepLead(min(spinBudget ?? 1, 0.001), coverage: 0.1, warmsUp: false)
            case .precise: SleepLead(spinBudget, coverage: SpinWindow.defaultCoverage, warmsUp: true)
            }
        self.sharedAlarm = sharedAlarm
        coalesces = precision == .coalesced
        warmUp = lead?.warmUp
        state = Locked(
            State(
                monotonic: SleepQueue(.monotonic, precision, sharedAlarm),
                bootTime: SleepQueue(.bootTime, precision, sharedAlarm),
                lead: lead
            )
        )
    }

    /// The number of sleeps that are not over, including cancelled ones.
    var count: Int { state.withLock { $0.monotonic.count + $0.bootTime.count } }

    /// Runs the job when the deadline has come, never before. `tolerance_ns` is 0 where sleeps do not coalesce.
    func add(_ job: UnownedJob, _ deadline: SleepDeadline, tolerance_ns: Int64) {
        var sleep = Sleep(job: job)
        let deadline_ns: Int64
        switch deadline {
        case .monotonic(let given_ns), .bootTime(let given_ns):
            deadline_ns = given_ns
            // Called by the sleeping task.
            if let warmUp, withUnsafeCurrentTask(body: { $0.map { warmUp.keep(job, of: $0) } ?? false }) {
                return
            }
        case .other(let remaining):
            guard let wait = remaining() else { return job.runAsInPool() }
            deadline_ns = TimeBase.kernel.now_ns.addingSaturating(wait.nanosecondsRoundedUp)
            sleep.otherClock = deadline
        }
        let isFirst = state.withLock { state in
            if case .bootTime = deadline {
                state.bootTime.add(sleep, deadline_ns, tolerance_ns: tolerance_ns, state.lead)
            } else {
                state.monotonic.add(sleep, deadline_ns, tolerance_ns: tolerance_ns, state.lead)
            }
            return state.addThread(atMost: 1)
        }
        if isFirst {
            startThread()
            warmUp?.start()
        }
    }
}

// The threads.
extension Sleeps {
    /// As many threads as there can be tasks that run at once, and one that waits.
    private static let mostThreads = 1 + max(2, sysconf(Int32(_SC_NPROCESSORS_ONLN)))

    /// Starts a thread on a queue of its own. That thread is not among those that libdispatch counts for its pool.
    private func startThread() {
        // libdispatch may start the thread from this one, which may be an engine's; see `startThread(_:)`.
        let origin = UInt(bitPattern: hrt_thread_origin_copy())
        DispatchQueue(label: "hrtimer-sleep").async { [self] in
            hrt_thread_set_name("hrtimer-sleep")
            hrt_thread_adopt(OpaquePointer(bitPattern: origin))
            while true {
                waiting.add(1, ordering: .sequentiallyConsistent)
                sharedAlarm.wait()
                waiting.subtract(1, ordering: .sequentiallyConsistent)
                endSleeps()
            }
        }
    }

    private func endSleeps() {
        var most = 8
        var wantsTidying = false
        while true {
            var taken = SleepQueue.Taken()
            var leaves = false
            var startsThread = false
            state.withLock { state in
                // A thread that is about to take sleeps here no longer counts as waiting.
                let canLeave = waiting.load(ordering: .sequentiallyConsistent) > 0
                let maySpin = canLeave && !isSpinning.load(ordering: .relaxed)
                state.monotonic.take(&taken, atMost: most, state.lead, maySpin: maySpin)
                state.bootTime.take(&taken, atMost: most, state.lead, maySpin: maySpin && !taken.hasMore)
                if taken.isEarly { isSpinning.store(true, ordering: .relaxed) }
                leaves = taken.first != nil && canLeave && !taken.hasMore
                startsThread = taken.first != nil && !canLeave && state.addThread(atMost: Self.mostThreads)
            }
            if startsThread { startThread() }
            wantsTidying = wantsTidying || taken.wantsTidying
            if !leaves, let first = taken.first { end(first.sleep) }
            for sleep in taken.others { end(sleep) }
            if leaves, let first = taken.first { resumeHere(first, taken.passed) }
            if !taken.hasMore { break }
            most = 64
        }
        while wantsTidying { wantsTidying = state.withLock { $0.monotonic.tidy() || $0.bootTime.tidy() } }
    }

    /// Ends a sleep: resumes the task in the pool, or on its own executor.
    private func end(_ sleep: Sleep) {
        if let clock = sleep.otherClock {
            add(sleep.job, clock, tolerance_ns: 0)
        } else {
            sleep.job.runAsInPool()
        }
    }

    /// Resumes the task on this thread, if its executor allows that. `passed` is nil if the deadline has come.
    private func resumeHere(_ first: SleepQueue.First, _ passed: SleepQueue.PassedAlarm?) {
        let job = first.sleep.job
        guard let passed else { return LeaderJob.run { job.runAsInPool() } }
        note(passed, first.time)
        warmUp?.run(before: first.deadline_ns, on: first.time)
        // No task may be resumed before the deadline: a task that has not suspended yet would resume at once on its own
        // thread, and a task of a busy actor would resume on the actor's.
        spin(until: first.deadline_ns, first.time)
        LeaderJob.run { job.runAsInPool() }
        warmUp?.prepare()
    }

    private func note(_ passed: SleepQueue.PassedAlarm, _ time: TimeBase) {
        let latency_ns = time.now_ns - passed.at_ns
        state.withLock { $0.lead?.record(latency_ns, ofSleep: passed.length_ns) }
    }

    /// Spins until the deadline. The time to spin was recorded before. If the processor was taken away meanwhile, the part
    /// that was not spun is taken back.
    private func spin(until deadline_ns: Int64, _ time: TimeBase) {
        let begun_ns = time.now_ns
        let spun_ns = time.spin(until: deadline_ns, from: begun_ns).spun_ns
        isSpinning.store(false, ordering: .relaxed)
        if spun_ns < deadline_ns - begun_ns { takeBack(deadline_ns - begun_ns - spun_ns) }
    }

    @inline(never)
    private func takeBack(_ unspun_ns: Int64) {
        state.withLock { $0.lead?.takeBack(unspun_ns) }
    }
}
#endif
#endif
