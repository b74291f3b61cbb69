// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import HRTimerLibc

/// A queue of jobs of Swift's runtime, of tasks and actors alike. They run on a host's thread in the order in which they
/// came; after the host has ended they run on libdispatch's threads. For actors the queue is their executor.
package final class JobQueue: SerialExecutor {
    /// Runs an actor's job, if the actor's executor is an object other than this queue.
    package typealias Run = @Sendable (UnownedJob) -> Void

    package let host: any TimerHost
    /// Keeps the thread running: the handle of an engine or of a loop's thread.
    private let keeper: (any AnyObject & Sendable)?
    private let runs: Run?
    private let state = Locked(State())

    fileprivate struct Entry: Sendable {
        let job: UnownedJob
        /// The task executor that the job's task prefers; nil for an actor's job.
        let executor: TimerExecutor?
    }

    fileprivate struct State: Sendable {
        var entries: [Entry] = []
        /// The former array, emptied, to reuse its memory.
        var spare: [Entry] = []
        /// Whether the host, by a work item, or libdispatch is about to run the jobs.
        var isCalled = false
        /// Whether a thread runs jobs. Meanwhile no other thread runs any, and no job runs inside another one.
        var isRunning = false
        var hasHost = true
    }

    package init(_ host: any TimerHost, keeper: (any AnyObject & Sendable)? = nil, running: Run? = nil) {
        self.host = host
        self.keeper = keeper
        runs = running
    }

    /// The queue whose job the calling thread runs; nil if it runs none.
    package static var current: JobQueue? { CurrentQueue.value }

    var isCurrent: Bool { CurrentQueue.value === self || host.isOnItsThread }
}

// The functions that Swift's runtime calls.
extension JobQueue {
    package func enqueue(_ job: consuming ExecutorJob) {
        add(UnownedJob(job), nil)
    }

    package func isIsolatingCurrentContext() -> Bool? { isCurrent }

    package func checkIsolated() {
        precondition(isCurrent, "this is not the thread of the actor's TimerExecutor")
    }
}

extension JobQueue {
    /// Adds a job. `executor` is the task executor that the job's task prefers; nil for an actor's job.
    package func add(_ job: UnownedJob, _ executor: TimerExecutor?) {
        let mustCall = state.withLock { state in
            state.entries.append(Entry(job: job, executor: executor))
            return state.call()
        }
        if mustCall { call() }
    }

    /// Calls `body` on the host's thread, and then at once runs the jobs that `body` made ready.
    package func resuming(_ body: () -> Void) {
        guard state.withLock({ $0.begin() }) else { return body() }
        body()
        runJobs()
    }

    private func run() {
        guard state.withLock({ $0.begin() }) else { return }
        runJobs()
    }

    private func runJobs() {
        var entries = state.withLock { $0.takeEntries() }
        let before = CurrentQueue.value
        CurrentQueue.value = self
        for entry in entries { run(entry) }
        CurrentQueue.value = before
        entries.removeAll(keepingCapacity: entries.capacity <= 1024)
        if state.withLock({ $0.end(&entries) }) { call() }
    }

    /// Runs the job on the executor for which it was enqueued, so that code on the same executor continues without being
    /// enqueued again. Safe: each job is taken out of the queue and runs once, on the executor that holds it.
    private func run(_ entry: Entry) {
        if let executor = entry.executor {
            unsafe entry.job.runSynchronously(on: executor.asUnownedTaskExecutor())
        } else if let runs {
            runs(entry.job)
        } else {
            unsafe entry.job.runSynchronously(on: asUnownedSerialExecutor())
        }
    }

    /// Has the host run the jobs, by a work item. A host that has ended drops the work item.
    private func call() {
        let workItem = WorkItem(self)
        guard state.withLock({ $0.hasHost }) else { return workItem.runElsewhere() }
        host.submit { workItem.run() }
    }

    /// One call by the host. The jobs run whether the host makes the call or drops it.
    private final class WorkItem: Sendable {
        private let queue: JobQueue
        private let isDone = Locked(false)

        init(_ queue: JobQueue) {
            self.queue = queue
        }

        func run() {
            isDone.withLock { $0 = true }
            queue.state.withLock { $0.isCalled = false }
            queue.run()
        }

        func runElsewhere() {
            isDone.withLock { $0 = true }
            JobQueue.runOnDispatch { [queue] in
                queue.state.withLock { $0.isCalled = false }
                queue.run()
            }
        }

        deinit {
            // The host has dropped the work item without a call: it has ended.
            guard isDone.withLock({ !$0 }) else { return }
            queue.state.withLock { $0.hasHost = false }
            WorkItem(queue).runElsewhere()
        }
    }
}

extension JobQueue.State {
    /// Returns true if the caller must call the host: no thread runs jobs, and no call is pending.
    fileprivate mutating func call() -> Bool {
        if isRunning || isCalled { return false }
        isCalled = true
        return true
    }

    /// Begins to run jobs. Returns false if a thread already runs jobs, perhaps the calling one.
    fileprivate mutating func begin() -> Bool {
        defer { isRunning = true }
        return !isRunning
    }

    fileprivate mutating func takeEntries() -> [JobQueue.Entry] {
        var taken: [JobQueue.Entry] = []
        swap(&taken, &entries)
        swap(&entries, &spare)
        return taken
    }

    /// Ends running jobs, and takes the empty array back. Returns true if more jobs came meanwhile, and the caller must call
    /// the host.
    fileprivate mutating func end(_ empty: inout [JobQueue.Entry]) -> Bool {
        isRunning = false
        swap(&spare, &empty)
        return entries.isEmpty ? false : call()
    }
}

/// The queue whose jobs the calling thread runs, in a thread-specific value.
private enum CurrentQueue {
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let error = unsafe pthread_key_create(&key, nil)
        precondition(error == 0, "no thread-specific key is left for executors: pthread_key_create(3)")
        return key
    }()

    static var value: JobQueue? {
        get { unsafe pthread_getspecific(key).map { unsafe Unmanaged<JobQueue>.fromOpaque($0).takeUnretainedValue() } }
        // Safe: the thread that runs the jobs holds the queue until they are done.
        set { unsafe pthread_setspecific(key, newValue.map { unsafe Unmanaged.passUnretained($0).toOpaque() }) }
    }
}
#endif
