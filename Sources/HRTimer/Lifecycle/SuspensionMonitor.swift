// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
public import HRTimerCore
import HRTimerLibc

/// Reports to a program that it was away, for how long, and why: stopped by a signal, frozen, asleep with the whole
/// system, or in a virtual machine that was restored from a snapshot.
///
///     let monitor = try SuspensionMonitor(loop: .main) { absence in
///         if absence.cause != .overloaded { reconnect(after: absence.duration) }
///     }
///
/// By default each timer treats a stop by its `MissedTickPolicy`, since its clock goes on meanwhile. A suspended system stops
/// that clock: timers passed to `makeUp(_:)` count such time as passed.
///
/// The monitor has a thread of its own, so that a handler of the program that blocks is never taken for an absence. The
/// thread wakes twice in a threshold, which took 0.1 ms of processor time each on a virtual machine; without `noticesStops`
/// it never wakes. It notices an absence within half a threshold after the return. The monitor ends with `shutdown()` or with
/// its last reference. Any thread; its calls come one after the other. `CLOCK_BOOTTIME` and `CLOCK_MONOTONIC` of `clock_gettime(2)`; /proc/thread-self/schedstat,
/// without which an overload is recognized by the process's processor time alone.
public final class SuspensionMonitor: Sendable {
    /// What a monitor calls.
    package typealias Handler = @Sendable (Absence) -> Void

    private let engine: TimerEngine
    private let heart: TimerToken
    private let core: Core

    /// Calls `handler` with every absence of at least `threshold`, and sometimes with shorter ones, from half a threshold on.
    ///
    /// The handler is called on `loop`'s thread, in a pass in one of the common modes, perhaps after the first late timers;
    /// without a loop it is called on the monitor's own thread. A handler of an actor, such as `{ @MainActor absence in … }`,
    /// is called on that actor. The loop is neither held nor kept running.
    ///
    /// A threshold below 10 ms counts as 10 ms. Without `noticesStops` there is no heartbeat and no wake-up: only `check()`
    /// looks, and finds only suspended systems and a wall clock that was set ahead. Throws EAGAIN if no thread can be made.
    public convenience init(
        loop: TimerLoop? = nil,
        threshold: some TimeSpan = Duration.seconds(1),
        noticesStops: Bool = true,
        handler: @escaping @isolated(any) @Sendable (Absence) -> Void
    ) throws(TimerError) {
        try self.init(
            loop: loop,
            threshold: threshold.asDuration ?? .zero,
            noticesStops: noticesStops,
            time: .kernel,
            sample: PresenceSample.now,
            handler: onItsActor(handler)
        )
    }

    /// `sample` is called on the monitor's thread alone, except for the first time.
    init(
        loop: TimerLoop?,
        threshold: Duration,
        noticesStops: Bool,
        time: TimeBase,
        sample: @escaping @Sendable () -> PresenceSample,
        handler: @escaping Handler
    ) throws(TimerError) {
        let half_ns = max(threshold.nanosecondsRoundedUp, 10_000_000) / 2
        engine = try TimerEngine(.init(name: "hrt-suspension", time: time))
        var first = sample()
        // This sample was taken by another thread than the later ones.
        first.waited_ns = nil
        let detector = AbsenceDetector(
            heartbeat_ns: noticesStops ? half_ns : .max,
            bound_ns: half_ns,
            processors: max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))),
            first: first
        )
        core = Core(loop, detector, sample, handler)
        heart = engine.schedule(
            // At once, so that the first heartbeat has a sample of its own thread to compare with.
            at: .distantPast,
            every: noticesStops ? .nanoseconds(half_ns) : .nanoseconds(Int64.max),
            policy: .delay
        ) { [core] _ in core.beat() }
    }

    /// Checks now, on the monitor's thread, instead of at the next heartbeat.
    ///
    /// Does not wait for the check.
    public func check() {
        engine.reschedule(heart, at: .distantPast)
    }

    /// Makes `timer` count the time of a suspended system as passed, so that its policy decides about the ticks that it missed:
    /// merge, burst, skip or delay.
    ///
    /// Its deadline and grid move back by that time, once, when the monitor has noticed the suspension.
    ///
    /// A paused timer stays paused. The timer is not held. Adding a timer twice, or an invalid timer, does nothing.
    public func makeUp(_ timer: LoopTimer) {
        core.add(timer)
    }

    deinit {
        // The heartbeat is no timer that somebody misses.
        engine.cancel(heart)
    }

    /// Ends the monitor and frees the handler.
    ///
    /// Idempotent.
    ///
    /// It waits for the monitor's own thread to end, and so for a handler that this thread calls, unless it is called on that
    /// thread. It does not wait for a call by the loop, whether that has begun or not.
    public func shutdown() {
        engine.shutdown()
        core.end()
    }
}

extension SuspensionMonitor {
    /// The part that the heartbeat's handler holds, so that it does not hold the monitor itself.
    private final class Core: Sendable {
        private weak let loop: TimerLoop?
        private let hasLoop: Bool
        private let sample: @Sendable () -> PresenceSample
        private let state: Locked<State>

        private struct State: Sendable {
            /// Nil after the end.
            var handler: Handler?
            var detector: AbsenceDetector
            var timers: [WeakTimer] = []

            /// Forgets the timers that are gone, and returns the others. The caller releases them without the lock, since
            /// these may be the last references.
            mutating func liveTimers() -> [LoopTimer] {
                let live = timers.compactMap(\.timer)
                timers = live.map { WeakTimer(timer: $0) }
                return live
            }
        }

        private struct WeakTimer: Sendable {
            weak let timer: LoopTimer?
        }

        init(
            _ loop: TimerLoop?,
            _ detector: AbsenceDetector,
            _ sample: @escaping @Sendable () -> PresenceSample,
            _ handler: @escaping Handler
        ) {
            self.loop = loop
            hasLoop = loop != nil
            self.sample = sample
            state = Locked(State(handler: handler, detector: detector))
        }

        func end() {
            let left = state.withLock { $0.handler.take() }
            withExtendedLifetime(left) {}
        }

        func add(_ timer: LoopTimer) {
            guard timer.isValid else { return }
            // Both steps under one lock: otherwise a timer that two threads add at once would catch up twice.
            let live = state.withLock { state in
                let live = state.liveTimers()
                if !live.contains(where: { $0 === timer }) { state.timers.append(WeakTimer(timer: timer)) }
                return live
            }
            withExtendedLifetime(live) {}
        }

        func beat() {
            let sample = sample()
            guard let absence = state.withLock({ $0.detector.absence(at: sample) }) else { return }
            if absence.suspended > .zero {
                for timer in state.withLock({ $0.liveTimers() }) { timer.countAsPassed(absence.suspended) }
            }
            guard let handler = state.withLock({ $0.handler }) else { return }
            guard hasLoop else { return handler(absence) }
            loop?.perform(inModes: [.common]) { [handler] in handler(absence) }
        }
    }
}

extension LoopTimer {
    /// Moves the deadline and the grid back by `duration`. The policy then decides about ticks whose deadlines have passed.
    fileprivate func countAsPassed(_ duration: Duration) {
        update { state, _ in
            guard state.handler != nil else { return }
            state.moveBack(by: duration.nanosecondsRoundedUp)
        }
    }
}
#endif
