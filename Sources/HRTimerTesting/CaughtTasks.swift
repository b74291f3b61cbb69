import CEnqueueHook
import HRTimer

/// Which tasks belong to which virtual time, of those that have no executor of their own: `Task {}` does not inherit one.
///
/// What is made by code that runs in a virtual time belongs to that, from its first job to its last, whoever resumes it. While no
/// such time is open nothing is hooked in.
enum CaughtTasks {
    private struct State {
        var times = 0
        var owners: [UInt64: Conductor] = [:]
        /// Seen first outside of all virtual times.
        var foreign = TaskNumbers()
    }

    private static let state = Monitor(State())

    /// False if the runtime has no hook.
    static func open() -> Bool {
        state.withLock { state in
            state.times += 1
            return ceh_install { CaughtTasks.take($0) }
        }
    }

    static func close(_ conductor: Conductor) {
        state.withLock { state in
            state.owners = state.owners.filter { $0.value !== conductor }
            state.times -= 1
            guard state.times == 0 else { return }
            ceh_remove()
            state.foreign = TaskNumbers()
        }
    }

    /// The number of the job's task, which belongs to the conductor from now on.
    static func add(_ job: UnownedJob, to conductor: Conductor) -> UInt64 {
        let task = ceh_task_of(unsafeBitCast(job, to: UnsafeMutableRawPointer.self))
        if task != 0 { state.withLock { $0.owners[task] = conductor } }
        return task
    }

    private static func take(_ address: UnsafeMutableRawPointer) -> Bool {
        let task = ceh_task_of(address)
        // The thread's, or that of the task that runs on it: so those of the main actor are known.
        let here = (CurrentTime.virtual as? ManualTime)?.conductor
        let owner = state.withLock { state -> Conductor? in
            // What an actor has to do is no task's.
            if task == 0 { return here }
            if let owner = state.owners[task] { return owner }
            guard let here, task >= here.firstTask, !state.foreign.contains(task) else {
                if state.times > 0 { state.foreign.insert(task) }
                return nil
            }
            return here
        }
        guard let owner else { return false }
        return owner.take(unsafeBitCast(address, to: UnownedJob.self))
    }
}

/// Numbers of tasks, which the runtime gives one after the other: a bit each, from somewhat before the first that was inserted on.
private struct TaskNumbers {
    private var first: UInt64?
    private var words: [UInt64] = []

    /// Of more than that many tasks no note is taken, which take 16 MB.
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
        // Somewhat older ones may come later.
        if first == nil { first = task - min(task, 1 << 16) }
        guard let offset = offset(task) else { return }
        let word = Int(offset / 64)
        if word >= words.count { words.append(contentsOf: repeatElement(0, count: word + 1 - words.count)) }
        words[word] |= 1 << (offset % 64)
    }
}
