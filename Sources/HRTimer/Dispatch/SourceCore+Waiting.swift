import Glibc
import HRTimerCore
import Synchronization

// Who waits for handlers to return.
extension SourceCore {
    package func waitUntilNotRunning() {
        while let latch = joinRunning(isBlocking: true) { latch.wait() }
    }

    package func untilNotRunning() async {
        while let latch = joinRunning(isBlocking: false) { await latch.opened() }
    }

    /// Nil if there is nothing to wait for. A handler that runs, if it is not that of the calling thread; and a cancel handler that is
    /// still to be called, where it cannot wait for the caller in its turn.
    private func joinRunning(isBlocking: Bool) -> Latch? {
        let isOnItsThread = isBlocking && core.isOnItsThread
        return withLock { _ -> Latch? in
            // In a child of fork(2) nobody runs it, whatever the state says.
            if core.isInherited { return nil }
            if state.running != 0 { return isCurrent(state.running) ? nil : state.rarely.whileRunning.join() }
            guard state.isCancelled, told.load(ordering: .relaxed) != Self.over, let rare = state.rare,
                rare.cancel != nil,
                core.time.virtual == nil
            else { return nil }
            let willCome = rare.target.map { $0.queue != nil && !isBlocking } ?? !isOnItsThread
            return willCome ? rare.whileRunning.join() : nil
        }
    }
}
