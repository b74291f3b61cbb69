// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import HRTimerCore
import HRTimerLibc

/// Handlers that may capture what is not `Sendable`. They stay here, and only the loop's thread calls and frees them. A timer
/// holds a ticket in place of its handler; the ticket may go to any thread.
final class LocalHandlers: @unchecked Sendable {
    // Sendable: only the loop's thread touches the handlers and their last number; the rest is behind the lock.

    typealias Handler = (LoopTimer) -> Void

    private var handlers: [UInt64: Handler] = [:]
    private var lastNumber: UInt64 = 0
    /// The numbers of handlers whose tickets are gone.
    private let released = Locked<[UInt64]>([])

    /// Adds a handler and returns its number. The loop's thread.
    func add(_ handler: @escaping Handler) -> UInt64 {
        lastNumber += 1
        handlers[lastNumber] = handler
        return lastNumber
    }

    /// Calls the handler, which is kept until it has returned. The loop's thread.
    func call(_ number: UInt64, _ timer: LoopTimer) { handlers[number]?(timer) }

    /// Notes that the handler's ticket is gone. Any thread.
    func release(_ number: UInt64) { released.withLock { $0.append(number) } }

    /// Frees the released handlers; what they captured may release more of them. The loop's thread.
    func freeReleased() {
        while let number = released.withLock({ $0.popLast() }) {
            // Freed after the table is consistent again: the deinit of a captured object may call this function.
            let handler = handlers.removeValue(forKey: number)
            withExtendedLifetime(handler) {}
        }
    }

    /// Frees all handlers when the loop ends. The loop's thread.
    func removeAll() {
        while !handlers.isEmpty {
            let held = handlers
            handlers = [:]
            withExtendedLifetime(held) {}
        }
        freeReleased()
    }
}

/// What a timer holds in place of its local handler.
private final class LocalTicket: Sendable {
    private let number: UInt64
    private let loop: TimerLoop.Anchor

    init(_ number: UInt64, _ loop: TimerLoop.Anchor) {
        self.number = number
        self.loop = loop
    }

    func call(_ timer: LoopTimer) {
        // Checked here, since `fire()` may be called on any thread.
        if loop.isHere { return loop.core.locals.call(number, timer) }
        fatalError("LoopTimer.fire() of a timer made by scheduledHere: it can be called on its own thread alone")
    }

    deinit {
        let core = loop.core
        if core.isInForkedChild { return }
        core.locals.release(number)
        if loop.isHere {
            core.locals.freeReleased()
        } else {
            core.post(.releases)
            core.waiter.wake()
        }
    }
}

extension TimerLoop {
    /// A reference to a thread's own loop that does not keep the loop alive.
    fileprivate struct Anchor: Sendable {
        let core: LoopCore
        /// The loop's thread; nil for the loop of the main queue.
        let thread: pthread_t?

        var isHere: Bool { thread.map { isCurrent($0) } ?? MainQueue.isHeld }
    }

    /// The loop's anchor; nil if the loop is no thread's own, or another thread's.
    fileprivate var anchor: Anchor? {
        if isMain { return MainQueue.isHeld ? Anchor(core: core, thread: nil) : nil }
        return isOwnedHere ? Anchor(core: core, thread: pthread_self()) : nil
    }
}

extension LoopTimer {
    /// Makes a timer in the calling thread's own loop.
    ///
    /// Its block may capture what is not `Sendable`, and in a function of the main actor may use that actor's state. This
    /// thread calls and frees the block, whatever thread invalidates the timer.
    ///
    ///     var frames = 0                      // no lock, no actor: of this thread
    ///     LoopTimer.scheduledHere(timeInterval: .milliseconds(16), repeats: true) { _ in frames += 1; canvas.draw(frames) }
    ///
    /// The block is freed at once if the timer is invalidated here, otherwise in the loop's next pass, or when the thread ends.
    /// Everything else is as with `scheduled`, but only this thread may call `fire()`. In a loop that is no thread's own
    /// (`TimerLoop()`) nobody could free the block on its thread, so the program ends. For `TimerLoop.main` the thread is the
    /// one that holds the main queue.
    @available(
        *,
        noasync,
        message: "add a LoopTimer with a @MainActor block to TimerLoop.main, which runs by itself under an async main"
    )
    @discardableResult
    public static func scheduledHere(
        timeInterval: some TimeSpan,
        repeats: Bool,
        policy: MissedTickPolicy = .mergeToGrid,
        tolerance: some TimeSpan = Duration.zero,
        forMode mode: TimerLoop.Mode = .default,
        block: @escaping (LoopTimer) -> Void
    ) -> LoopTimer {
        let loop = TimerLoop.current
        guard let anchor = loop.anchor else {
            fatalError("LoopTimer.scheduledHere in a loop that is no thread's own: use scheduled, and a Sendable block")
        }
        let ticket = LocalTicket(loop.core.locals.add(block), anchor)
        let timer = LoopTimer(
            timeInterval: timeInterval,
            repeats: repeats,
            policy: policy,
            tolerance: tolerance
        ) { ticket.call($0) }
        loop.add(timer, forMode: mode)
        return timer
    }
}

extension TimerLoop {
    /// Frees the local handlers that other threads have released. The loop's thread.
    func freeReleased() {
        guard core.hasPosted(.releases) else { return }
        // Cleared first: what is released from now on is posted again.
        core.clear(.releases)
        core.locals.freeReleased()
    }
}
#endif
