// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
public import Dispatch
public import HRTimerCore
import HRTimerLibc

/// Timed tasks by key: the bookkeeping that programs write again and again around timers that they have to find again.
///
///     let tasks = TimerRegistry()
///     let poll = try tasks.execute(name: "poll", start: .zero, interval: .seconds(5), queue: .main) { refresh() }
///     tasks.suspendAll()     // the app goes to the background
///     tasks.resumeAll()
///     tasks.cancel(poll)
///
/// A task lives until it is cancelled, has run for the last time, or the registry is freed. Names are for people and need not
/// be unique; keys are never used again. All members may be called from any thread, and from the tasks. Calls of one task never
/// run at the same time; those of two tasks may, on different queues.
public final class TimerRegistry: Sendable {
    /// Identifies one task of one registry.
    public struct Key: Hashable, Sendable, CustomStringConvertible {
        fileprivate let number: UInt64
        /// The name that the task was given.
        public let name: String

        /// The name, and a number that no other task of the registry has.
        public var description: String { "\(name)#\(number)" }
    }

    private struct Entry: Sendable {
        let source: TimerSource
        var isSuspended = false
    }

    private struct State: Sendable {
        var tasks: [Key: Entry] = [:]
        var last: UInt64 = 0
        var isSuspended = false
    }

    private let engine: TimerEngine
    private let state = Locked(State())

    /// A registry whose tasks are timed by `engine`.
    public init(engine: TimerEngine = .shared) {
        self.engine = engine
    }

    deinit {
        cancelAll()
    }

    /// Runs `task` once `start` has passed, and then at each `interval` if it repeats.
    ///
    /// It runs on `queue`, or without one on the engine's thread, where it must be short. Calls of one task never overlap;
    /// `policy` says what becomes of ticks that pass while the task runs or is suspended, by default they make one call. A task
    /// is freed when it ends. While all are suspended, a new one waits too. A task that says so, `{ @MainActor in … }`, is
    /// called on that actor; see `TimerSource.setEventHandler`.
    ///
    /// Throws EINVAL, with a sentence that says which argument is wrong and which values it takes.
    @discardableResult
    public func execute(
        name: String,
        start: some TimeSpan = Duration.zero,
        interval: some TimeSpan = Duration.zero,
        repeats: Bool = true,
        policy: MissedTickPolicy = .merge,
        queue: DispatchQueue? = nil,
        task: @escaping @isolated(any) @Sendable () -> Void
    ) throws(TimerError) -> Key {
        try check(!name.isEmpty, "`name` takes at least one character")
        let (start, interval) = (start.asDuration, interval.asDuration)
        try check(start.map { $0 >= .zero } ?? false, "`start` takes zero or more, not \(described(start))")
        try check(
            !repeats || interval.map { $0 > .zero } ?? false,
            "`interval` of a task that repeats takes more than zero, not \(described(interval))"
        )
        let source = TimerSource(flags: [], engine: engine, queue: queue)
        source.policy = policy
        let key = state.withLock { state in
            state.last += 1
            let key = Key(number: state.last, name: name)
            state.tasks[key] = Entry(source: source, isSuspended: state.isSuspended)
            if state.isSuspended { source.suspend() }
            return key
        }
        let plain = withoutActor(task)
        let event = Callback { [weak self] in
            // Before the call: a task is no longer live once its last call has begun.
            if !repeats { self?.cancel(key) }
            plain()
        }
        source.core.setEventHandler(event, on: task.isolation)
        source.schedule(after: start ?? .zero, repeating: repeats ? interval : nil)
        source.activate()
        return key
    }

    private func described(_ duration: Duration?) -> String { duration.map { "\($0)" } ?? "NaN" }

    private func check(_ holds: Bool, _ rule: @autoclosure () -> String) throws(TimerError) {
        if !holds { throw TimerError(operation: "execute a task: \(rule())", errorNumber: EINVAL) }
    }

    /// Ends a task for good, unlike `suspendAll()`.
    ///
    /// Returns false if the task had already ended. After this has returned on the task's queue, or on the engine's thread, no
    /// call of the task begins there.
    @discardableResult
    public func cancel(_ key: Key) -> Bool {
        let task = state.withLock { $0.tasks.removeValue(forKey: key) }
        task?.source.cancel()
        return task != nil
    }

    /// Ends every task.
    ///
    /// New tasks may be started afterwards.
    public func cancelAll() {
        let tasks = state.withLock { state in
            defer { state.tasks = [:] }
            return state.tasks
        }
        for task in tasks.values { task.source.cancel() }
    }

    /// Whether the task is live: it was not cancelled, and its last call has not begun. A suspended task is live too.
    package func isRunning(_ key: Key) -> Bool { state.withLock { $0.tasks[key] != nil } }

    /// How many tasks are live.
    package var count: Int { state.withLock { $0.tasks.count } }

    /// The keys of live tasks with that name, in the order in which they were started.
    public func keys(named name: String) -> [Key] {
        state.withLock { state in state.tasks.keys.filter { $0.name == name } }.sorted { $0.number < $1.number }
    }

    /// Holds back all calls, also of tasks that are started later: for an app that goes to the background.
    ///
    /// Idempotent.
    public func suspendAll() {
        setSuspended(true)
    }

    /// Lets the calls come again.
    ///
    /// What passed meanwhile becomes what each task's policy says, by default one call. Idempotent.
    public func resumeAll() {
        setSuspended(false)
    }

    private func setSuspended(_ isSuspended: Bool) {
        // With the lock held, so that every source is left as the later of two threads wants it. This calls no handler.
        state.withLock { state in
            state.isSuspended = isSuspended
            for (key, task) in state.tasks where task.isSuspended != isSuspended {
                if isSuspended { task.source.suspend() } else { task.source.resume() }
                state.tasks[key]?.isSuspended = isSuspended
            }
        }
    }
}
#endif
