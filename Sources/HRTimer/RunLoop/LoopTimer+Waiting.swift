#if os(Linux)
import CHRTimer
import HRTimerCore

// Waiting until a call has returned.
extension LoopTimer {
    /// Invalidates the timer, and returns only when its handler is not running: what the handler uses may then be freed.
    ///
    /// On the loop's own thread, as in the handler itself, it does not wait; nor on the thread of the call if the timer was taken
    /// out of its loop during it. It waits neither for a `fire()` on another thread nor for a call by a task on the
    /// handler's actor: the latter is over, or does not come if the actor invalidates the timer. Idempotent; all callers wait.
    /// Handlers of two loops that wait for each other's timers in this way wait for ever.
    @available(*, noasync)
    public func invalidateAndWait() {
        invalidate()
        guard let ending, ending.thread != hrt_thread_pointer() else { return }
        ending.latch.wait()
    }

    /// Invalidates the timer and waits as the other `invalidateAndWait()` does, from an asynchronous function: no thread waits.
    public func invalidateAndWait() async {
        invalidate()
        await ending?.latch.opened()
    }

    private var ending: Ending? { withState { $0.extras?.ending } }

    /// The end of a call during which the timer was invalidated.
    struct Ending: Sendable {
        /// The thread that is inside the handler. Sendable and unsafe: only compared.
        nonisolated(unsafe) let thread: UnsafeRawPointer?
        let latch = Latch()
    }
}
#endif
