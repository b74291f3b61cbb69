#if os(Linux)
import HRTimerCore
import HRTimerLibc

// Who waits for handlers to return.
extension SourceCore {
    package func waitUntilNotRunning() {
        let isOnItsThread = core.isOnItsThread
        while let latch = joinRunning(isBlocking: true, isOnItsThread) { latch.wait() }
    }

    package func untilNotRunning() async {
        while let latch = joinRunning(isBlocking: false, false) { await latch.opened() }
    }

    /// Nil if there is nothing to wait for. A handler that runs, unless the calling thread runs it; and a cancel
    /// handler that is still to be called, unless it could wait for the caller.
    private func joinRunning(isBlocking: Bool, _ isOnItsThread: Bool) -> Latch? {
        withLock { state -> Latch? in
            // In a forked child no thread runs it, even if the state says so.
            if core.isInForkedChild { return nil }
            if let running = state.running { return isCurrent(running) ? nil : state.whileRunning.join() }
            // Nothing comes on frozen time before the clock is moved, which the caller may be about to do.
            guard state.isCancelled, state.hasCancelHandler, core.time.comesByItself else { return nil }
            // A call that waits for an actor is to end before: that may be the caller's.
            if isBlocking, state.actor != nil { return nil }
            let willCome = state.target.map { $0.hasThreads && !isBlocking } ?? !isOnItsThread
            return willCome ? state.whileRunning.join() : nil
        }
    }
}
#endif
