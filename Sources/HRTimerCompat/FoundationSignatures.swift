// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
public import FoundationEssentials
public import HRTimer

// The exact signatures of Foundation's own types.
//
// A file that imports both modules whole has two types of each name. The compiler then chooses the one whose members fit best.
// Without these signatures it would silently choose Foundation's type, whose timers never fire in a loop of this library. With
// them both fit equally, and the compiler reports the use as ambiguous.
//
// Any import of a name of this module may make them visible in all files of the importing module (Tests/Documentation/beside), and
// there they fit better than the members that take a handler of any actor: such a parameter counts as a conversion. So each one with
// a block has a twin for blocks of the main actor. A twin must differ by a parameter; nobody gives this one, so that no other call
// finds the twin.

extension LoopTimer {
    /// A timer that fires one interval from now, and if it repeats, at every interval after that.
    ///
    /// Not in a loop yet.
    public convenience init(
        timeInterval interval: Double,
        repeats: Bool,
        block: @escaping @Sendable (LoopTimer) -> Void
    ) {
        self.init(timeInterval: interval, repeats: repeats, policy: .mergeToGrid, block: block)
    }

    /// A timer as above, whose block is called on the main actor.
    public convenience init(
        timeInterval interval: Double,
        repeats: Bool,
        block: @escaping @MainActor @Sendable (LoopTimer) -> Void,
        _: Void = ()
    ) {
        self.init(timeInterval: interval, repeats: repeats, policy: .mergeToGrid, block: block)
    }

    /// A timer that fires at `date`, and if it repeats, at every interval after that.
    ///
    /// Not in a loop yet.
    public convenience init(
        fire date: Date,
        interval: Double,
        repeats: Bool,
        block: @escaping @Sendable (LoopTimer) -> Void
    ) {
        self.init(fireAt: date, interval: interval, repeats: repeats, block: block)
    }

    /// A timer as above, whose block is called on the main actor.
    public convenience init(
        fire date: Date,
        interval: Double,
        repeats: Bool,
        block: @escaping @MainActor @Sendable (LoopTimer) -> Void,
        _: Void = ()
    ) {
        self.init(fireAt: date, interval: interval, repeats: repeats, block: block)
    }

    /// Makes a timer in the default mode of the calling thread's loop.
    @available(
        *,
        noasync,
        message: "add a LoopTimer to TimerLoop.main, which runs by itself under an async main, or to a thread's loop"
    )
    @discardableResult
    public static func scheduledTimer(
        withTimeInterval interval: Double,
        repeats: Bool,
        block: @escaping @Sendable (LoopTimer) -> Void
    ) -> LoopTimer {
        scheduled(timeInterval: interval, repeats: repeats, policy: .mergeToGrid, block: block)
    }

    /// Makes a timer as above, whose block is called on the main actor.
    @available(
        *,
        noasync,
        message: "add a LoopTimer to TimerLoop.main, which runs by itself under an async main, or to a thread's loop"
    )
    @discardableResult
    public static func scheduledTimer(
        withTimeInterval interval: Double,
        repeats: Bool,
        block: @escaping @MainActor @Sendable (LoopTimer) -> Void,
        _: Void = ()
    ) -> LoopTimer {
        scheduled(timeInterval: interval, repeats: repeats, policy: .mergeToGrid, block: block)
    }
}

extension TimerLoop {
    /// Calls `block` once, in the loop's next pass in the default mode.
    ///
    /// Wakes the loop, unlike Foundation's method.
    public func perform(_ block: @escaping @Sendable () -> Void) {
        perform(inModes: [.default], order: 0, block)
    }

    /// Calls `block` once on the main actor, as above.
    public func perform(_ block: @escaping @MainActor @Sendable () -> Void, _: Void = ()) {
        perform(inModes: [.default], order: 0, block)
    }

    /// Calls `block` once, in the loop's next pass in one of `modes`.
    ///
    /// Wakes the loop, unlike Foundation's method.
    public func perform(inModes modes: [Mode], block: @escaping @Sendable () -> Void) {
        perform(inModes: modes, order: 0, block)
    }

    /// Calls `block` once on the main actor, as above.
    public func perform(inModes modes: [Mode], block: @escaping @MainActor @Sendable () -> Void, _: Void = ()) {
        perform(inModes: modes, order: 0, block)
    }

    /// Runs in the default mode until `limitDate`; ends earlier as `run()` does.
    @available(
        *,
        noasync,
        message: "TimerLoop.main runs by itself under an async main, and any other loop in TimerLoop.thread()"
    )
    public func run(until limitDate: Date) {
        let point: some TimePoint = limitDate
        run(until: point)
    }

    /// Runs in `mode` until one source was handled, or until `limitDate`.
    ///
    /// Returns false if nothing was run.
    @available(
        *,
        noasync,
        message: "TimerLoop.main runs by itself under an async main, and any other loop in TimerLoop.thread()"
    )
    @discardableResult
    public func run(mode: Mode, before limitDate: Date) -> Bool {
        let point: some TimePoint = limitDate
        return run(mode: mode, before: point)
    }
}
#endif
