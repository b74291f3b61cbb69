#if os(Linux)
public import Dispatch
public import HRTimerCore
import HRTimerLibc

/// Timed tasks by key: what programs write again and again around timers that they have to find again.
///
///     let tasks = TimerRegistry()
///     let poll = try tasks.execute(name: "poll", start: .zero, interval: .seconds(5), queue: .main) { refresh() }
///     tasks.suspendAll()     // the app goes to the background
///     tasks.resumeAll()
///     tasks.cancel(poll)
///
/// A task lives until it is cancelled, has run for the last time, or the registry goes. Names are for people, and need not
/// differ; keys are never used again. All members may be called from any thread, and from the tasks.
public final class TimerRegistry: Sendable {
    /// Names one task of one registry.
    public struct Key: Hashable, Sendable, CustomStringConvertible {
        fileprivate let number: UInt64
        /// What the task was called.
        public let name: String

        /// The name, and a number that no other task has.
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
    /// On `queue`, or without one on the engine's thread, where it must be short. Calls of one task never overlap; what
    /// becomes of ticks that pass while it runs or is suspended `policy` says, by default they make one call. The task is freed when it ends. While all are suspended a new one waits
    /// too. A task that belongs to an actor, as `{ @MainActor in … }`, is called on that; see `TimerSource.setEventHandler`.
    ///
    /// Throws EINVAL with a sentence that says which argument it is and what it takes.
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
        let plain = withoutActor(task)
        return try add(name, start, interval, repeats, policy, queue, on: task.isolation) { _ in plain() }
    }

    private func add(
        _ name: String,
        _ start: some TimeSpan,
        _ interval: some TimeSpan,
        _ repeats: Bool,
        _ policy: MissedTickPolicy,
        _ queue: DispatchQueue?,
        on actor: (any Actor)?,
        _ task: @escaping @Sendable (Key) -> Void
    ) throws(TimerError) -> Key {
        try check(!name.isEmpty, "`name` takes at least one character")
        let (start, interval) = (start.asDuration, interval.asDuration)
        try check(start.map { $0 >= .zero } ?? false, "`start` takes zero or more, not \(told(start))")
        try check(
            !repeats || interval.map { $0 > .zero } ?? false,
            "`interval` of a task that repeats takes more than zero, not \(told(interval))"
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
        let event = Callback { [weak self] in
            // Before the call: its last call is its end.
            if !repeats { self?.cancel(key) }
            task(key)
        }
        source.core.setEventHandler(event, on: actor)
        source.schedule(after: start ?? .zero, repeating: repeats ? interval : nil)
        source.activate()
        return key
    }

    /// A method of a target, not applied yet. One of an actor, as of a `@MainActor` type, is called on that.
    public typealias Action<Target> = @Sendable (Target) -> @isolated(any) @Sendable () -> Void

    /// The same for a method of `target`, which the task holds.
    @discardableResult
    public func execute<Target: AnyObject & Sendable>(
        name: String,
        start: some TimeSpan = Duration.zero,
        interval: some TimeSpan = Duration.zero,
        repeats: Bool = true,
        policy: MissedTickPolicy = .merge,
        queue: DispatchQueue? = nil,
        target: Target,
        action: @escaping Action<Target>
    ) throws(TimerError) -> Key {
        try add(name, start, interval, repeats, policy, queue, on: action(target).isolation) { _ in
            withoutActor(action(target))()
        }
    }

    /// The same for a method of `target`, which the task does not hold: it ends itself at the first call without it.
    @discardableResult
    public func execute<Target: AnyObject & Sendable>(
        name: String,
        start: some TimeSpan = Duration.zero,
        interval: some TimeSpan = Duration.zero,
        repeats: Bool = true,
        policy: MissedTickPolicy = .merge,
        queue: DispatchQueue? = nil,
        weakTarget target: Target,
        action: @escaping Action<Target>
    ) throws(TimerError) -> Key {
        try add(name, start, interval, repeats, policy, queue, on: action(target).isolation) {
            [weak self, weak target] key in
            if let target { withoutActor(action(target))() } else { self?.cancel(key) }
        }
    }

    private func told(_ duration: Duration?) -> String { duration.map { "\($0)" } ?? "NaN" }

    private func check(_ holds: Bool, _ rule: @autoclosure () -> String) throws(TimerError) {
        if !holds { throw TimerError(operation: "execute a task: \(rule())", errorNumber: EINVAL) }
    }

    /// Ends a task: no call begins on its queue, or on the engine's thread, after this returned there. For good,
    /// unlike `suspendAll()`. False if it had ended.
    @discardableResult
    public func cancel(_ key: Key) -> Bool {
        let task = state.withLock { $0.tasks.removeValue(forKey: key) }
        task?.source.cancel()
        return task != nil
    }

    /// Ends every task; new ones may be begun.
    public func cancelAll() {
        let tasks = state.withLock { state in
            defer { state.tasks = [:] }
            return state.tasks
        }
        for task in tasks.values { task.source.cancel() }
    }

    /// Whether the task is live: not cancelled, and not begun for the last time. Also while it is suspended.
    public func isRunning(_ key: Key) -> Bool { state.withLock { $0.tasks[key] != nil } }

    /// How many tasks are live.
    public var count: Int { state.withLock { $0.tasks.count } }

    /// The keys of live tasks with that name, in the order they were begun.
    public func keys(named name: String) -> [Key] {
        state.withLock { state in state.tasks.keys.filter { $0.name == name } }.sorted { $0.number < $1.number }
    }

    /// Holds all calls back, those of tasks begun from now on too: for an app that is left. Idempotent.
    public func suspendAll() {
        setSuspended(true)
    }

    /// Lets them come again. What passed meanwhile becomes what each task's policy says, by default one call. Idempotent.
    public func resumeAll() {
        setSuspended(false)
    }

    private func setSuspended(_ isSuspended: Bool) {
        // With the lock held, so that two threads leave every source as the later of them wants it. No handler is called by it.
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
