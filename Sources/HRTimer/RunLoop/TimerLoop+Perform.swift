#if os(Linux)
import HRTimerCore

/// What was asked for with `perform(_:afterDelay:)`, by the identity of its target.
struct DelayedPerforms: Sendable {
    private struct Request: Sendable {
        let key: String
        let timer: LoopTimer
    }

    /// By the identities of target and timer.
    private var requests: [ObjectIdentifier: [ObjectIdentifier: Request]] = [:]
    private var count = 0
    /// So many are looked through for timers that were invalidated: each is looked at twice at most, on average.
    private var sweptCount = 16

    mutating func add(_ timer: LoopTimer, target: ObjectIdentifier, key: String) {
        if count >= sweptCount { sweep() }
        requests[target, default: [:]][ObjectIdentifier(timer)] = Request(key: key, timer: timer)
        count += 1
    }

    mutating func remove(_ timer: LoopTimer, target: ObjectIdentifier) {
        guard requests[target]?.removeValue(forKey: ObjectIdentifier(timer)) != nil else { return }
        count -= 1
        if requests[target]?.isEmpty == true { requests[target] = nil }
    }

    /// Nil for the key takes all of the target.
    mutating func take(target: ObjectIdentifier, key: String?) -> [LoopTimer] {
        let all = requests[target] ?? [:]
        let kept = all.filter { key != nil && $0.value.key != key }
        requests[target] = kept.isEmpty ? nil : kept
        count -= all.count - kept.count
        return all.values.filter { key == nil || $0.key == key }.map { $0.timer }
    }

    private mutating func sweep() {
        requests = requests.mapValues { $0.filter { $0.value.timer.isValid } }.filter { !$0.value.isEmpty }
        count = requests.values.reduce(0) { $0 + $1.count }
        sweptCount = max(16, 2 * count)
    }

    mutating func removeAll() {
        self = DelayedPerforms()
    }
}

extension TimerLoop {
    /// Calls `action` on `target` once, in the loop's next pass in one of `modes`, among the blocks of
    /// `perform(inModes:order:_:)` by the same order.
    ///
    /// A method of an actor, as of a `@MainActor` type, is called on that: at once in `main`, for the main actor.
    /// The target is held until then; `weakTarget:` in the place of `on:` does not. `cancelPerforms(withTarget:key:)` takes it
    /// back. Any thread.
    public func perform<Target: AnyObject & Sendable>(
        _ action: @escaping @Sendable (Target) -> @isolated(any) @Sendable () -> Void,
        on target: Target,
        key: String = "",
        order: Int = 0,
        inModes modes: some Sequence<Mode> = [.default]
    ) {
        let request = PendingPerforms.Request(target: ObjectIdentifier(target), key: key)
        perform(inModes: modes, order: order, request: request) { onItsActor(action(target))() }
    }

    /// Cancels what was requested for this target and key for the next pass; all of the target if `key` is nil. What
    /// the pass that goes on has taken already still comes, as do delayed requests, which have
    /// `cancelPreviousPerformRequests`. O(blocks that wait). Any thread.
    public func cancelPerforms(withTarget target: AnyObject, key: String? = nil) {
        // A block that the run serves has woken it already: it sees by itself if nothing is left.
        let taken = state.withLock { $0.performs.take(target: ObjectIdentifier(target), key: key) }
        withExtendedLifetime(taken) {}
    }

    /// Calls `block` once, `delay` from now or later, in one of `modes`. Zero and less waits for the next pass.
    ///
    ///     loop.perform(afterDelay: 0.5) { hide(toast) }
    ///
    /// One of an actor, as `{ @MainActor in … }`, is called on that. The timer that is returned takes it back, with
    /// `invalidate()`. Never called if the loop does not run. Without modes, with a delay of NaN, and in a loop that has ended,
    /// the timer is invalid and nothing is held. Any thread.
    @discardableResult
    public func perform(
        afterDelay delay: some TimeSpan,
        inModes modes: some Sequence<Mode> = [.default],
        _ block: @escaping @isolated(any) @Sendable () -> Void
    ) -> LoopTimer {
        let block = onItsActor(block)
        let timer = LoopTimer(timeInterval: delay, repeats: false) { _ in block() }
        if !add(timer, forModes: modes) { timer.invalidate() }
        return timer
    }

    /// Calls `action` on `target` once, `delay` from now or later, in one of `modes`; otherwise as
    /// `perform(afterDelay:inModes:_:)`.
    ///
    /// The target is held until then; `weakTarget:` in the place of `on:` does not. It is disarmed by the target and the key,
    /// with `cancelPreviousPerformRequests(withTarget:key:)`, or by `invalidate()` of the timer that is returned.
    @discardableResult
    public func perform<Target: AnyObject & Sendable>(
        _ action: @escaping @Sendable (Target) -> @isolated(any) @Sendable () -> Void,
        on target: Target,
        key: String = "",
        afterDelay delay: some TimeSpan,
        inModes modes: some Sequence<Mode> = [.default]
    ) -> LoopTimer {
        perform(target, key, delay, modes) { onItsActor(action(target))() }
    }

    /// The same for a method with an argument, which is held as the target is.
    @discardableResult
    public func perform<Target: AnyObject & Sendable, Argument: Sendable>(
        _ action: @escaping @Sendable (Target) -> @isolated(any) @Sendable (Argument) -> Void,
        on target: Target,
        with argument: Argument,
        key: String = "",
        afterDelay delay: some TimeSpan,
        inModes modes: some Sequence<Mode> = [.default]
    ) -> LoopTimer {
        perform(target, key, delay, modes) { onItsActor(action(target))(argument) }
    }

    /// Remembers the request by the identity of its target, which `call` holds or not.
    func perform(
        _ target: AnyObject,
        _ key: String,
        _ delay: some TimeSpan,
        _ modes: some Sequence<Mode>,
        _ call: @escaping @Sendable () -> Void
    ) -> LoopTimer {
        let target = ObjectIdentifier(target)
        let timer = LoopTimer(timeInterval: delay, repeats: false) { [weak self] timer in
            self?.delayed.withLock { $0.remove(timer, target: target) }
            call()
        }
        if !timer.isValid { return timer }
        delayed.withLock { $0.add(timer, target: target, key: key) }
        // A request that no loop holds could not be cancelled.
        if !add(timer, forModes: modes) {
            timer.invalidate()
            delayed.withLock { $0.remove(timer, target: target) }
        }
        return timer
    }

    /// False if the loop has not taken it.
    private func add(_ timer: LoopTimer, forModes modes: some Sequence<Mode>) -> Bool {
        if !timer.isValid { return false }
        for mode in modes where timer.isValid { add(timer, forMode: mode) }
        return timer.isInLoop
    }

    /// Cancels what was requested for this target and key and has not come yet; all of the target if `key` is nil. Any
    /// thread.
    public func cancelPreviousPerformRequests(withTarget target: AnyObject, key: String? = nil) {
        let timers = delayed.withLock { $0.take(target: ObjectIdentifier(target), key: key) }
        for timer in timers { timer.invalidate() }
    }
}
#endif
