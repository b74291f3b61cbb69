// SPDX-License-Identifier: Apache-2.0
import CBench
import CHRTimer
import CTestSupport
import Dispatch
import Glibc
import HRTimer
import TestSupport
import TestTraits
import Testing

/// Budgets of a fire in system calls and allocations, which a tracer and a malloc of our own count. Each count is taken in a
/// process of its own.
@Suite(.serialized, .hangLimit) struct FireCostTests {
    @Test(
        "A repeating timer makes at most one futex wait a fire, and no other system call",
        .enabled(if: !isSanitized, "a sanitizer has system calls of its own")
    )
    func engineCalls() async {
        await #expect(processExitsWith: .success) {
            let engine = try TimerEngine()
            let calls = try CallsPerFire.measure { body in
                engine.schedule(after: .milliseconds(2), every: .milliseconds(2)) { _ in body() }
            }
            // A fire that is due already when the one before it has ended needs no wait.
            #expect(Set(calls.keys) == [Int(CTEST_FUTEX)] && calls.values.max()! <= 100, "\(calls)")
            // Optimized code would end it before.
            withExtendedLifetime(engine) {}
        }
    }

    @Test(
        "A source whose handler runs on the engine's thread makes at most one futex wait a fire, and no other system call",
        .enabled(if: !isSanitized, "a sanitizer has system calls of its own")
    )
    func sourceCalls() async {
        await #expect(processExitsWith: .success) {
            let engine = try TimerEngine()
            let source = TimerSource(engine: engine)
            let calls = try CallsPerFire.measure { body in
                source.setEventHandler(handler: body)
                source.schedule(deadline: .now.advanced(by: .milliseconds(2)), repeating: .milliseconds(2))
                source.activate()
            }
            #expect(Set(calls.keys) == [Int(CTEST_FUTEX)] && calls.values.max()! <= 100, "\(calls)")
            withExtendedLifetime(source) {}
        }
    }

    @Test(
        "With a timerfd a fire makes at most two system calls: one sets the timer, one waits for it",
        .enabled(if: !isSanitized, "a sanitizer has system calls of its own")
    )
    func timerfdCalls() async {
        await #expect(processExitsWith: .success) {
            let engine = try TimerEngine(.init(parkStrategy: .timerfd))
            let calls = try CallsPerFire.measure { body in
                engine.schedule(after: .milliseconds(2), every: .milliseconds(2)) { _ in body() }
            }
            // A fire that is due already makes neither of the two calls.
            #expect(!calls.isEmpty && calls.values.reduce(0, +) <= 200, "\(calls)")
            withExtendedLifetime(engine) {}
        }
    }

    private static let whyNot: Comment = "under a sanitizer malloc is not ours to count"

    @Test(
        "A fire allocates nothing, on an engine of any precision and any park strategy",
        .enabled(if: !isSanitized, whyNot)
    )
    func engineAllocations() async {
        await #expect(processExitsWith: .success) {
            for precision in TimerPrecision.allCases {
                for way in ParkStrategy.allCases {
                    let engine = try TimerEngine(.init(parkStrategy: way, precision: precision))
                    let count = Allocations.between10And110 { body in
                        engine.schedule(after: .microseconds(200), every: .microseconds(200)) { _ in body() }
                    }
                    #expect(count == 0, "\(count) \(precision), \(way)")
                }
            }
        }
    }

    @Test(
        "The first timers that an engine fires together need no allocation either",
        .enabled(if: !isSanitized, whyNot)
    )
    func crowdAllocations() async {
        await #expect(processExitsWith: .success) {
            // The first engine of a process also makes Swift's runtime build types.
            var counts: [UInt64] = []
            for _ in 1...2 {
                let engine = try TimerEngine()
                counts.append(
                    await Allocations.ofFirstCrowd(on: engine) { deadline in
                        for _ in 1...1000 { engine.schedule(at: deadline) { _ in } }
                    }
                )
            }
            #expect(counts[1] == 0, "\(counts)")
        }
    }

    @Test(
        "A source's fire on a queue makes at most one allocation, which is Dispatch's for what is submitted",
        .enabled(if: !isSanitized, whyNot)
    )
    func queueAllocations() async {
        await #expect(processExitsWith: .success) {
            let engine = try TimerEngine()
            let queue = DispatchQueue(label: "allocations")
            let sources = (1...1000).map { _ in TimerSource(engine: engine, queue: queue) }
            let count = await Allocations.ofFirstCrowd(on: engine) { deadline in
                for source in sources {
                    source.setEventHandler {}
                    source.schedule(deadline: deadline)
                    source.activate()
                }
            }
            // Optimized code would end them before their deadline.
            withExtendedLifetime(sources) {}
            // Beside those the engine's thread allocates what Dispatch keeps of a thread, and Swift's runtime of a type.
            #expect(count <= 1050, "\(count)")
        }
    }

    @Test(
        "A punctual fire of an engine with a lateness watch and a flight recorder allocates nothing either",
        .enabled(if: !isSanitized, whyNot)
    )
    func watchedAllocations() async {
        await #expect(processExitsWith: .success) {
            let engine = try TimerEngine()
            engine.flightRecorder = FlightRecorder(lateBeyond: .seconds(3600))
            engine.onLate(beyond: .seconds(3600)) { _ in }
            let count = Allocations.between10And110 { body in
                engine.schedule(after: .microseconds(200), every: .microseconds(200)) { _ in body() }
            }
            #expect(count == 0, "\(count)")
        }
    }

    @Test(
        "A source's fire allocates nothing",
        .enabled(if: !isSanitized, whyNot)
    )
    func sourceAllocations() async {
        await #expect(processExitsWith: .success) {
            let source = TimerSource()
            let count = Allocations.between10And110 { body in
                source.setEventHandler(handler: body)
                source.schedule(deadline: .now, repeating: .microseconds(200))
                source.activate()
            }
            #expect(count == 0, "\(count)")
        }
    }

    @Test(
        "The allocation counter sees an allocation",
        .enabled(if: !isSanitized, whyNot)
    )
    func countWorks() {
        let before = cbench_thread_allocations()
        let array = [UInt8](repeating: UInt8(truncatingIfNeeded: before), count: 100_000)
        #expect(cbench_thread_allocations() > before)
        withExtendedLifetime(array) {}
    }
}

/// The system calls of the thread that fires, from the tenth fire to the 110th.
private enum CallsPerFire {
    private struct State: Sendable {
        var fires = 0
        var tid: Int32 = 0
        // Sendable: set once before it is read, and ended after the last fire.
        nonisolated(unsafe) var trace: OpaquePointer?
        var counts: [[UInt32]] = []
    }

    /// Measures the timer that `start` makes. At every fire the timer must call the function that `start` gets. Returns how often
    /// each system call was made, by its number.
    static func measure(_ start: (@escaping @Sendable () -> Void) -> Void) throws -> [Int: Int] {
        let box = Box()
        start { box.fire() }
        while box.tid == 0 { pause(.milliseconds(1)) }
        var trace: OpaquePointer?
        try check(ctest_trace_begin(box.tid, &trace), "trace the engine's thread by ptrace(2)")
        box.begin(trace!)
        // Does not look meanwhile: if this thread held the lock, it would cost the engine's thread a system call.
        pause(.milliseconds(500))
        while !box.isDone { pause(.milliseconds(200)) }
        ctest_trace_end(trace!)
        return box.difference
    }

    private final class Box: Sendable {
        private let state = Locked(State())

        func fire() {
            state.withLock { state in
                if state.tid == 0 { state.tid = hrt_thread_id() }
                guard let trace = state.trace else { return }
                state.fires += 1
                guard state.fires == 10 || state.fires == 110 else { return }
                var counts = [UInt32](repeating: 0, count: Int(CTEST_SYSCALLS))
                ctest_trace_counts(trace, &counts)
                state.counts.append(counts)
            }
        }

        func begin(_ trace: OpaquePointer) { state.withLock { $0.trace = trace } }
        var tid: Int32 { state.withLock { $0.tid } }
        var isDone: Bool { state.withLock { $0.counts.count == 2 } }

        var difference: [Int: Int] {
            let counts = state.withLock { $0.counts }
            var calls: [Int: Int] = [:]
            for number in counts[0].indices where counts[1][number] > counts[0][number] {
                calls[number] = Int(counts[1][number] - counts[0][number])
            }
            return calls
        }
    }
}
