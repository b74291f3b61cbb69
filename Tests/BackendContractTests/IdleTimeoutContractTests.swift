// SPDX-License-Identifier: Apache-2.0
import Glibc
import HRTimer
import HRTimerCore
import Synchronization
import TestSupport
import TestTraits
import Testing

/// An idle timeout on the real clock, touched by more threads than there are processors.
@Suite("An idle timeout on the real clock")
struct IdleTimeoutContractTests {
    private static let timeout: Duration = .milliseconds(5)

    private final class Shared: Sendable {
        let isTouching = Atomic(false)
        let isOver = Atomic(false)
        let calls = Atomic(0)
        /// When the latest touch began that returned true; the clock's origin while there is none.
        let touched_ns = Atomic<Int64>(0)
        /// The shortest time from such a touch to the call of the handler.
        let shortest_ns = Atomic<Int64>(.max)

        func noteCall() {
            let quiet_ns = MonotonicInstant.now.nanoseconds - touched_ns.load(ordering: .acquiring)
            shortest_ns.min(quiet_ns, ordering: .relaxed)
            calls.add(1, ordering: .releasing)
        }

        func touch(_ idle: IdleTimeout) {
            while !isOver.load(ordering: .relaxed) {
                guard isTouching.load(ordering: .relaxed) else {
                    usleep(100)
                    continue
                }
                let begun_ns = MonotonicInstant.now.nanoseconds
                if idle.touch() { touched_ns.max(begun_ns, ordering: .releasing) }
            }
        }
    }

    @Test(
        "expires no sooner than its timeout after the last touch that returned true, though eight threads touch it at once",
        .ownThread,
        .hangLimit
    )
    func neverEarly() throws {
        let shared = Shared()
        let engine = try TimerEngine(.init(name: "contract"))
        let idle = IdleTimeout(Self.timeout, engine: engine) { shared.noteCall() }
        let threads = try (0..<8).map { _ in try startThread { shared.touch(idle) } }
        for round in 1...300 {
            shared.isTouching.store(true, ordering: .relaxed)
            usleep(useconds_t(4000 + round * 20))
            // A thread that stalls in its touch ends it now, after those of the others.
            shared.isTouching.store(false, ordering: .relaxed)
            while shared.calls.load(ordering: .acquiring) < round { usleep(200) }
            #expect(idle.resume())
        }
        shared.isOver.store(true, ordering: .relaxed)
        for thread in threads { join(thread) }
        #expect(.nanoseconds(shared.shortest_ns.load(ordering: .relaxed)) >= Self.timeout)
        idle.cancel()
        engine.shutdown()
    }
}
