// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
public import FoundationEssentials
@_exported public import HRTimer

// Foundation's names, for one file at a time:
//
//     import class HRTimerCompat.Timer
//     import class HRTimerCompat.RunLoop
//
// These lines make a file that was written for Foundation's timers use this library's; the file may import Foundation as well.

/// `LoopTimer` under Foundation's name.
public typealias Timer = LoopTimer

/// `TimerLoop` under Foundation's name.
public typealias RunLoop = TimerLoop

extension LoopTimer {
    /// A timer that fires at `date`, and if it repeats, at every interval after that.
    ///
    /// Not in a loop yet. A past date counts as now.
    public convenience init(
        fire date: some TimePoint,
        interval: some TimeSpan,
        repeats: Bool,
        @_inheritActorContext block: @escaping Block
    ) {
        self.init(fireAt: date, interval: interval, repeats: repeats, block: block)
    }

    /// Makes a timer in the default mode of the calling thread's loop.
    ///
    /// An interval of zero or less counts as 0.1 ms if the timer repeats; NaN makes an invalid timer.
    @available(
        *,
        noasync,
        message: "add a LoopTimer to TimerLoop.main, which runs by itself under an async main, or to a thread's loop"
    )
    @discardableResult
    public static func scheduledTimer(
        withTimeInterval interval: some TimeSpan,
        repeats: Bool,
        @_inheritActorContext block: @escaping Block
    ) -> LoopTimer {
        scheduled(timeInterval: interval, repeats: repeats, block: block)
    }

    /// Makes a timer in the default mode of the calling thread's loop that calls a method of `target`, which it holds until it
    /// is invalid.
    ///
    /// Linux has no selectors: the method is passed as `Target.method`.
    ///
    ///     Timer.scheduledTimer(timeInterval: 1, target: self, selector: Clock.tick, userInfo: nil, repeats: true)
    @available(
        *,
        noasync,
        message: "add a LoopTimer to TimerLoop.main, which runs by itself under an async main, or to a thread's loop"
    )
    @discardableResult
    public static func scheduledTimer<Target: AnyObject & Sendable>(
        timeInterval interval: Double,
        target: Target,
        selector: @escaping @Sendable (Target) -> Block,
        userInfo: (any Sendable)? = nil,
        repeats: Bool
    ) -> LoopTimer {
        scheduled(timeInterval: interval, repeats: repeats, userInfo: userInfo, block: calling(target, selector))
    }

    /// A timer that calls a method of `target`, which it holds until it is invalid.
    ///
    /// Not in a loop yet.
    public convenience init<Target: AnyObject & Sendable>(
        timeInterval interval: Double,
        target: Target,
        selector: @escaping @Sendable (Target) -> Block,
        userInfo: (any Sendable)? = nil,
        repeats: Bool
    ) {
        let block = Self.calling(target, selector)
        self.init(timeInterval: interval, repeats: repeats, userInfo: userInfo, block: block)
    }

    /// A timer that calls a method of `target`, which it holds until it is invalid, at a date, and if it repeats, at every
    /// interval after that.
    ///
    /// Not in a loop yet.
    public convenience init<Target: AnyObject & Sendable>(
        fireAt date: Date,
        interval: Double,
        target: Target,
        selector: @escaping @Sendable (Target) -> Block,
        userInfo: (any Sendable)? = nil,
        repeats: Bool
    ) {
        let block = Self.calling(target, selector)
        self.init(fireAt: date, interval: interval, repeats: repeats, userInfo: userInfo, block: block)
    }
}

extension TimerLoop {
    /// Calls `block` once, in the loop's next pass in one of `modes`.
    ///
    /// Wakes the loop, unlike Foundation's method.
    public func perform(inModes modes: some Sequence<Mode>, block: @escaping @isolated(any) @Sendable () -> Void) {
        perform(inModes: modes, order: 0, block)
    }

    /// Runs in `mode` once, until a source was handled or until `limit`.
    @available(
        *,
        noasync,
        message: "TimerLoop.main runs by itself under an async main, and any other loop in TimerLoop.thread()"
    )
    public func acceptInput(forMode mode: Mode, before limit: Date) {
        run(mode: mode, before: limit)
    }
}
#endif
