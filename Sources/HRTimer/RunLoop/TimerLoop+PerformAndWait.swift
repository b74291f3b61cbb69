#if os(Linux)
import HRTimerCore

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
    /// Calls `block` once in the loop's next pass in one of `modes`. If `wait` is true, returns only when the block has
    /// returned: `performSelector(onThread:with:waitUntilDone:modes:)`.
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
        perform(inModes: modes, order: 0, request: nil) {
            block()
            ticket.done()
        }
    }

    /// Calls `block` on the main actor's thread, in the next pass of `TimerLoop.main`. If `wait` is true, returns only when
    /// the block has returned: `performSelector(onMainThread:with:waitUntilDone:)`.
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
