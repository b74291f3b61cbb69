// SPDX-License-Identifier: Apache-2.0
import CBench
import HRTimer

// The handlers of the subjects that are compared with a bare loop. In a file of their own: the compiler puts the code of a
// file together, so that a handler's two parts, of which one loads what the other one needs, are not a page of code each.
extension BlockRecorder {
    @inline(never)
    func handlerOfEngine() -> @Sendable (TimerFire) -> Void {
        { self.fire(for: Int64($0.missedTicks &+ 1)) }
    }

    /// As in Dispatch's subject, the handler retains the source; cancelling it releases the handler.
    @inline(never)
    func handler(of source: TimerSource) -> @isolated(any) @Sendable () -> Void {
        { self.fire(for: Int64(source.data)) }
    }

    @inline(never)
    func handlerOfLoopTimer() -> @isolated(any) @Sendable (LoopTimer) -> Void {
        { timer in
            let woke_ns = cbench_now_ns()
            if !self.fire(woke_ns, merging: timer.missedTicks) { timer.invalidate() }
        }
    }
}
