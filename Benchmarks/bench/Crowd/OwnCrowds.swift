// SPDX-License-Identifier: Apache-2.0
import Dispatch
import HRTimer

/// Timers of one engine, each a closure.
final class EngineCrowd: Crowd {
    let engine: TimerEngine

    init(_ precision: TimerPrecision = .normal) throws {
        engine = try TimerEngine(.init(name: "bench-crowd", precision: precision))
    }

    func arm(_ fleet: Fleet) throws {
        try fleet.armEach { timer, member in
            engine.schedule(
                at: MonotonicInstant(nanoseconds: timer.first_ns),
                every: timer.interval_ns.map { .nanoseconds($0) },
                tolerance: .nanoseconds(timer.tolerance_ns)
            ) { _ in member.fire() }
        }
    }

    func clear() { engine.shutdown() }
    var wakeups: UInt64? { engine.statistics.wakeups }
}

/// Sources on the thread of one engine, or on one serial queue.
final class SourceCrowd: Crowd {
    private let engine: TimerEngine
    private let queue: DispatchQueue?
    private var sources: [TimerSource] = []

    init(_ precision: TimerPrecision = .normal, onQueue: Bool = false) throws {
        engine = try TimerEngine(.init(name: "bench-crowd", precision: precision))
        queue = onQueue ? DispatchQueue(label: "bench.crowd") : nil
    }

    func arm(_ fleet: Fleet) throws {
        try fleet.armEach { timer, member in
            let source = TimerSource(flags: [], engine: engine, queue: queue)
            source.setEventHandler { member.fire() }
            source.schedule(
                deadline: MonotonicInstant(nanoseconds: timer.first_ns),
                repeating: timer.interval_ns.map { .nanoseconds($0) },
                leeway: .nanoseconds(timer.tolerance_ns)
            )
            source.activate()
            sources.append(source)
        }
    }

    func clear() {
        for source in sources { source.cancel() }
        engine.shutdown()
        queue?.sync {}
    }

    var wakeups: UInt64? { engine.statistics.wakeups }
}

/// Timers of a loop on the measuring thread.
final class LoopTimerCrowd: Crowd {
    private let loop: TimerLoop
    private var timers: [LoopTimer] = []

    init(_ precision: TimerPrecision) {
        loop = TimerLoop(precision: precision)
    }

    func arm(_ fleet: Fleet) throws {
        try fleet.armEach { timer, member in
            let loopTimer = LoopTimer(
                fireAt: MonotonicInstant(nanoseconds: timer.first_ns),
                interval: .nanoseconds(timer.interval_ns ?? 0),
                repeats: timer.interval_ns != nil
            ) { _ in member.fire() }
            loopTimer.tolerance = Double(timer.tolerance_ns) / 1e9
            loop.add(loopTimer, forMode: .default)
            timers.append(loopTimer)
        }
    }

    func run(until instant_ns: Int64) { loop.run(until: MonotonicInstant(nanoseconds: instant_ns)) }
    func clear() { for timer in timers { timer.invalidate() } }
}

/// One-shots of one engine: each fire arms the next.
final class OneShotCrowd: Crowd {
    private let engine: TimerEngine

    init() throws {
        engine = try TimerEngine(.init(name: "bench-soak"))
    }

    func arm(_ fleet: Fleet) throws {
        try fleet.armEach { timer, member in Self.schedule(engine, member, at: timer.first_ns) }
    }

    /// Arms a timer. Timers must not retain their engine, which would never end otherwise.
    private static func schedule(_ engine: TimerEngine, _ member: Fleet.Member, at deadline_ns: Int64) {
        engine.schedule(at: MonotonicInstant(nanoseconds: deadline_ns)) { [weak engine] _ in
            let next_ns = member.fire()
            if let engine { schedule(engine, member, at: next_ns) }
        }
    }

    func clear() { engine.shutdown() }
}

/// A display link for each timer, at its rate, on a loop of the measuring thread. It reports the refresh of each call.
final class DisplayLinkCrowd: Crowd {
    private let loop = TimerLoop()
    private var links: [DisplayLink] = []

    func arm(_ fleet: Fleet) throws {
        try fleet.armEach { timer, member in
            let link = DisplayLink(framesPerSecond: 1e9 / Double(timer.interval_ns ?? 1)) { link in
                member.skip(to: link.timestamp.nanoseconds)
                member.fire()
            }
            link.add(to: loop, forMode: .default)
            links.append(link)
        }
    }

    func run(until instant_ns: Int64) { loop.run(until: MonotonicInstant(nanoseconds: instant_ns)) }
    func clear() { for link in links { link.invalidate() } }
}

/// A task for each timer, which sleeps from deadline to deadline.
final class TaskCrowd: Crowd {
    typealias Sleep = @Sendable (_ until_ns: Int64, _ timer: CrowdTimer) async throws -> Void

    private let executor: TimerExecutor?
    private let sleep: Sleep
    private let end: () -> Void
    private var tasks: [Task<Void, Never>] = []
    private let living = DispatchGroup()

    /// `end` is called when no task runs any more.
    init(on executor: TimerExecutor? = nil, end: @escaping () -> Void = {}, sleep: @escaping Sleep) {
        self.executor = executor
        self.sleep = sleep
        self.end = end
    }

    /// Sleeps on `MonotonicClock`: on the pool's threads, or on the engine's own thread.
    static func monotonicClock(onExecutor: Bool) throws -> TaskCrowd {
        let engine = try TimerEngine(.init(name: "bench-crowd"))
        let clock = MonotonicClock(engine: engine)
        let executor = onExecutor ? TimerExecutor(engine: engine) : nil
        return TaskCrowd(on: executor, end: { engine.shutdown() }) { next_ns, _ in
            try await clock.sleep(until: MonotonicInstant(nanoseconds: next_ns))
        }
    }

    /// Sleeps by the standard library. The tolerance is zero if the timer has none: a sleep without a tolerance would have
    /// Dispatch's leeway.
    static func taskSleep() -> TaskCrowd {
        let zero = SuspendingClock.Instant.monotonicZero
        return TaskCrowd { next_ns, timer in
            let deadline = zero.advanced(by: .nanoseconds(next_ns))
            try await Task.sleep(until: deadline, tolerance: .nanoseconds(timer.tolerance_ns), clock: .suspending)
        }
    }

    func arm(_ fleet: Fleet) throws {
        try fleet.armEach { timer, member in
            living.enter()
            let task = Task.detached(executorPreference: executor) { [living, sleep] in
                var next_ns = member.next_ns
                // A cancelled sleep throws, which ends the loop.
                while (try? await sleep(next_ns, timer)) != nil {
                    next_ns = member.fire()
                    if timer.interval_ns == nil { break }
                }
                living.leave()
            }
            tasks.append(task)
        }
    }

    func clear() {
        for task in tasks { task.cancel() }
        living.wait()
        end()
    }
}
