// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import HRTimerCore

// Blocks for the next pass.
extension TimerLoop {
    /// Calls `block` once, in the loop's next pass in one of `modes`, after blocks that were added before it; blocks of a lower
    /// `order` come first.
    ///
    /// Wakes the loop, unlike Foundation's.
    ///
    /// A pass calls blocks when it begins, and again when its timers and descriptors were called: what a handler of a timer
    /// or a descriptor adds comes in the same pass, what a block adds comes later. The block is never called if the loop does
    /// not run again; it is dropped at once without modes, or if the loop has ended. Any thread.
    ///
    /// A block of an actor is called on that actor: in the pass itself where the loop's thread is the actor's, as in `main`
    /// for the main actor; elsewhere by a task. It says so itself, `{ @MainActor in … }`, even in code of the main actor: a
    /// closure that does not say so runs on the loop's thread.
    public func perform(
        inModes modes: some Sequence<Mode> = [.default],
        order: Int = 0,
        _ block: @escaping @isolated(any) @Sendable () -> Void
    ) {
        enqueue(modes, order, onItsActor(block))
    }

    private func enqueue(_ modes: some Sequence<Mode>, _ order: Int, _ block: @escaping @Sendable () -> Void) {
        core.update { state in
            if state.isEnded { return false }
            let set = state.modes.set(of: modes)
            if set == ModeTable.nowhere { return false }
            let place = state.performs.add(block, order: order, keepsRunning: true)
            state.performs.setModes(set, of: place, in: &state.modes)
            core.post(.blocks)
            return state.serves(set) && state.mustWakeNow()
        }
    }
}

/// The requests made with `perform(afterDelay:inModes:for:key:_:)`, by the identity of their target.
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

// Blocks for later.
extension TimerLoop {
    /// Calls `block` once, `delay` from now or later, in one of `modes`.
    ///
    /// With a delay of zero or less it waits for the next pass.
    ///
    ///     loop.perform(afterDelay: 0.5) { hide(toast) }
    ///
    /// A block that says so, `{ @MainActor in … }`, is called on its actor. `invalidate()` of the returned timer cancels the
    /// request. So does `cancelPreviousPerformRequests(withTarget:key:)`, if the request has a target; what it is for is known
    /// by its identity alone, and only the block may hold it. The block is never called if the loop does not run. Without modes,
    /// with a delay of NaN, and in a loop that has ended, the timer is invalid and nothing is held. Any thread.
    @discardableResult
    public func perform(
        afterDelay delay: some TimeSpan,
        inModes modes: some Sequence<Mode> = [.default],
        for target: AnyObject? = nil,
        key: String = "",
        _ block: @escaping @isolated(any) @Sendable () -> Void
    ) -> LoopTimer {
        let block = onItsActor(block)
        let target = target.map { ObjectIdentifier($0) }
        let timer = LoopTimer(timeInterval: delay, repeats: false) { [weak self] timer in
            if let target { self?.delayed.withLock { $0.remove(timer, target: target) } }
            block()
        }
        if !timer.isValid { return timer }
        if let target { delayed.withLock { $0.add(timer, target: target, key: key) } }
        // A request that no loop holds could not be cancelled.
        if !add(timer, forModes: modes) {
            timer.invalidate()
            if let target { delayed.withLock { $0.remove(timer, target: target) } }
        }
        return timer
    }

    /// Adds the timer for all of `modes`. Returns false if the loop has not taken it.
    private func add(_ timer: LoopTimer, forModes modes: some Sequence<Mode>) -> Bool {
        for mode in modes where timer.isValid { add(timer, forMode: mode) }
        return timer.isInLoop
    }

    /// Cancels the delayed requests for this target and key that have not come yet; all of the target's if `key` is nil.
    ///
    /// Any thread.
    public func cancelPreviousPerformRequests(withTarget target: AnyObject, key: String? = nil) {
        let timers = delayed.withLock { $0.take(target: ObjectIdentifier(target), key: key) }
        for timer in timers { timer.invalidate() }
    }
}

/// The end of a block that a loop performs, for a thread that waits for it.
private final class Performed: Sendable {
    private let latch = Latch()
    private let isDone = Locked(false)

    func done() {
        isDone.withLock { $0 = true }
        latch.open()
    }

    /// Lets the waiting thread go on, since the block is freed. `wait()` returns false if there was no call before.
    func drop() { latch.open() }

    @available(*, noasync)
    func wait() -> Bool {
        latch.wait()
        return isDone.withLock { $0 }
    }
}

/// Belongs to the block: if that is freed without a call, so is this, and the waiting thread goes on.
private final class PerformTicket: Sendable {
    private let performed: Performed

    init(_ performed: Performed) {
        self.performed = performed
    }

    func done() { performed.done() }

    deinit { performed.drop() }
}

extension TimerLoop {
    /// Calls `block` once in the loop's next pass in one of `modes`.
    ///
    /// If `wait` is true, returns only when the block has returned: `performSelector(onThread:with:waitUntilDone:modes:)`.
    ///
    /// Called on the loop's own thread with `wait`, it calls the block at once. The loop has to run, or to be hosted, as long
    /// as a caller waits. Returns false if the block will not be called because the loop has ended; with `wait`, also if
    /// `modes` is empty. Any thread.
    @available(*, noasync)
    @discardableResult
    public func perform(
        inModes modes: some Sequence<Mode> = [.common],
        waitUntilDone wait: Bool,
        _ block: @escaping @Sendable () -> Void
    ) -> Bool {
        if wait, isOnItsThread {
            block()
            return true
        }
        let performed = Performed()
        enqueue(block, modes, performed)
        return wait ? performed.wait() : !state.withLock { $0.isEnded }
    }

    private func enqueue(_ block: @escaping @Sendable () -> Void, _ modes: some Sequence<Mode>, _ performed: Performed)
    {
        let ticket = PerformTicket(performed)
        enqueue(modes, 0) {
            block()
            ticket.done()
        }
    }

    /// Calls `block` on the main actor's thread, in the next pass of `TimerLoop.main`.
    ///
    /// If `wait` is true, returns only when the block has returned: `performSelector(onMainThread:with:waitUntilDone:)`.
    ///
    /// Called on the main thread with `wait`, it calls the block at once. If the main thread runs neither the loop nor the
    /// main queue, a caller that waits does so for ever, as with Foundation's. In asynchronous code call a `@MainActor`
    /// function instead.
    @available(*, noasync)
    public static func performOnMain(
        inModes modes: some Sequence<Mode> = [.common],
        waitUntilDone wait: Bool = false,
        _ block: @escaping @MainActor @Sendable () -> Void
    ) {
        let block = onItsActor(block)
        if wait, MainQueue.isHeld { return block() }
        main.perform(inModes: modes, waitUntilDone: wait, block)
    }
}
#endif
