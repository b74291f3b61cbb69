// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import HRTimerCore
import HRTimerLibc

// Waiting for handlers to return.
extension SourceCore {
    package func waitUntilNotRunning() {
        let isOnItsThread = core.isOnItsThread
        while let latch = joinRunning(isBlocking: true, isOnItsThread) { latch.wait() }
    }

    package func untilNotRunning() async {
        while let latch = joinRunning(isBlocking: false, false) { await latch.opened() }
    }

    /// Returns the latch to wait for, or nil if there is nothing to wait for. The caller waits for a running handler, unless
    /// the calling thread runs it, and for a cancel handler that is still to be called, unless that could wait for the caller.
    private func joinRunning(isBlocking: Bool, _ isOnItsThread: Bool) -> Latch? {
        withLock { state -> Latch? in
            // In a forked child no thread runs the handler, even if the state says so.
            if core.isInForkedChild { return nil }
            if case .running(let thread) = state.call { return isCurrent(thread) ? nil : state.whileRunning.join() }
            // On frozen time nothing comes before the clock is moved, and the caller may be about to move it.
            guard state.isCancelled, state.hasCancelHandler, core.time.comesByItself else { return nil }
            // The cancel handler comes after a call that may wait for an actor, which the caller may keep busy.
            if isBlocking, state.actor != nil { return nil }
            let willCome = state.target.map { $0.hasThreads && !isBlocking } ?? !isOnItsThread
            return willCome ? state.whileRunning.join() : nil
        }
    }
}
#endif
