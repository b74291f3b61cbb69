// SPDX-License-Identifier: Apache-2.0
import Glibc
import TestSupport
import TestTraits
import Testing

@testable import HRTimer

/// The guarantees of a `TimerExecutor`, on real threads.
@Suite("A timer executor", .hangLimit)
struct ExecutorContractTests {
    @Test("runs tasks on its engine's thread, before and after a sleep on a clock of the library")
    func staysOnItsThread() async throws {
        let engine = try TimerEngine()
        let executor = TimerExecutor(engine: engine)
        let its = await thread(of: engine)
        let seen = try await Task(executorPreference: executor) {
            var seen: Set<pthread_t> = []
            for _ in 0..<20 {
                seen.insert(here())
                try await MonotonicClock().sleep(until: .now.advanced(by: .milliseconds(1)))
                seen.insert(here())
                try await MonotonicClock(engine: engine).sleep(until: .now.advanced(by: .milliseconds(1)))
                try await Task.sleep(until: .now.advanced(by: .milliseconds(1)), clock: .monotonic)
                seen.insert(here())
                await Task.yield()
            }
            return seen
        }.value
        #expect(seen == [its])
        // The executor's own engine fired all of the sleeps, not the shared one.
        #expect(engine.statistics.fires >= 60)
    }

    @Test("wakes its thread once for a sleep, and sends no other wake")
    func wakesOnce() async throws {
        let engine = try TimerEngine()
        let executor = TimerExecutor(engine: engine)
        let (wakeups, spurious) = try await Task(executorPreference: executor) {
            let before = engine.statistics
            for _ in 0..<50 { try await MonotonicClock().sleep(until: .now.advanced(by: .microseconds(500))) }
            let after = engine.statistics
            return (after.wakeups - before.wakeups, after.wakesSent - before.wakesSent)
        }.value
        #expect(wakeups <= 50)
        #expect(spurious == 0)
    }

    @Test("runs jobs one at a time, in the order in which they came", arguments: Home.allCases)
    func order(home: Home) async throws {
        let (executor, end) = try home.make()
        let log = Log()
        let tasks = (0..<1000).map { number in Task(executorPreference: executor) { log.add(number) } }
        for task in tasks { await task.value }
        #expect(log.numbers == Array(0..<1000))
        end()
    }

    @Test("keeps the code and the sleeps of its actors on its thread", arguments: Home.allCases)
    func actors(home: Home) async throws {
        let (executor, end) = try home.make()
        let lodger = Lodger(executor)
        let its = await lodger.thread()
        for _ in 0..<20 { #expect(try await lodger.sleepAndTell() == [its]) }
        #expect(its != here())
        #expect(!executor.isCurrent)
        end()
    }

    @Test("lets handlers on its thread assume isolation to its actors", arguments: Home.allCases)
    func assumesIsolation(home: Home) async throws {
        let (executor, end) = try home.make()
        let lodger = Lodger(executor)
        await withCheckedContinuation { continuation in
            let handler: @Sendable () -> Void = {
                lodger.assumeIsolated { $0.calls += 1 }
                continuation.resume()
            }
            _ = executor.jobs.host.arm(0, tolerance_ns: 0, handler)
        }
        #expect(await lodger.calls == 1)
        end()
    }

    @Test("runs an actor on a loop's thread, beside the loop's descriptors")
    func besideDescriptors() async throws {
        let thread = try TimerLoop.thread()
        let lodger = Lodger(TimerExecutor(thread: thread))
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        let (reader, writer) = (ends[0], ends[1])
        let source = try LoopSource(descriptor: reader, events: .readable) { _, _ in
            var byte: UInt8 = 0
            read(reader, &byte, 1)
            lodger.assumeIsolated { $0.calls += 1 }
        }
        try thread.loop.add(source, forMode: .default)
        for expected in 1...3 {
            var byte: UInt8 = 1
            write(writer, &byte, 1)
            while await lodger.calls < expected { try await lodger.nap() }
        }
        source.invalidate()
        close(reader)
        close(writer)
    }

    @Test("loses no job when its engine or loop ends: jobs go on in order, one at a time", arguments: Home.allCases)
    func losesNoJob(home: Home) async throws {
        let (executor, end) = try home.make()
        let lodger = Lodger(executor)
        let log = Log()
        await lodger.call()
        let sleeper = Task { try await lodger.sleepForEver() }
        while await !lodger.isAsleep { await Task.yield() }
        let callers = (0..<2000).map { number in
            Task(executorPreference: executor) {
                log.add(number)
                await lodger.call()
            }
        }
        end()
        for caller in callers { await caller.value }
        #expect(log.numbers == Array(0..<2000))
        await #expect(throws: CancellationError.self) { try await sleeper.value }
        // Jobs that come long after the end run too.
        let late = (0..<100).map { number in Task(executorPreference: executor) { log.add(number) } }
        for task in late { await task.value }
        #expect(log.numbers.suffix(100) == Array(0..<100)[...])
        #expect(await lodger.calls == 2001)
        // A minute, which no busy machine lets pass before the sleep begins: a sleep whose deadline has passed needs no thread.
        await #expect(throws: CancellationError.self) { try await lodger.nap(for: .seconds(60)) }
    }

    @Test("lets timers of its thread fire although there are always more jobs", arguments: Home.allCases)
    func doesNotStarve(home: Home) async throws {
        let (executor, end) = try home.make()
        let spinners = (0..<3).map { _ in
            Task(executorPreference: executor) { while !Task.isCancelled { await Task.yield() } }
        }
        // Each fire arms the next timer, on that thread alone: the pool may be busy with other tests.
        TenFires(executor.jobs.host) { for spinner in spinners { spinner.cancel() } }.next(1)
        for spinner in spinners { await spinner.value }
        end()
    }

    @Test("runs no job of an actor inside another job of that actor, which runs the loop")
    func isNotReentered() async throws {
        let thread = try TimerLoop.thread()
        let executor = TimerExecutor(thread: thread)
        let lodger = Lodger(executor)
        await lodger.call()
        let caller = Task {
            while await !lodger.isNested { await Task.yield() }
            await lodger.call()
        }
        let callsInside = await lodger.callsDuringNestedRun(of: thread.loop)
        #expect(callsInside == 0)
        await caller.value
    }

    @Test("ends its own engine with its last reference, which one of its tasks may hold")
    func lifetime() async throws {
        weak var engine: TimerEngine?
        do {
            let own = try TimerEngine()
            engine = own
            let executor = TimerExecutor(engine: own)
            await Task(executorPreference: executor) { try? await MonotonicClock().sleep(until: .now) }.value
        }
        while engine != nil { try await Task.sleep(for: .milliseconds(1)) }
    }

    @Test(
        "spins for precise sleeps within the engine's budget, on its thread and in the pool",
        arguments: [true, false]
    )
    func keepsTheBudget(isOnItsThread: Bool) async throws {
        let engine = try TimerEngine(.init(precision: .precise))
        let clock = MonotonicClock(engine: engine)
        let begun = MonotonicInstant.now
        let sleep: @Sendable () async throws -> Void = {
            for _ in 0..<1000 {
                let deadline = MonotonicInstant.now.advanced(by: .microseconds(500))
                try await clock.sleep(until: deadline)
                #expect(MonotonicInstant.now >= deadline)
            }
        }
        if isOnItsThread {
            try await Task(executorPreference: TimerExecutor(engine: engine), operation: sleep).value
        } else {
            try await Task.detached(operation: sleep).value
        }
        let elapsed = begun.duration(to: .now)
        let spun = engine.statistics.spinTime
        // Under a sanitizer every wake-up is later than the budget covers, so that no spin is worth its cost.
        if !isSanitized { #expect(spun > .zero) }
        // The savings of a tenth of a second that the budget begins with come on top, once for each spin window.
        #expect(spun < elapsed * 1.1 * SpinBudget.defaultShare + .milliseconds(200) * SpinBudget.defaultShare)
    }

    @Test("leaves no timer behind if sleeps are cancelled while they fire", arguments: Home.allCases)
    func cancelledSleeps(home: Home) async throws {
        let (executor, end) = try home.make()
        for round in 0..<200 {
            let deadline = MonotonicInstant.now.advanced(by: .microseconds(300))
            let sleeper = Task(executorPreference: executor) {
                try await MonotonicClock().sleep(until: deadline)
                return MonotonicInstant.now
            }
            if round % 2 == 0 { usleep(UInt32(round)) }
            sleeper.cancel()
            if case .success(let woke) = await sleeper.result { #expect(woke >= deadline) }
        }
        let host = executor.jobs.host
        while host.liveTimers > 0 { try await Task.sleep(for: .milliseconds(1)) }
        end()
    }
}

/// Ten timers, each armed by the one before.
private final class TenFires: Sendable {
    private let host: any TimerHost
    private let end: @Sendable () -> Void

    init(_ host: any TimerHost, end: @escaping @Sendable () -> Void) {
        self.host = host
        self.end = end
    }

    func next(_ number: Int) {
        _ = host.arm(host.time.now_ns + 1_000_000, tolerance_ns: 0) { [self] in
            number == 10 ? end() : next(number + 1)
        }
    }
}

/// The kind of thread that an executor has.
enum Home: CaseIterable, Sendable {
    case engine, preciseEngine, loop

    /// Returns an executor, and a function that ends its thread.
    func make() throws -> (TimerExecutor, end: @Sendable () -> Void) {
        switch self {
        case .engine, .preciseEngine:
            let engine = try TimerEngine(.init(precision: self == .engine ? .normal : .precise))
            return (TimerExecutor(engine: engine), { engine.shutdown() })
        case .loop:
            let thread = try TimerLoop.thread()
            return (TimerExecutor(thread: thread), { thread.shutdown() })
        }
    }
}

extension TimerHost {
    fileprivate var liveTimers: Int { (self as? EngineCore)?.liveTimers ?? (self as! TimerLoop).liveTimers }
}

private func here() -> pthread_t { pthread_self() }

private func thread(of engine: TimerEngine) async -> pthread_t {
    await withCheckedContinuation { continuation in
        engine.schedule(after: .zero) { _ in continuation.resume(returning: here()) }
    }
}

/// An actor that runs on an executor.
private actor Lodger {
    private let executor: TimerExecutor
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
    var calls = 0
    private(set) var isAsleep = false
    /// Whether a nested run is under way. Others read it while the actor is busy.
    nonisolated let nested = Locked(false)
    nonisolated var isNested: Bool { get async { nested.withLock { $0 } } }

    init(_ executor: TimerExecutor) {
        self.executor = executor
    }

    func thread() -> pthread_t { here() }

    func call() { calls += 1 }

    func sleepAndTell() async throws -> Set<pthread_t> {
        let before = here()
        try await MonotonicClock().sleep(until: .now.advanced(by: .microseconds(300)))
        return [before, here()]
    }

    func nap(for length: Duration = .milliseconds(1)) async throws {
        try await MonotonicClock().sleep(until: .now.advanced(by: length))
    }

    func sleepForEver() async throws {
        isAsleep = true
        try await MonotonicClock().sleep(until: .distantFuture)
    }

    func callsDuringNestedRun(of loop: TimerLoop) -> Int {
        let before = calls
        nested.withLock { $0 = true }
        loop.run(until: .now.advanced(by: .milliseconds(50)))
        return calls - before
    }
}

private final class Log: Sendable {
    private let entries = Locked<[Int]>([])
    var numbers: [Int] { entries.withLock { $0 } }
    func add(_ number: Int) { entries.withLock { $0.append(number) } }
}
