import CBench
import Dispatch
import HRTimer
import Synchronization

/// The deadline and grid of one timer of a crowd, in ns of `CLOCK_MONOTONIC`.
struct CrowdTimer: Sendable, Equatable {
    var first_ns: Int64
    /// Nil for a timer that fires once.
    var interval_ns: Int64?
    var tolerance_ns: Int64 = 0
}

/// Many timers of one kind, whose handlers only count.
protocol Crowd: AnyObject {
    var count: CrowdCount { get }
    func add(_ timer: CrowdTimer)
    /// Ends all timers. No handler runs after it has returned.
    func clear()
    /// How often a thread of ours has returned from a wait so far; nil if that is not counted.
    var wakeups: UInt64? { get }
}

extension Crowd {
    var wakeups: UInt64? { nil }
}

/// Counts the fires of a crowd. Records time, usage and locks in the first fire and in the fire that is waited for.
final class CrowdCount: Sendable {
    /// The values that a handler recorded.
    struct Note: Sendable {
        let now_ns: Int64
        let usage: cbench_usage
        let locks: UInt64
    }

    private let fires = Atomic(0)
    /// The number of the fire that is waited for.
    private let goal: Int
    private let notes = Locked<[Note]>([])
    private let isReached = DispatchSemaphore(value: 0)

    init(goal: Int = .max) {
        self.goal = goal
    }

    var soFar: Int { fires.load(ordering: .relaxed) }

    /// Counts a fire. Called by handlers.
    func addOne() {
        let fire = fires.add(1, ordering: .relaxed).newValue
        if fire == goal || fire == 1 && goal < .max { note(fire) }
    }

    @inline(never)
    private func note(_ fire: Int) {
        let note = Note(now_ns: cbench_now_ns(), usage: cbench_usage_now(), locks: cbench_thread_locks())
        notes.withLock { $0.append(note) }
        if fire == goal { isReached.signal() }
    }

    /// Returns the notes of the first fire and of the awaited fire, or nil if the latter has not come within ten seconds.
    func waitForGoal() -> (first: Note, last: Note)? {
        guard isReached.wait(timeout: .now() + .seconds(10)) == .success else { return nil }
        // With a goal of one fire, the first note is also the last.
        return notes.withLock { notes in (notes[0], notes[notes.count - 1]) }
    }
}

/// Timers of one engine, each a closure.
final class EngineCrowd: Crowd {
    let count: CrowdCount
    let engine: TimerEngine

    init(_ precision: TimerPrecision = .normal, count: CrowdCount) throws {
        self.count = count
        engine = try TimerEngine(.init(name: "bench-crowd", precision: precision))
    }

    func add(_ timer: CrowdTimer) {
        engine.schedule(
            at: MonotonicInstant(nanoseconds: timer.first_ns),
            every: timer.interval_ns.map { .nanoseconds($0) },
            tolerance: .nanoseconds(timer.tolerance_ns)
        ) { [count] _ in count.addOne() }
    }

    func clear() { engine.shutdown() }
    var wakeups: UInt64? { engine.statistics.wakeups }
}

/// Sources on the thread of one engine.
final class SourceCrowd: Crowd {
    let count: CrowdCount
    private let engine: TimerEngine
    private var sources: [TimerSource] = []

    init(_ precision: TimerPrecision = .normal, count: CrowdCount) throws {
        self.count = count
        engine = try TimerEngine(.init(name: "bench-crowd", precision: precision))
    }

    func add(_ timer: CrowdTimer) {
        let source = TimerSource(engine: engine)
        source.setEventHandler { [count] in count.addOne() }
        source.schedule(
            deadline: MonotonicInstant(nanoseconds: timer.first_ns),
            repeating: timer.interval_ns.map { .nanoseconds($0) },
            leeway: .nanoseconds(timer.tolerance_ns)
        )
        source.activate()
        sources.append(source)
    }

    func clear() {
        for source in sources { source.cancel() }
        engine.shutdown()
    }

    var wakeups: UInt64? { engine.statistics.wakeups }
}

/// Dispatch's timers on one serial queue.
final class DispatchCrowd: Crowd {
    let count: CrowdCount
    private let queue = DispatchQueue(label: "bench.crowd")
    private let living = DispatchGroup()
    private var sources: [any DispatchSourceTimer] = []

    init(count: CrowdCount) {
        self.count = count
    }

    func add(_ timer: CrowdTimer) {
        let source = DispatchSource.makeTimerSource(queue: queue)
        living.enter()
        source.setEventHandler { [count] in count.addOne() }
        source.setCancelHandler { [living] in living.leave() }
        source.schedule(
            deadline: DispatchTime(instant_ns: timer.first_ns),
            repeating: timer.interval_ns.map { .nanoseconds(Int($0)) } ?? .never,
            leeway: .nanoseconds(Int(timer.tolerance_ns))
        )
        source.activate()
        sources.append(source)
    }

    /// Waits for the cancel handlers, so that Dispatch's work of ending the timers does not disturb the next measurement.
    func clear() {
        for source in sources { source.cancel() }
        living.wait()
    }
}
