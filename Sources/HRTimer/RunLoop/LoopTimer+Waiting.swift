#if os(Linux)
import HRTimerCore

// Waiting until a call has returned.
extension LoopTimer {
    /// Invalidates the timer, and returns only when its handler is not running: what the handler uses may then be freed.
    ///
    /// On the loop's own thread, as in the handler itself, it does not wait; nor on any loop's thread if the timer was taken
    /// out of its loop during the call. It waits neither for a `fire()` on another thread nor for a call by a task on the
    /// handler's actor: the latter is over, or does not come if the actor invalidates the timer. Idempotent; all callers wait.
    @available(*, noasync)
    public func invalidateAndWait() {
        invalidate()
        guard let ending, !ending.isOnItsThread else { return }
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
        /// The loop that is inside the handler; nil if the timer was taken out of it before, when it is no longer known.
        let core: LoopCore?
        let latch = Latch()

        init(_ core: LoopCore?) { self.core = core }

        var isOnItsThread: Bool {
            guard let current = CurrentLoop.value else { return false }
            return core == nil || current.core === core
        }
    }
}
#endif
