// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CEnqueueHook
import Dispatch
import HRTimer
import HRTimerLibc

/// The tasks without an executor of their own, each with the virtual time that it belongs to: `Task {}` inherits no executor.
/// The runtime's `swift_task_enqueueGlobal_hook` catches them; they are known by their numbers.
///
/// A task that is made by code in a virtual time belongs to that time, from its first job to its last, no matter which thread
/// resumes it. While no virtual time is open, no hook is installed.
enum CaughtTasks {
    private struct State {
        var times = 0
        var owners: [UInt64: DeterministicScheduler] = [:]
        /// Tasks that were first seen outside of all virtual times.
        var foreign = TaskNumbers()
        /// The schedulers that have tasks on the main actor.
        var onMainActor: [DeterministicScheduler] = []
    }

    private static let state = Monitor(State())

    /// Registers a virtual time that begins, and installs the hook. Returns false if the runtime's hook does not work: then
    /// `Task {}` runs in real time, as outside of the virtual time.
    static func open(_ scheduler: DeterministicScheduler) -> Bool {
        let works = hookWorks
        if !works { reportThatNoneAreCaught() }
        return state.withLock { state in
            state.times += 1
            if scheduler.servesMainActor { state.onMainActor.append(scheduler) }
            return unsafe works && ceh_install { unsafe CaughtTasks.take($0) }
        }
    }

    static func close(_ scheduler: DeterministicScheduler) {
        state.withLock { state in
            state.owners = state.owners.filter { $0.value !== scheduler }
            state.onMainActor.removeAll { $0 === scheduler }
            state.times -= 1
            guard state.times == 0 else { return }
            ceh_remove()
            state.foreign = TaskNumbers()
        }
    }

    /// Installs the hook again if none is there: other code may have installed its own, and left none at its end.
    static func keepHook() { ceh_keep() }

    /// Returns the number of the job's task, which belongs to the scheduler from now on; 0 if the job has no task.
    /// Safe: an `UnownedJob` is the job's address.
    static func add(_ job: UnownedJob, to scheduler: DeterministicScheduler) -> UInt64 {
        let task = unsafe ceh_task_of(unsafeBitCast(job, to: UnsafeMutableRawPointer.self))
        if task != 0 { state.withLock { $0.owners[task] = scheduler } }
        return task
    }

    /// The number of the calling task; 0 outside of tasks. Safe: `UnsafeCurrentTask` is the task's address, used only in the
    /// closure.
    static var currentTask: UInt64 {
        unsafe withUnsafeCurrentTask { task -> UInt64 in
            unsafe task.map { unsafe ceh_task_of(unsafeBitCast($0, to: UnsafeMutableRawPointer.self)) } ?? 0
        }
    }

    /// Makes the calling task, which was first seen as a foreign one, belong to the scheduler from now on. Tasks of the main
    /// actor are recognized by their first sleep on this time.
    static func adoptCurrentTask(for scheduler: DeterministicScheduler) {
        let task = currentTask
        if task >= scheduler.firstTask, task != 0 { state.withLock { $0.owners[task] = scheduler } }
    }

    /// Decides about a job that the runtime hands out. Safe: the hook passes a job's address, which is all that `UnownedJob` is, and a job
    /// that is taken runs once.
    private static func take(_ address: UnsafeMutableRawPointer) -> Bool {
        let task = unsafe ceh_task_of(address)
        // The virtual time of the thread, or of the task that runs on it.
        let here = (CurrentTime.virtual as? ManualTime)?.scheduler
        let (owner, doubting) = state.withLock { state -> (DeterministicScheduler?, [DeterministicScheduler]) in
            // An actor's own job belongs to no task.
            if task == 0 { return (here, []) }
            if let owner = state.owners[task] { return (owner, []) }
            guard let here, task >= here.firstTask, !state.foreign.contains(task) else {
                if state.times > 0 { state.foreign.insert(task) }
                return (nil, state.onMainActor.isEmpty ? [] : state.onMainActor.filter { task >= $0.firstTask })
            }
            return (here, [])
        }
        guard let owner else { return unsafe !doubting.isEmpty && MainQueue.isHeld && run(address, doubting) }
        return unsafe owner.take(unsafeBitCast(address, to: UnownedJob.self))
    }
}

// The runtime promises nothing of its hook, so it is tried, once.
extension CaughtTasks {
    /// What the hook was called for while it was tried, by the thread that tried it.
    private static let tried = Locked<(thread: pthread_t?, tasks: [UInt64])>((nil, []))

    /// Whether the runtime calls the hook when a task is made, on the thread that makes it, and gives each task a number of its own.
    private static let hookWorks: Bool = {
        tried.withLock { $0.thread = pthread_self() }
        // Safe: the runtime calls the hook with a job, which is only asked for its task's number.
        let isThere = unsafe ceh_install { job in
            tried.withLock { if $0.thread == pthread_self() { $0.tasks.append(unsafe ceh_task_of(job)) } }
            return false
        }
        if isThere {
            for _ in 1...2 { Task.detached {} }
            ceh_remove()
        }
        let tasks = tried.withLock { tried in
            tried.thread = nil
            return tried.tasks
        }
        let works = tasks.count == 2 && tasks[0] != tasks[1] && !tasks.contains(0)
        if !works { ceh_distrust_numbers() }
        return works
    }()

    private static func reportThatNoneAreCaught() {
        UsageWarning.report(
            UsageWarning(
                .runtimeDiffers,
                "Swift's runtime does not call its hook for new tasks as it did up to 6.4: Task {} runs in real time in this virtual time; "
                    + "use a task group or async let, or a newer version of this library"
            )
        )
    }
}

extension CaughtTasks {
    /// Runs a job that leaves the main actor and may belong to one of these times: what the main actor runs is not seen, and
    /// its tasks leave it without their task-local values. The job runs where it would have run anyway, and the clocks of these
    /// times wait for its end (`unmanagedJobs`).
    private static func run(_ address: UnsafeMutableRawPointer, _ doubting: [DeterministicScheduler]) -> Bool {
        let job = unsafe unsafeBitCast(address, to: UnownedJob.self)
        for scheduler in doubting { scheduler.beginUnmanagedJob() }
        DispatchQueue.global().async {
            unsafe job.runSynchronously(on: .generic)
            for scheduler in doubting { scheduler.endUnmanagedJob() }
        }
        return true
    }
}

/// A set of task numbers, which the runtime gives one after the other: one bit for each, starting somewhat below the first
/// number that was inserted.
private struct TaskNumbers {
    private var first: UInt64?
    private var words: [UInt64] = []

    /// How many task numbers are recorded at most, which take 16 MB; tasks beyond them are not recorded.
    private static let limit: UInt64 = 1 << 27

    private func offset(_ task: UInt64) -> UInt64? {
        guard let first, task >= first, task - first < Self.limit else { return nil }
        return task - first
    }

    func contains(_ task: UInt64) -> Bool {
        guard let offset = offset(task), offset / 64 < words.count else { return false }
        return words[Int(offset / 64)] >> (offset % 64) & 1 == 1
    }

    mutating func insert(_ task: UInt64) {
        // Tasks with somewhat lower numbers may come later.
        if first == nil { first = task - min(task, 1 << 16) }
        guard let offset = offset(task) else { return }
        let word = Int(offset / 64)
        if word >= words.count { words.append(contentsOf: repeatElement(0, count: word + 1 - words.count)) }
        words[word] |= 1 << (offset % 64)
    }
}
#endif
