import Glibc
import HRTimerCore

/// Jobs of Swift's runtime that run on a host's thread in the order in which they came, those of tasks and of actors alike;
/// when the host has ended, on libdispatch's. To actors it is their executor.
package final class JobQueue: SerialExecutor {
    /// What runs an actor's job, if it is not this executor that the actor knows.
    package typealias Run = @Sendable (UnownedJob) -> Void

    package let host: TimerHost
    /// What keeps the thread there: the handle of an engine or of a loop's thread.
    private let keeper: (any AnyObject & Sendable)?
    private let runs: Run?
    private let state = Locked(State())

    fileprivate struct Entry: Sendable {
        let job: UnownedJob
        /// Of a task that prefers it; nil for an actor's job.
        let executor: TimerExecutor?
    }

    fileprivate struct State: Sendable {
        var entries: [Entry] = []
        /// The former array, empty, so that its memory is used again.
        var spare: [Entry] = []
        /// Somebody is about to run them: the host by a work item, or libdispatch.
        var isCalled = false
        /// A thread is in the midst of jobs: nobody else runs any, neither beside it nor inside of one.
        var isRunning = false
        var hasHost = true
    }

    package init(_ host: TimerHost, keeper: (any AnyObject & Sendable)? = nil, running: Run? = nil) {
        self.host = host
        self.keeper = keeper
        runs = running
    }

    /// The queue whose job the calling thread runs; nil if it runs none.
    package static var current: JobQueue? { CurrentQueue.value }

    var isCurrent: Bool { CurrentQueue.value === self || host.isOnItsThread }
}

// What Swift's runtime calls.
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
    /// `executor` if it is the job of a task that prefers it.
    package func add(_ job: UnownedJob, _ executor: TimerExecutor?) {
        let mustCall = state.withLock { state in
            state.entries.append(Entry(job: job, executor: executor))
            return state.call()
        }
        if mustCall { call() }
    }

    /// Calls `body` on the host's thread, and then at once what jobs it made ready.
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

    /// As what it was enqueued for, so that code of the same kind goes on without being enqueued again.
    private func run(_ entry: Entry) {
        if let executor = entry.executor {
            entry.job.runSynchronously(on: executor.asUnownedTaskExecutor())
        } else if let runs {
            runs(entry.job)
        } else {
            entry.job.runSynchronously(on: asUnownedSerialExecutor())
        }
    }

    /// Asks the host to run the jobs. One that has ended drops the work item.
    private func call() {
        let workItem = WorkItem(self)
        guard state.withLock({ $0.hasHost }) else { return workItem.runElsewhere() }
        host.runSoon { workItem.run() }
    }

    /// One call of the host. It has an effect whether the host makes the call or drops it.
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
            // The host has let go of it without a call: it has ended.
            guard isDone.withLock({ !$0 }) else { return }
            queue.state.withLock { $0.hasHost = false }
            WorkItem(queue).runElsewhere()
        }
    }
}

extension JobQueue.State {
    /// True if somebody must be called: nobody is there, and nobody is about to come.
    fileprivate mutating func call() -> Bool {
        if isRunning || isCalled { return false }
        isCalled = true
        return true
    }

    /// False if a thread is in the midst of jobs, maybe the calling one.
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

    /// True if more came meanwhile, and somebody must be called for them. Takes the empty array back.
    fileprivate mutating func end(_ empty: inout [JobQueue.Entry]) -> Bool {
        isRunning = false
        swap(&spare, &empty)
        return entries.isEmpty ? false : call()
    }
}

/// The queue whose jobs a thread runs, in a thread-specific value.
private enum CurrentQueue {
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let error = pthread_key_create(&key, nil)
        precondition(error == 0, "no thread-specific key is left for executors: pthread_key_create(3)")
        return key
    }()

    static var value: JobQueue? {
        get { pthread_getspecific(key).map { Unmanaged<JobQueue>.fromOpaque($0).takeUnretainedValue() } }
        // The thread that runs the jobs holds the queue until they are done.
        set { pthread_setspecific(key, newValue.map { Unmanaged.passUnretained($0).toOpaque() }) }
    }
}
