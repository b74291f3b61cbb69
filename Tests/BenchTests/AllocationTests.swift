// SPDX-License-Identifier: Apache-2.0
import CBench
import Dispatch
import HRTimer
import Synchronization
import Testing

/// The allocations of the hot paths, counted within malloc(3) itself.
@Suite("Allocations", .enabled(if: cbench_counts_allocations(), "sanitizers replace malloc themselves"))
struct AllocationTests {
    private static let rounds = 1000

    @Test("are counted, one block for one object")
    func counts() {
        #expect(blocks { withExtendedLifetime(Payload()) {} } == Self.rounds)
        #expect(blocks {} == 0)
    }

    @Test("are none when a source is moved, later or earlier, suspended or resumed")
    func movingSource() throws {
        let engine = try TimerEngine()
        let source = TimerSource(engine: engine)
        source.setEventHandler {}
        source.schedule(deadline: .now.advanced(by: .seconds(3600)))
        source.activate()
        var step = 0
        let deadline = MonotonicInstant.now.advanced(by: .seconds(7200))
        #expect(
            blocks {
                step += 1
                source.schedule(deadline: MonotonicInstant(nanoseconds: deadline.nanoseconds + Int64(step)))
            } == 0
        )
        #expect(
            blocks {
                step += 1
                source.schedule(deadline: MonotonicInstant(nanoseconds: deadline.nanoseconds - Int64(step)))
            } == 0
        )
        #expect(
            blocks {
                source.suspend()
                source.resume()
            } == 0
        )
    }

    @Test("are none when a one-shot timer is scheduled and cancelled, except for its closure")
    func oneShot() throws {
        let engine = try TimerEngine()
        let deadline = MonotonicInstant.now.advanced(by: .seconds(3600))
        // Makes the engine grow once: slots of timers are used again.
        engine.cancel(engine.schedule(at: deadline) { _ in })
        #expect(blocks { engine.cancel(engine.schedule(at: deadline) { _ in }) } == 0)
        let closures = blocks {
            let payload = Payload()
            engine.cancel(
                engine.schedule(at: deadline) { _ in withExtendedLifetime(payload) {} }
            )
        }
        // One block for the payload, and in debug builds one for a context around it.
        #expect((Self.rounds...2 * Self.rounds).contains(closures))
    }

    @Test("are none when a repeating source fires, on the engine's thread")
    func firing() throws {
        let engine = try TimerEngine()
        let source = TimerSource(engine: engine)
        let done = DispatchSemaphore(value: 0)
        let counts = Counts()
        source.setEventHandler {
            if counts.callDone(cbench_thread_allocations()) { done.signal() }
        }
        source.schedule(deadline: .now, repeating: .microseconds(200))
        source.activate()
        #expect(done.wait(timeout: .now() + 60) == .success)
        source.cancelAndWait()
        #expect(counts.allocated == 0)
    }

    /// Returns the number of blocks that the calling thread allocates in all rounds, after ten rounds that make room.
    private func blocks(_ body: () -> Void) -> Int {
        for _ in 0..<10 { body() }
        let before = cbench_thread_allocations()
        for _ in 0..<Self.rounds { body() }
        return Int(cbench_thread_allocations() - before)
    }

    private final class Payload: Sendable {}

    /// Counts the allocations of the engine's thread from the tenth call to the hundredth.
    private final class Counts: Sendable {
        private let calls = Atomic(0)
        private let first = Atomic(UInt64(0))
        private let last = Atomic(UInt64(0))

        /// Notes a call. Returns true at the last one.
        func callDone(_ allocations: UInt64) -> Bool {
            let call = calls.add(1, ordering: .relaxed).newValue
            if call == 10 { first.store(allocations, ordering: .relaxed) }
            if call == 100 { last.store(allocations, ordering: .relaxed) }
            return call == 100
        }

        var allocated: UInt64 { last.load(ordering: .relaxed) - first.load(ordering: .relaxed) }
    }
}
