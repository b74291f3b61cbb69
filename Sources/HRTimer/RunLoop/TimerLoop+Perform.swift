import HRTimerCore

/// What was asked for with `perform(_:afterDelay:)`, by the identity of its target.
struct DelayedPerforms: Sendable {
    private struct Request: Sendable {
        let key: String
        let timer: LoopTimer
    }

    private var requests: [ObjectIdentifier: [Request]] = [:]

    mutating func add(_ timer: LoopTimer, target: ObjectIdentifier, key: String) {
        requests[target, default: []].removeAll { !$0.timer.isValid }
        requests[target, default: []].append(Request(key: key, timer: timer))
    }

    mutating func remove(_ timer: LoopTimer, target: ObjectIdentifier) {
        requests[target]?.removeAll { $0.timer === timer }
        if requests[target]?.isEmpty == true { requests[target] = nil }
    }

    /// Nil for the key takes all of the target.
    mutating func take(target: ObjectIdentifier, key: String?) -> [LoopTimer] {
        let all = requests[target] ?? []
        let kept = all.filter { key != nil && $0.key != key }
        requests[target] = kept.isEmpty ? nil : kept
        return all.filter { key == nil || $0.key == key }.map(\.timer)
    }

    mutating func removeAll() {
        requests = [:]
    }
}

extension TimerLoop {
    /// Calls `action` on `target` once, `delay` from now or later, in one of `modes`. Zero and less waits for the next pass.
    ///
    /// The target is held until then. `cancelPreviousPerformRequests(withTarget:key:)` takes it back, by the target and the
    /// key, or `invalidate()` of the timer that is returned. Never called if the loop does not run. Any thread.
    @discardableResult
    public func perform<Target: AnyObject & Sendable>(
        _ action: @escaping @Sendable (Target) -> () -> Void,
        on target: Target,
        key: String = "",
        afterDelay delay: Duration,
        inModes modes: some Sequence<Mode> = [.default]
    ) -> LoopTimer {
        let timer = LoopTimer(timeInterval: delay, repeats: false) { [weak self] timer in
            self?.delayed.withLock { $0.remove(timer, target: ObjectIdentifier(target)) }
            action(target)()
        }
        delayed.withLock { $0.add(timer, target: ObjectIdentifier(target), key: key) }
        for mode in modes { add(timer, forMode: mode) }
        return timer
    }

    /// Takes back what was asked for this target and key and has not come yet; all of the target if `key` is nil. Any
    /// thread.
    public func cancelPreviousPerformRequests(withTarget target: AnyObject, key: String? = nil) {
        let timers = delayed.withLock { $0.take(target: ObjectIdentifier(target), key: key) }
        for timer in timers { timer.invalidate() }
    }
}
