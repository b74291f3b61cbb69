// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CHRTimer
import HRTimerCore
import Synchronization

// The end of a source.
extension SourceCore {
    /// Everything that an ended source no longer needs, to be freed after unlocking.
    struct Left: ~Copyable {
        /// The engine's reference to the source itself.
        var target: TimerTarget?
        var event: Callback?
        /// Nil without extras. By reference: most sources have none, and nothing then is initialized and freed.
        var rest: Rest?
        var mustWake = false
    }

    /// What an ended source leaves of its extras.
    final class Rest {
        var owned = SourceExtras.Owned()
        let lateHandlers: LateHandlers?

        /// Safe with the source's lock held, as `makeExtras()` says.
        init(_ extras: UnsafeMutablePointer<SourceExtras>) {
            unsafe swap(&owned, &extras.pointee.owned)
            lateHandlers = unsafe extras.pointee.lateHandlers
        }
    }

    /// Does the part of ending that must be done without the lock.
    func finish(_ left: borrowing Left) {
        if left.mustWake { core.wake() }
        guard let rest = left.rest else { return }
        rest.owned.alarm?.cancel()
        rest.lateHandlers?.removeAll()
    }

    /// Moves what is to be freed into `left`, the first time, and removes the engine's timer. With the lock held.
    func letGo(_ state: inout State, _ engine: inout FiringCore, _ left: inout Left) {
        if let timer = state.timer.take() { left.mustWake = engine.removeOwned(timer, &left.target) }
        left.event = state.event.take()
        if let extras = state.extras { left.rest = unsafe Rest(extras) }
    }

    /// Calls the cancel handler and frees everything. Only the first call finds something: the handlers are gone then.
    func finishCancelling() {
        do {
            var left = Left()
            withLock { state, engine in
                state.call = unsafe .running(hrt_thread_pointer())
                letGo(&state, &engine, &left)
            }
            left.rest?.owned.cancel?.run()
            finish(left)
        }
        // Everything is freed before a waiting thread goes on.
        let latch = withLock { state in
            state.call = .none
            return state.whileRunning.release()
        }
        latch?.open()
    }

    /// Runs a block where the handlers belong. The calling thread replaces an engine's thread that has ended: no block is lost.
    func onTarget(_ block: @escaping @Sendable () -> Void) {
        if let target = withLock({ $0.target }) {
            submission(block, to: target)()
        } else if !core.runSoon(block) {
            block()
        }
    }

    /// Has the cancelling finished where the handlers belong. A loop that ends first makes no call: then everything is freed
    /// without one.
    func finishCancellingOnTarget() {
        let last = LastCall(self)
        onTarget { last.make() }
    }

    /// Frees everything, unless a handler runs: its end does that.
    private func freeWithoutCall() {
        var left = Left()
        let latch = withLock { state, engine -> Latch? in
            if case .running = state.call { return nil }
            letGo(&state, &engine, &left)
            return state.whileRunning.release()
        }
        finish(left)
        latch?.open()
    }

    /// The call of a cancelled source on its target, or the news that it will not come.
    private final class LastCall: Sendable {
        private let source: SourceCore
        private let isMade = Atomic(false)

        init(_ source: SourceCore) { self.source = source }

        func make() {
            isMade.store(true, ordering: .relaxed)
            source.finishCancelling()
        }

        deinit { if !isMade.load(ordering: .relaxed) { source.freeWithoutCall() } }
    }
}
#endif
