#if os(Linux)
import HRTimerCore

extension TimerLoop {
    /// Calls `action` on `target` once, in the loop's next pass in one of `modes`, if the target still exists then: it is not
    /// held. In all else as `perform(_:on:key:order:inModes:)`.
    public func perform<Target: AnyObject & Sendable>(
        _ action: @escaping @Sendable (Target) -> @isolated(any) @Sendable () -> Void,
        weakTarget target: Target,
        key: String = "",
        order: Int = 0,
        inModes modes: some Sequence<Mode> = [.default]
    ) {
        let request = PendingPerforms.Request(target: ObjectIdentifier(target), key: key)
        perform(inModes: modes, order: order, request: request) { [weak target] in
            if let target { onItsActor(action(target))() }
        }
    }

    /// Calls `action` on `target` once, `delay` from now or later, if the target still exists then: it is not held. In all
    /// else as `perform(_:on:key:afterDelay:inModes:)`.
    ///
    /// When the target is gone, the timer stays until its deadline, and calls nobody.
    @discardableResult
    public func perform<Target: AnyObject & Sendable>(
        _ action: @escaping @Sendable (Target) -> @isolated(any) @Sendable () -> Void,
        weakTarget target: Target,
        key: String = "",
        afterDelay delay: some TimeSpan,
        inModes modes: some Sequence<Mode> = [.default]
    ) -> LoopTimer {
        perform(target, key, delay, modes) { [weak target] in
            if let target { onItsActor(action(target))() }
        }
    }

    /// Calls `action` on `target` with an argument, which is held; see `perform(_:weakTarget:key:afterDelay:inModes:)`.
    @discardableResult
    public func perform<Target: AnyObject & Sendable, Argument: Sendable>(
        _ action: @escaping @Sendable (Target) -> @isolated(any) @Sendable (Argument) -> Void,
        weakTarget target: Target,
        with argument: Argument,
        key: String = "",
        afterDelay delay: some TimeSpan,
        inModes modes: some Sequence<Mode> = [.default]
    ) -> LoopTimer {
        perform(target, key, delay, modes) { [weak target] in
            if let target { onItsActor(action(target))(argument) }
        }
    }
}
#endif
