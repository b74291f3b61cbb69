#if os(Linux)
import HRTimerCore

/// What a thread waits for that has a loop perform a block.
private final class Performed: Sendable {
    private let latch = Latch()
    private let isDone = Locked(false)

    func done() {
        isDone.withLock { $0 = true }
        latch.open()
    }

    /// Dropping the block lets the waiting thread go on.
    func drop() { latch.open() }

    @available(*, noasync)
    func wait() -> Bool {
        latch.wait()
        return isDone.withLock { $0 }
    }
}

/// Goes with the block.
private final class PerformTicket: Sendable {
    private let performed: Performed

    init(_ performed: Performed) {
        self.performed = performed
    }

    func done() { performed.done() }

    deinit { performed.drop() }
}

extension TimerLoop {
    /// Calls `block` once in the loop's next pass in one of `modes`, and if `wait` is true returns only when it has returned:
    /// `performSelector(onThread:with:waitUntilDone:modes:)`.
    ///
    /// Called on the loop's own thread with `wait` it calls the block at once. The loop has to run, or to be hosted, as long as
    /// it is waited for. False if the block will not be called: the loop has ended, or `modes` is empty. Any thread.
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

    /// Calls `block` on the main actor's thread, in the next pass of `TimerLoop.main`, and if `wait` is true returns only when
    /// it has returned: `performSelector(onMainThread:with:waitUntilDone:)`.
    ///
    /// On the main thread itself it is called at once if it is waited for. Where the main thread neither runs the loop
    /// nor the main queue, the caller waits for ever, as with Foundation's. In asynchronous code call a `@MainActor`
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
