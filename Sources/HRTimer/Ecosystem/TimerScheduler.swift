#if os(Linux)
#if OpenCombine
public import HRTimerCore
public import OpenCombine

/// A scheduler of OpenCombine: an engine, a loop, or virtual time. Actions are called by the thread of that, one after another, those
/// for equal times in the order in which they were scheduled, and none before its time.
///
///     let search = text.debounce(for: .milliseconds(300), scheduler: engine.ocombine).sink { … }
///     let clock = TimerLoop.main.ocombine.schedule(after: .init(.now), interval: .seconds(1)) { … }
///
/// In a loop they are called in the common modes, unless options say otherwise: a publisher goes on while the user drags, where
/// that of `RunLoop` stops. With HRTimerTesting `time.ocombine` of a `ManualTime` or a `TestTime` is one in virtual time, and
/// so is that of an engine or a loop there.
///
/// What is scheduled when the engine or the loop has ended, or is pending then, is dropped without a call. It holds the engine
/// or the loop. Any thread. With the package's trait `OpenCombine` alone.
public struct TimerScheduler: Scheduler, Sendable {
    /// A point on the monotonic clock, or the virtual one.
    public typealias SchedulerTimeType = SchedulerTime

    /// In which mode of a loop an action is called; an engine has none.
    public struct SchedulerOptions: Sendable {
        /// The loop must run in it.
        public var mode: TimerLoop.Mode

        /// That mode.
        public init(mode: TimerLoop.Mode = .common) {
            self.mode = mode
        }
    }

    private enum Host: Sendable {
        case engine(TimerEngine)
        case loop(TimerLoop)
    }

    private let host: Host

    /// One whose actions are called by that engine.
    public init(_ engine: TimerEngine) { host = .engine(engine) }

    /// One whose actions are called in that loop.
    public init(_ loop: TimerLoop) { host = .loop(loop) }

    /// What the clock reads now.
    public var now: SchedulerTime {
        switch host {
        case .engine(let engine): SchedulerTime(engine.now)
        case .loop(let loop): SchedulerTime(loop.now)
        }
    }

    /// None: by default it calls as soon as it can.
    public var minimumTolerance: SchedulerTime.Stride { .init(.zero) }

    /// Calls `action` soon: on an engine's thread after what is due already, in a loop's next pass.
    public func schedule(options: SchedulerOptions?, _ action: @escaping () -> Void) {
        let action = Action(run: action)
        switch host {
        case .engine(let engine): _ = engine.core.runSoon { action.run() }
        case .loop(let loop): loop.perform(inModes: [(options ?? .init()).mode]) { action.run() }
        }
    }

    /// Calls `action` at `date`, or soon if that has passed. A loop, and an engine in `.coalesced` precision, may be late by
    /// `tolerance`.
    public func schedule(
        after date: SchedulerTime,
        tolerance: SchedulerTime.Stride,
        options: SchedulerOptions?,
        _ action: @escaping () -> Void
    ) {
        _ = arm(date, every: nil, tolerance, options, action)
    }

    /// Calls `action` at `date` and then at every `interval` after it, on a grid, until what is returned is cancelled or dropped.
    /// Ticks that were missed are one call, as in `MissedTickPolicy.merge`. An interval of zero or less counts as 0.1 ms.
    public func schedule(
        after date: SchedulerTime,
        interval: SchedulerTime.Stride,
        tolerance: SchedulerTime.Stride,
        options: SchedulerOptions?,
        _ action: @escaping () -> Void
    ) -> any Cancellable {
        AnyCancellable(arm(date, every: interval.duration, tolerance, options, action))
    }

    /// What a publisher has called. OpenCombine does not say that it is Sendable, as Combine does not.
    private struct Action: @unchecked Sendable {
        // Sendable: that it is called on the scheduler's thread is what a scheduler is used for.
        let run: () -> Void
    }

    /// Gives what disarms it.
    private func arm(
        _ date: SchedulerTime,
        every interval: Duration?,
        _ tolerance: SchedulerTime.Stride,
        _ options: SchedulerOptions?,
        _ action: @escaping () -> Void
    ) -> () -> Void {
        let action = Action(run: action)
        switch host {
        case .engine(let engine):
            let token = engine.schedule(at: date.instant, every: interval, tolerance: tolerance.duration) { _ in
                action.run()
            }
            return { engine.cancel(token) }
        case .loop(let loop):
            let timer = LoopTimer(
                fireAt: date.instant,
                interval: interval ?? .zero,
                repeats: interval != nil,
                policy: .merge,
                tolerance: tolerance.duration
            ) { _ in action.run() }
            loop.add(timer, forMode: (options ?? .init()).mode)
            return { timer.invalidate() }
        }
    }
}

extension TimerEngine {
    /// The engine as a scheduler of OpenCombine.
    public var ocombine: TimerScheduler { TimerScheduler(self) }
}

extension TimerLoop {
    /// The loop as a scheduler of OpenCombine.
    public var ocombine: TimerScheduler { TimerScheduler(self) }
}
#endif
#endif
