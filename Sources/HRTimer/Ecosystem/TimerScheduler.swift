// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
#if OpenCombine
public import HRTimerCore
public import OpenCombine

/// A scheduler of OpenCombine: an engine, a loop, or virtual time. The thread of the engine or loop calls the actions one
/// after another, those for equal times in the order in which they were scheduled, and none before its time.
///
///     let search = text.debounce(for: .milliseconds(300), scheduler: engine.ocombine).sink { … }
///     let clock = TimerLoop.main.ocombine.schedule(after: .init(.now), interval: .seconds(1)) { … }
///
/// In a loop actions are called in the common modes, unless options say otherwise: a publisher goes on while the user drags,
/// where one on `RunLoop` stops. With HRTimerTesting, `time.ocombine` of a `ManualTime` or a `TestTime` is a scheduler in
/// virtual time, and so is that of an engine or a loop there.
///
/// An action that is scheduled when the engine or the loop has ended, or is pending then, is dropped without a call. The
/// scheduler holds the engine or the loop. Any thread. Only with the package's trait `OpenCombine`.
public struct TimerScheduler: Scheduler, Sendable {
    /// A point on the monotonic clock, or the virtual one.
    public typealias SchedulerTimeType = SchedulerTime

    /// The mode of a loop in which an action is called; an engine has none.
    public struct SchedulerOptions: Sendable {
        /// The mode that the loop must run in.
        public var mode: TimerLoop.Mode

        /// Creates options with that mode.
        public init(mode: TimerLoop.Mode = .common) {
            self.mode = mode
        }
    }

    private enum Host: Sendable {
        case engine(TimerEngine)
        case loop(TimerLoop)
    }

    private let host: Host

    fileprivate init(_ engine: TimerEngine) { host = .engine(engine) }

    fileprivate init(_ loop: TimerLoop) { host = .loop(loop) }

    /// The present reading of the clock.
    public var now: SchedulerTime {
        switch host {
        case .engine(let engine): SchedulerTime(engine.now)
        case .loop(let loop): SchedulerTime(loop.now)
        }
    }

    /// Zero: by default actions are called as soon as possible.
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

    /// Calls `action` at `date` and then at every `interval` after it, on a grid, until the returned object is cancelled or
    /// dropped. Missed ticks become one call, as in `MissedTickPolicy.merge`. An interval of zero or less counts as 0.1 ms.
    public func schedule(
        after date: SchedulerTime,
        interval: SchedulerTime.Stride,
        tolerance: SchedulerTime.Stride,
        options: SchedulerOptions?,
        _ action: @escaping () -> Void
    ) -> any Cancellable {
        AnyCancellable(arm(date, every: interval.duration, tolerance, options, action))
    }

    /// An action of a publisher. OpenCombine does not declare it Sendable, nor does Combine.
    private struct Action: @unchecked Sendable {
        // Sendable: to be called on the scheduler's thread is the purpose of scheduling it.
        let run: () -> Void
    }

    /// Arms a timer for the action. Returns a function that disarms it.
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
