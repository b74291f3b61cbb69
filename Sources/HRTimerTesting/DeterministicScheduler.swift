// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import HRTimer
import HRTimerLibc

/// Decides what runs next in a virtual time: one thing at a time. The clock moves only when there is nothing else to do.
///
/// Its thread runs the ready jobs of all tasks, one by one, and what falls due on engines. Loops with threads of their own,
/// blocks on queues and `enter` run in between, each with a baton (`Baton`). So the scheduler knows when the time is idle, and
/// need not guess: no job is ready, no thread has or wants the baton, no loop is woken, nothing is due, nothing is held.
///
/// One lock guards `State`. It is not held while a job runs, or an engine is asked.
final class DeterministicScheduler: Sendable {
    struct State {
        /// The ready jobs, in the order in which they became ready.
        var ready = JobLine()
        /// Jobs that run before all others, the last first: those of the running task, which only changes executors.
        var continuing: [ReadyJob] = []
        /// All batons that have not ended, by number.
        var batons: [Baton] = []
        /// The baton that runs, while all others wait for it; nil if the scheduler's thread runs.
        var current: Baton?
        var holds: [Int: String] = [:]
        var lastNumber = 0
        var requests: [Request] = []
        /// Each task's number, in the order in which tasks were first seen, by the runtime's number.
        var tasks: [UInt64: Int] = [:]
        var firstTask: UInt64 = .max
        /// How many jobs were added to `continuing` in a row.
        var continued = 0
        /// What the scheduler's thread runs: a job, or an engine; nil while it decides what comes next.
        var step: TestTime.Event.What?
        /// The runtime's number of the task whose job runs; 0 if no task's job runs.
        var runningID: UInt64 = 0
        /// How many jobs and engines the scheduler's thread is in: they may be nested.
        var depth = 0
        /// Counts the changes of `step`.
        var steps = 0
        var sleeps: [Int: Sleep] = [:]
        /// This time's own instances of the process's singletons, such as shared engines.
        var owned: [ObjectIdentifier: any AnyObject & Sendable] = [:]
        var trace: [TestTime.Event] = []
        /// The latest move of the clock, until something happens at its instant: only then is it added to the trace.
        var move: Move?
        var thread: pthread_t?
        /// The batons of each thread, the innermost last.
        var threads: [pthread_t: [Baton]] = [:]
        /// Counts the changes that may be a reason to look for work again.
        var changes = 0
        var roundsOfMainQueue = 0
        /// How many jobs that left the main actor, and may be this time's, run elsewhere. The clock waits for their end.
        var unmanagedJobs = 0
        var cancelBody: (@Sendable () -> Void)?
        var hasBodyEnded = false
        var failure: TestTimeFailure?
        var isOver = false

        /// Whether the clock does not move any more.
        var isEnding: Bool { failure != nil || isOver }

        var isOnItsThread: Bool { thread.map { pthread_equal($0, pthread_self()) != 0 } ?? false }

        /// Returns the number of the task with that number of the runtime's.
        mutating func number(of id: UInt64) -> Int {
            let number = tasks[id] ?? tasks.count
            tasks[id] = number
            return number
        }

        /// Adds a job that is ready. A task that enqueues itself was not suspended: it changes executors. The runtime takes a
        /// task without a preference to be on the wrong executor here, so the task enqueues itself at each call of a function
        /// that belongs to no actor, unless the function is inlined. Its code may then hold a lock that other tasks want on
        /// this very thread, so its job runs first. But a task that does nothing else lets others run after `mostContinued`
        /// such jobs.
        mutating func add(_ job: ReadyJob) {
            if job.id == runningID, isOnItsThread, continued < DeterministicScheduler.mostContinued {
                continued += 1
                continuing.append(job)
            } else {
                if job.id == runningID { continued = 0 }
                ready.append(job)
            }
        }
    }

    struct Move {
        let instant: MonotonicInstant
        /// Whether the clock moved to a deadline, and not only to an instant that a test has requested.
        let isToDeadline: Bool
    }

    /// A task that sleeps on a clock of this time.
    struct Sleep {
        let deadline_ns: Int64
        let participant: ObjectIdentifier
        let name: String?
        let isBackground: Bool
    }

    /// A request of a task that has called a method of `TestTime` and waits for its result.
    struct Request {
        enum Kind {
            case idle
            case nextSleep
            case advance(to_ns: Int64)
            case run(limit: Int, moves: Int)
        }

        var kind: Kind
        let place: String
        let continuation: CheckedContinuation<Int64, Never>
    }

    /// More calls than code makes while it holds a lock.
    static let mostContinued = 1000

    let state = Monitor(State())
    let patience_ns: Int64
    /// How long everything else waits for a thread with the baton, and a baton for what the scheduler's thread runs.
    let slow_ns: Int64
    let servesMainActor: Bool
    /// The seed of the order of tasks, and of random numbers in the test.
    let seed: UInt64

    init(_ options: TestTimeOptions, servesMainActor: Bool) {
        patience_ns = max(1, options.patience.nanosecondsRoundedUp)
        slow_ns = min(patience_ns, options.slowness.nanosecondsRoundedUp)
        self.servesMainActor = servesMainActor
        seed = options.seed ?? 0
        state.withLock { $0.ready = JobLine(seed: options.seed) }
    }

    var firstTask: UInt64 { state.withLock(\.firstTask) }

    var isOnItsThread: Bool { state.withLock(\.isOnItsThread) }
}

// Any thread.
extension DeterministicScheduler: TaskExecutor {
    /// Takes a job of a task that prefers this executor: the body's task, or one of its child tasks.
    func enqueue(_ job: consuming ExecutorJob) {
        if let late = append(UnownedJob(job), isPreferring: true) { late.runElsewhere(for: self) }
    }

    /// Takes a job of a task that prefers no executor. Returns false, and does not take the job, if the time is over.
    func take(_ job: UnownedJob) -> Bool { append(job, isPreferring: false) == nil }

    /// Adds the job, or returns it if the time is over.
    private func append(_ job: UnownedJob, isPreferring: Bool) -> ReadyJob? {
        let id = CaughtTasks.add(job, to: self)
        return state.change { state -> ReadyJob? in
            state.changes += 1
            if state.firstTask == .max { state.firstTask = id }
            let job = ReadyJob(job: job, isPreferring: isPreferring, id: id, task: state.number(of: id))
            if state.isOver { return job }
            state.add(job)
            return nil
        }
    }

    /// Holds the clock. Calls of handlers on an actor do so too: the main actor's executor does not report that it has jobs.
    func hold(_ reason: String) -> TimeHold {
        let number = state.withLock { state in
            state.lastNumber += 1
            state.holds[state.lastNumber] = reason
            return state.lastNumber
        }
        return TimeHold(self, number)
    }

    func beginUnmanagedJob() {
        state.change { state in
            state.unmanagedJobs += 1
            state.changes += 1
        }
    }

    func endUnmanagedJob() {
        state.change { state in
            state.unmanagedJobs -= 1
            state.changes += 1
        }
    }

    func endHold(_ number: Int) {
        state.change { state in
            if state.holds.removeValue(forKey: number) != nil { state.changes += 1 }
        }
    }

    func ask(_ kind: Request.Kind, _ place: String) async -> Int64 {
        await withCheckedContinuation { continuation in
            let isLate = state.change { state in
                state.changes += 1
                if state.isEnding { return true }
                state.requests.append(Request(kind: kind, place: place, continuation: continuation))
                return false
            }
            if isLate { continuation.resume(returning: .max) }
        }
    }

    func noteSleep(until deadline_ns: Int64, on participant: ObjectIdentifier) {
        let name = Task.name
        let isBackground = TestTime.isBackground
        guard isOnItsThread else { return CaughtTasks.adoptCurrentTask(for: self) }
        let id = CaughtTasks.currentTask
        state.withLock { state in
            // Not the task of the job that runs: an actor's job runs parts of several tasks.
            state.sleeps[state.number(of: id)] = Sleep(
                deadline_ns: deadline_ns,
                participant: participant,
                name: name,
                isBackground: isBackground
            )
        }
    }

    /// Any thread: a test that has ended resumes its tasks elsewhere.
    func noteEndOfSleep() {
        let id = CaughtTasks.currentTask
        state.withLock { state in
            if let task = state.tasks[id] { state.sleeps[task] = nil }
        }
    }

    func own(_ key: ObjectIdentifier, _ make: () -> any AnyObject & Sendable) -> any AnyObject & Sendable {
        if let owned = state.withLock({ $0.owned[key] }) { return owned }
        let made = make()
        return state.withLock { state in
            let owned = state.owned[key] ?? made
            state.owned[key] = owned
            return owned
        }
    }
}

// Batons.
extension DeterministicScheduler {
    func addBaton(_ name: String, _ time: ManualTime) -> Baton {
        state.change { state in
            state.changes += 1
            state.lastNumber += 1
            let baton = Baton(number: state.lastNumber, name: name, time: time, scheduler: self)
            state.batons.append(baton)
            return baton
        }
    }

    /// Waits until the baton may run. On the baton's thread.
    func begin(_ baton: Baton) {
        var steps = state.withLock(\.steps)
        let isGranted: (inout State) -> Bool = { state in
            if state.isOver { baton.phase = .running }
            return !baton.isWaiting
        }
        while !state.wait(until: TimeBase.kernel.now_ns.addingSaturating(slow_ns), isGranted) {
            let before = steps
            steps = state.change { state in
                // The job that runs may wait for this baton's work, by `DispatchQueue.sync` perhaps, and would wait for ever.
                if state.steps == before, state.depth > 0, baton.isWaiting {
                    baton.phase = .running
                    baton.isSlow = true
                }
                return state.steps
            }
        }
        state.withLock { $0.threads[pthread_self(), default: []].append(baton) }
    }

    /// Ends the baton. Idempotent. On the baton's thread, if the baton has begun.
    func end(_ baton: Baton) {
        state.change { state in
            if baton.hasEnded { return }
            if baton.isRunning { state.threads[pthread_self()]?.removeAll { $0 === baton } }
            baton.phase = .ended
            state.changes += 1
            state.batons.removeAll { $0 === baton }
            if state.current === baton { state.current = nil }
        }
    }

    /// Passes the baton on until the instant, or until the waiter has something to do.
    func park(until instant_ns: Int64, for deadline_ns: Int64, _ waiter: any VirtualWaiter) -> VirtualWait {
        let baton = state.change { state -> Baton? in
            guard let baton = state.threads[pthread_self()]?.last else { return nil }
            if state.isOver { return nil }
            baton.phase = .parked(until_ns: instant_ns, deadline_ns: deadline_ns, waiter)
            baton.found = nil
            state.changes += 1
            if state.current === baton { state.current = nil }
            return baton
        }
        guard let baton else { return .over }
        state.wait { state in
            if state.isOver { baton.phase = .running }
            return baton.isRunning
        }
        if state.withLock(\.isOver) { return .over }
        return baton.found.map { .found($0) } ?? .moved
    }
}

/// The ready jobs: first come, first served, or in an order that follows from a seed.
struct JobLine {
    private var jobs: [ReadyJob] = []
    private var first = 0
    private var random: SeededOrder?

    init(seed: UInt64? = nil) {
        random = seed.map(SeededOrder.init)
    }

    var isEmpty: Bool { first == jobs.count }

    mutating func append(_ job: ReadyJob) {
        jobs.append(job)
    }

    mutating func next() -> ReadyJob? {
        if isEmpty { return nil }
        if let index = random?.next(jobs.count - first) { jobs.swapAt(first, first + index) }
        let job = jobs[first]
        first += 1
        if isEmpty {
            jobs.removeAll(keepingCapacity: jobs.capacity <= 1024)
            first = 0
        } else if first >= 1024, first * 2 >= jobs.count {
            jobs.removeFirst(first)
            first = 0
        }
        return job
    }

    mutating func takeAll() -> [ReadyJob] {
        defer { self = JobLine() }
        return Array(jobs[first...])
    }
}

/// SplitMix64, by Steele, Lea and Flood: a sequence of numbers that follows from its seed.
private struct SeededOrder {
    private var state: UInt64

    init(_ seed: UInt64) {
        state = seed
    }

    mutating func next(_ count: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((z ^ (z >> 31)) % UInt64(count))
    }
}
#endif
