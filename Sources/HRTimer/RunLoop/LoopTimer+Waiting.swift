#if os(Linux)
import HRTimerCore

// Who waits for a call to return.
extension LoopTimer {
    /// Invalidates the timer, and returns only when its handler is not running: what that uses may be freed now.
    ///
    /// On the loop's own thread, as in the handler itself, it does not wait; nor on any loop's thread, if the timer was taken out of
    /// its loop during the call. Nor does it for a `fire()` of another thread, nor for a
    /// call that a task makes on the handler's actor: that is either over, or does not come where the actor invalidates the
    /// timer. Idempotent; all who call it wait.
    @available(*, noasync)
    public func invalidateAndWait() {
        invalidate()
        guard let ending, !ending.isOnItsThread else { return }
        ending.latch.wait()
    }

    /// The same for asynchronous functions: no thread of theirs waits.
    public func invalidateAndWait() async {
        invalidate()
        await ending?.latch.opened()
    }

    private var ending: Ending? { withState { $0.extras?.ending } }

    /// The end of a call during which the timer was invalidated.
    struct Ending: Sendable {
        /// Of the loop that is inside the handler; nil if the timer had been taken out of it before: then it is not known any more.
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
