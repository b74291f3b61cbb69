#if os(Linux)
import HRTimerCore
import HRTimerLibc

/// Handlers that may hold what is not `Sendable`: they stay here, on the loop's thread, which alone calls and frees them. A
/// timer has a ticket in place of its handler, which may go on any thread.
final class LocalHandlers: @unchecked Sendable {
    // Sendable: the handlers are touched by the loop's thread alone, the rest under the lock.

    typealias Handler = (LoopTimer) -> Void

    private var handlers: [UInt64: Handler] = [:]
    private let state = Locked(State())

    private struct State: Sendable {
        var lastNumber: UInt64 = 0
        /// Whose tickets are gone.
        var released: [UInt64] = []
    }

    /// The loop's thread.
    func add(_ handler: @escaping Handler) -> UInt64 {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        handlers[number] = handler
        return number
    }

    /// The loop's thread. The handler lives until it has returned.
    func call(_ number: UInt64, _ timer: LoopTimer) {
        guard let handler = handlers[number] else { return }
        handler(timer)
    }

    /// Any thread.
    func release(_ number: UInt64) {
        state.withLock { $0.released.append(number) }
    }

    /// The loop's thread: frees what was released. What a handler held may release more.
    func freeReleased() {
        while true {
            let numbers = state.withLock { state in
                defer { state.released = [] }
                return state.released
            }
            if numbers.isEmpty { return }
            for number in numbers {
                // Freed after the table is whole again: a captured object's deinit may come back here.
                let handler = handlers.removeValue(forKey: number)
                withExtendedLifetime(handler) {}
            }
        }
    }

    /// The loop's thread, when it ends.
    func removeAll() {
        while !handlers.isEmpty {
            let held = handlers
            handlers = [:]
            withExtendedLifetime(held) {}
        }
        freeReleased()
    }
}

/// What a timer holds of its local handler.
private final class LocalTicket: Sendable {
    private let number: UInt64
    private let loop: TimerLoop.Anchor

    init(_ number: UInt64, _ loop: TimerLoop.Anchor) {
        self.number = number
        self.loop = loop
    }

    func call(_ timer: LoopTimer) {
        // `fire()` may be called anywhere.
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
    /// A thread's own loop, without holding that.
    fileprivate struct Anchor: Sendable {
        let core: LoopCore
        /// Nil for the main queue's.
        let thread: pthread_t?

        var isHere: Bool { thread.map { isCurrent($0) } ?? MainQueue.isHeld }
    }

    /// Nil if the loop is no thread's own, or another one's.
    fileprivate var anchor: Anchor? {
        if isMain { return MainQueue.isHeld ? Anchor(core: core, thread: nil) : nil }
        return isOwnedHere ? Anchor(core: core, thread: pthread_self()) : nil
    }
}

extension LoopTimer {
    /// A timer of the calling thread's own loop whose block may hold what is not `Sendable`, and in a function of the main
    /// actor may use what that has: it is called on this thread, and freed on this thread, even if another one
    /// invalidates the timer.
    ///
    ///     var frames = 0                      // no lock, no actor: of this thread
    ///     LoopTimer.scheduledHere(timeInterval: .milliseconds(16), repeats: true) { _ in frames += 1; canvas.draw(frames) }
    ///
    /// Freed at once if it is invalidated here, otherwise when the loop passes next, or with the thread. Everything else is as
    /// with `scheduled`; `fire()` is for this thread alone. In a loop that is no thread's own (`TimerLoop()`), which nobody
    /// could free the block on, the program ends. For `TimerLoop.main` the thread is whichever holds the main queue.
    @available(*, noasync)
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
    /// On the loop's thread: frees what other threads let go of.
    func freeReleased() {
        if core.hasPosted(.releases) { freePosted() }
    }

    @inline(never)
    private func freePosted() {
        // First: what is released from now on is posted again.
        core.clear(.releases)
        core.locals.freeReleased()
    }
}
#endif
