import Dispatch
import HRTimer

/// Timers of one engine, each a closure.
final class EngineFleet: RatedCrowd {
    private let engine: TimerEngine

    init(_ precision: TimerPrecision) throws {
        engine = try TimerEngine(.init(name: "bench-crowd", precision: precision))
    }

    func arm(_ fleet: Fleet) throws {
        try armPending(fleet.timers.count, within: fleet.armingLimit) { index in
            let timer = fleet.timers[index]
            let member = fleet.member(index)
            engine.schedule(
                at: MonotonicInstant(nanoseconds: timer.first_ns),
                every: timer.interval_ns.map { .nanoseconds($0) },
                tolerance: .nanoseconds(timer.tolerance_ns)
            ) { _ in member.fire() }
        }
    }

    func clear() { engine.shutdown() }
}

/// Sources on the thread of one engine, or on one serial queue.
final class SourceFleet: RatedCrowd {
    private let engine: TimerEngine
    private let queue: DispatchQueue?
    private var sources: [TimerSource] = []

    init(_ precision: TimerPrecision, onQueue: Bool = false) throws {
        engine = try TimerEngine(.init(name: "bench-crowd", precision: precision))
        queue = onQueue ? DispatchQueue(label: "bench.crowd") : nil
    }

    func arm(_ fleet: Fleet) throws {
        try armPending(fleet.timers.count, within: fleet.armingLimit) { index in
            let timer = fleet.timers[index]
            let member = fleet.member(index)
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
}

/// Timers of a loop on the measuring thread.
final class LoopFleet: RatedCrowd {
    private let loop: TimerLoop
    private var timers: [LoopTimer] = []

    init(_ precision: TimerPrecision) {
        loop = TimerLoop(precision: precision)
    }

    func arm(_ fleet: Fleet) throws {
        try armPending(fleet.timers.count, within: fleet.armingLimit) { index in
            let timer = fleet.timers[index]
            let member = fleet.member(index)
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

/// A task for each timer, which sleeps on `MonotonicClock`: on the pool's threads, or on the engine's own thread.
final class SleepFleet: RatedCrowd {
    private let engine: TimerEngine
    private let executor: TimerExecutor?
    private let tasks = Sleepers()

    init(onExecutor: Bool) throws {
        engine = try TimerEngine(.init(name: "bench-crowd"))
        executor = onExecutor ? TimerExecutor(engine: engine) : nil
    }

    func arm(_ fleet: Fleet) throws {
        let clock = MonotonicClock(engine: engine)
        try armPending(fleet.timers.count, within: fleet.armingLimit) { index in
            tasks.start(executor, fleet.timers[index], fleet.member(index)) { next_ns in
                try await clock.sleep(until: MonotonicInstant(nanoseconds: next_ns))
            }
        }
    }

    func clear() {
        tasks.end()
        engine.shutdown()
    }
}

/// A task for each timer, which sleeps by the standard library. The tolerance is zero if the timer has none: a sleep
/// without a tolerance would have Dispatch's leeway.
final class TaskSleepFleet: RatedCrowd {
    private let tasks = Sleepers()

    func arm(_ fleet: Fleet) throws {
        let zero = SuspendingClock.Instant.monotonicZero
        try armPending(fleet.timers.count, within: fleet.armingLimit) { index in
            let tolerance = Duration.nanoseconds(fleet.timers[index].tolerance_ns)
            tasks.start(nil, fleet.timers[index], fleet.member(index)) { next_ns in
                let deadline = zero.advanced(by: .nanoseconds(next_ns))
                try await Task.sleep(until: deadline, tolerance: tolerance, clock: .suspending)
            }
        }
    }

    func clear() { tasks.end() }
}

/// Tasks that sleep from deadline to deadline, and are ended together.
private final class Sleepers {
    private var tasks: [Task<Void, Never>] = []
    private let living = DispatchGroup()

    func start(
        _ executor: TimerExecutor?,
        _ timer: CrowdTimer,
        _ member: Fleet.Member,
        sleep: @escaping @Sendable (_ until_ns: Int64) async throws -> Void
    ) {
        living.enter()
        let isRepeating = timer.interval_ns != nil
        let sleeper = Task.detached(executorPreference: executor) { [living] in
            var next_ns = member.next_ns
            // A cancelled sleep throws, which ends the loop.
            while (try? await sleep(next_ns)) != nil {
                next_ns = member.fire()
                if !isRepeating { break }
            }
            living.leave()
        }
        tasks.append(sleeper)
    }

    func end() {
        for task in tasks { task.cancel() }
        living.wait()
    }
}
