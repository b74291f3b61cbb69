#if os(Linux)
import HRTimerCore

/// The requests made with `perform(_:on:key:afterDelay:inModes:)`, by the identity of their target.
struct DelayedPerforms: Sendable {
    private struct Request: Sendable {
        let key: String
        let timer: LoopTimer
    }

    /// The requests by the identity of their target, and then by that of their timer.
    private var requests: [ObjectIdentifier: [ObjectIdentifier: Request]] = [:]
    private var count = 0
    /// The number of requests at which those with an invalidated timer are swept out. On average a request is looked at twice
    /// at most.
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

    /// Removes and returns the timers of the target's requests with that key; of all the target's requests if `key` is nil.
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
    /// `perform(inModes:order:_:)` and by the same order.
    ///
    /// A method of an actor, such as one of a `@MainActor` type, is called on that actor: at once in `main`, for the main
    /// actor. The target is held until the call; `weakTarget:` in place of `on:` does not hold it.
    /// `cancelPerforms(withTarget:key:)` cancels the request. Any thread.
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

    /// Cancels what was requested for this target and key for the next pass; all of the target's requests if `key` is nil.
    /// What the current pass has already taken still comes, as do delayed requests, which `cancelPreviousPerformRequests`
    /// cancels. O(blocks that wait). Any thread.
    public func cancelPerforms(withTarget target: AnyObject, key: String? = nil) {
        // No wake: a block that the run serves has woken the loop already, and the run finds out that nothing is left.
        let taken = state.withLock { $0.performs.take(target: ObjectIdentifier(target), key: key) }
        withExtendedLifetime(taken) {}
    }

    /// Calls `block` once, `delay` from now or later, in one of `modes`. With a delay of zero or less it waits for the next
    /// pass.
    ///
    ///     loop.perform(afterDelay: 0.5) { hide(toast) }
    ///
    /// A block that says so, `{ @MainActor in … }`, is called on its actor. `invalidate()` of the returned timer cancels the
    /// request. The block is never called if the loop does not run. Without modes, with a delay of NaN, and in a
    /// loop that has ended, the timer is invalid and nothing is held. Any thread.
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

    /// Calls `action` on `target` once, `delay` from now or later, in one of `modes`; in all else as
    /// `perform(afterDelay:inModes:_:)`.
    ///
    /// The target is held until the call; `weakTarget:` in place of `on:` does not hold it. The request is cancelled by its
    /// target and key, with `cancelPreviousPerformRequests(withTarget:key:)`, or by `invalidate()` of the returned timer.
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

    /// Calls `action` on `target` with an argument, which is held as the target is; see
    /// `perform(_:on:key:afterDelay:inModes:)`.
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

    /// Adds a delayed request, and remembers it by the identity of its target. Whether the target is held is up to `call`.
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

    /// Adds the timer for all of `modes`. Returns false if the loop has not taken it.
    private func add(_ timer: LoopTimer, forModes modes: some Sequence<Mode>) -> Bool {
        if !timer.isValid { return false }
        for mode in modes where timer.isValid { add(timer, forMode: mode) }
        return timer.isInLoop
    }

    /// Cancels the delayed requests for this target and key that have not come yet; all of the target's if `key` is nil. Any
    /// thread.
    public func cancelPreviousPerformRequests(withTarget target: AnyObject, key: String? = nil) {
        let timers = delayed.withLock { $0.take(target: ObjectIdentifier(target), key: key) }
        for timer in timers { timer.invalidate() }
    }
}
#endif
