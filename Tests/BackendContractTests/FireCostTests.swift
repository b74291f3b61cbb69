import CBench
import CHRTimer
import CTestSupport
import Foundation
import Glibc
import HRTimer
import TestSupport
import Testing

/// The exact cost of a fire in system calls and allocations, counted by a tracer and by a malloc of our own. Each count is
/// taken in a process of its own.
@Suite(.serialized) struct FireCostTests {
    @Test(
        "A repeating timer makes one futex wait per fire, and no other system call",
        .enabled(if: !isSanitized, "a sanitizer has system calls of its own")
    )
    func engineCalls() async {
        await #expect(processExitsWith: .success) {
            let engine = try TimerEngine()
            let calls = try CallsPerFire.measure(engine) { body in
                engine.schedule(after: .milliseconds(2), every: .milliseconds(2)) { _ in body() }
            }
            // A fire that is due already when the one before it has ended needs no wait.
            #expect(calls.calls == [Int(CTEST_FUTEX): calls.wakeups], "\(calls)")
            #expect((50...100).contains(calls.wakeups), "\(calls)")
        }
    }

    // Swift before 6.3 knows no sections.
    #if compiler(>=6.3)
    @Test("The functions that each fire runs lie together, in C and in Swift, where they can be prefetched at once")
    func hotSection() {
        #expect(ctest_hot_begins_with_a_page())
        // Swift's functions are most of the section.
        #expect(ctest_hot_engine_bytes() > 12_000 && ctest_hot_loop_bytes() > 12_000)
        #if !DEBUG
        // A thread prefetches no more: each line that it does not need takes the place of one that it does.
        #expect(ctest_hot_engine_bytes() < 20_000 && ctest_hot_loop_bytes() < 26_000)
        #endif
    }
    #endif

    @Test("A fire records on its thread which memory the next fire will touch")
    func touchedByEngine() async throws {
        let seen = Touched(
            HRT_TOUCHED_ENGINE,
            HRT_TOUCHED_WAKE_LATENCY,
            HRT_TOUCHED_WAKE_COUNTS,
            HRT_TOUCHED_WAKE_SLOT
        )
        let engine = try TimerEngine()
        engine.schedule(after: .milliseconds(1), every: .milliseconds(1)) { _ in seen.look() }
        await seen.isDone.opened()
        await engine.shutdown()
        #expect(seen.missing == [])
    }

    @Test("Of timers that are due together the last one's memory is recorded, and a cancelled one is no follower")
    func touchedByCrowd() async throws {
        let engine = try TimerEngine()
        let records = Recorder<UInt>()
        let isDone = Latch()
        let touched: @Sendable () -> Void = {
            records.append(UInt(bitPattern: ctest_touched(Int32(HRT_TOUCHED_RECORD.rawValue))))
        }
        // Armed by a handler, they are all due when it has returned.
        engine.schedule(at: .now) { _ in
            let due = MonotonicInstant.now
            engine.schedule(at: due) { _ in touched() }
            let cancels = Recorder<TimerToken>()
            engine.schedule(at: due) { _ in
                touched()
                engine.cancel(cancels.all[0])
                // Due after all others, and alone.
                engine.schedule(at: .now) { _ in
                    touched()
                    isDone.open()
                }
            }
            cancels.append(engine.schedule(at: due) { _ in touched() })
        }
        await isDone.opened()
        await engine.shutdown()
        #expect(records.count == 3 && records.all[0] == records.all[1] && records.all[1] != records.all[2])
    }

    @Test("The code and the data of the vDSO that reading the clock touches are found")
    func vdso() throws {
        // `String(contentsOfFile:)` reads a part only of a file whose size reads as 0.
        let file = try #require(FileHandle(forReadingAtPath: "/proc/self/maps"))
        let maps = String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self).split(separator: "\n")
        func range(_ name: String) throws -> Range<UInt>? {
            guard let line = maps.first(where: { $0.hasSuffix("[\(name)]") }) else { return nil }
            let ends = line.prefix { $0 != " " }.split(separator: "-").compactMap { UInt($0, radix: 16) }
            return ends[0]..<ends[1]
        }
        hrt_find_vdso()
        let touched = hrt_touched_here()
        let code = UInt(bitPattern: touched[Int(HRT_TOUCHED_CLOCK_CODE.rawValue)].address)
        let data = UInt(bitPattern: touched[Int(HRT_TOUCHED_CLOCK_DATA.rawValue)].address)
        // Some hosts, and valgrind, hide the vDSO from programs.
        guard let vdso = try range("vdso") else { return #expect(code != 0 && data == 0) }
        // A sanitizer replaces clock_gettime(3), which is then called as it is.
        #expect(vdso.contains(code) == !isSanitized)
        #expect(try range("vvar")?.contains(data) == true)
    }

    @Test("A source's fire records on its thread which memory the next fire will touch")
    func touchedBySource() async throws {
        let seen = Touched(HRT_TOUCHED_OWNER_CALLS, HRT_TOUCHED_OWNER_CODE, HRT_TOUCHED_SOURCE_CODE)
        let source = TimerSource(engine: try TimerEngine())
        source.setEventHandler { seen.look() }
        source.schedule(deadline: .now, repeating: .milliseconds(1))
        source.activate()
        await seen.isDone.opened()
        source.cancel()
        #expect(seen.missing == [])
    }

    @Test("A loop's fire records on its thread which memory the next fire will touch")
    func touchedByLoop() async throws {
        let seen = Touched(
            HRT_TOUCHED_LOOP,
            HRT_TOUCHED_LOOP_CORE,
            HRT_TOUCHED_OWNER_CALLS,
            HRT_TOUCHED_OWNER_CODE
        )
        let worker = try TimerLoop.thread(name: "touched")
        let timer = LoopTimer(timeInterval: .milliseconds(1), repeats: true) { _ in seen.look() }
        worker.loop.add(timer, forMode: .default)
        await seen.isDone.opened()
        await worker.shutdown()
        #expect(seen.missing == [])
    }

    /// Finds what the fires before a handler's call should have recorded on its thread and have not. Looks until nothing is
    /// missing: a part is recorded before a wait, and a thread that is late does not wait between two calls.
    private final class Touched: Sendable {
        let isDone = Latch()
        private let calls = Recorder<[UInt32]>()
        private let wanted: [UInt32]

        init(_ more: hrt_touched_kind...) {
            let always = [
                HRT_TOUCHED_STATE, HRT_TOUCHED_RECORD, HRT_TOUCHED_BATCH, HRT_TOUCHED_COMMIT, HRT_TOUCHED_LATENESS,
                HRT_TOUCHED_LATENESS_SLOT, HRT_TOUCHED_OWNER, HRT_TOUCHED_CODE, HRT_TOUCHED_FIRE, HRT_TOUCHED_HOT_DATA,
                HRT_TOUCHED_CLOCK_CODE,
            ]
            wanted = (always + more).map(\.rawValue)
        }

        var missing: [UInt32] { calls.all.last! }

        func look() {
            let missing = wanted.filter { ctest_touched(Int32($0)) == nil }
            calls.append(missing)
            if missing.isEmpty || calls.count == 100 { isDone.open() }
        }
    }

    @Test(
        "A source whose handler runs on the engine's thread makes one futex wait per fire, and no other system call",
        .enabled(if: !isSanitized, "a sanitizer has system calls of its own")
    )
    func sourceCalls() async {
        await #expect(processExitsWith: .success) {
            let engine = try TimerEngine()
            let source = TimerSource(engine: engine)
            let calls = try CallsPerFire.measure(engine) { body in
                source.setEventHandler(body)
                source.schedule(deadline: .now.advanced(by: .milliseconds(2)), repeating: .milliseconds(2))
                source.activate()
            }
            #expect(calls.calls == [Int(CTEST_FUTEX): calls.wakeups], "\(calls)")
            #expect((50...100).contains(calls.wakeups), "\(calls)")
        }
    }

    @Test(
        "With a timerfd a fire makes two system calls: one sets the timer, one waits for it",
        .enabled(if: !isSanitized, "a sanitizer has system calls of its own")
    )
    func timerfdCalls() async {
        await #expect(processExitsWith: .success) {
            let engine = try TimerEngine(.init(parkStrategy: .timerfd))
            let calls = try CallsPerFire.measure(engine) { body in
                engine.schedule(after: .milliseconds(2), every: .milliseconds(2)) { _ in body() }
            }
            // The wait is epoll_wait, on arm64 epoll_pwait. A fire that is due already makes neither of the two calls.
            #expect(calls.calls.count == 2, "\(calls)")
            #expect(calls.calls.values.allSatisfy { (50...calls.wakeups).contains($0) }, "\(calls)")
            #expect(calls.calls[Int(CTEST_TIMERFD_SETTIME)] != nil, "\(calls)")
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
        "A source's fire on a queue makes one allocation, which is Dispatch's for what is submitted",
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
            #expect((900...1050).contains(count), "\(count)")
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
                source.setEventHandler(body)
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
        var wakeups: [UInt64] = []
    }

    /// Measures the timer that `start` makes. At every fire the timer must call the function that `start` gets.
    static func measure(
        _ engine: TimerEngine,
        _ start: (@escaping @Sendable () -> Void) -> Void
    ) throws -> (calls: [Int: Int], wakeups: Int) {
        let box = Box(engine)
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
        private let engine: TimerEngine
        private let state = Locked(State())

        init(_ engine: TimerEngine) { self.engine = engine }

        func fire() {
            state.withLock { state in
                if state.tid == 0 { state.tid = hrt_thread_id() }
                guard let trace = state.trace else { return }
                state.fires += 1
                guard state.fires == 10 || state.fires == 110 else { return }
                var counts = [UInt32](repeating: 0, count: Int(CTEST_SYSCALLS))
                ctest_trace_counts(trace, &counts)
                state.counts.append(counts)
                state.wakeups.append(engine.statistics.wakeups)
            }
        }

        func begin(_ trace: OpaquePointer) { state.withLock { $0.trace = trace } }
        var tid: Int32 { state.withLock { $0.tid } }
        var isDone: Bool { state.withLock { $0.counts.count == 2 } }

        var difference: (calls: [Int: Int], wakeups: Int) {
            let (counts, wakeups) = state.withLock { ($0.counts, $0.wakeups) }
            var calls: [Int: Int] = [:]
            for number in counts[0].indices where counts[1][number] > counts[0][number] {
                calls[number] = Int(counts[1][number] - counts[0][number])
            }
            return (calls, Int(wakeups[1] - wakeups[0]))
        }
    }
}
