// SPDX-License-Identifier: Apache-2.0
import CBench
import HRTimer
import TestSupport

/// The allocations of the thread that fires, from the tenth fire to the 110th.
enum Allocations {
    static func between10And110(_ start: (@escaping @Sendable () -> Void) -> Void) -> Int {
        let box = Box()
        start { box.fire() }
        while true {
            if let count = box.count { return count }
            pause(.milliseconds(5))
        }
    }

    /// The allocations of the engine's thread while it fires for the first time the timers that `arm` arms for its deadline.
    static func ofFirstCrowd(on engine: TimerEngine, _ arm: (MonotonicInstant) -> Void) async -> UInt64 {
        let counted = Locked((before: UInt64(0), after: UInt64(0)))
        let isDone = Latch()
        // Armed first, for an earlier deadline: it fires first, however long the arming takes.
        engine.schedule(after: .zero) { _ in counted.withLock { $0.before = cbench_thread_allocations() } }
        let deadline = MonotonicInstant.now + .milliseconds(100)
        arm(deadline)
        // Of equal deadlines the one that was armed last fires last.
        engine.schedule(at: deadline) { _ in
            counted.withLock { $0.after = cbench_thread_allocations() }
            isDone.open()
        }
        await isDone.opened()
        return counted.withLock { $0.after - $0.before }
    }

    private final class Box: Sendable {
        private let state = Locked((fires: 0, atTenth: UInt64(0), atLast: UInt64?.none))

        func fire() {
            state.withLock { state in
                state.fires += 1
                if state.fires == 10 { state.atTenth = cbench_thread_allocations() }
                if state.fires == 110 { state.atLast = cbench_thread_allocations() }
            }
        }

        var count: Int? {
            state.withLock { state in state.atLast.map { Int($0 - state.atTenth) } }
        }
    }
}
