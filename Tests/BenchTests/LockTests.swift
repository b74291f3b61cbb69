// SPDX-License-Identifier: Apache-2.0
import CBench
import HRTimer
import Synchronization
import Testing

@testable import bench

/// How many mutexes a fire locks, counted within pthread_mutex_lock(3) itself.
@Suite("Locks per fire", .serialized, .enabled(if: canCount, "sanitizers replace the mutexes themselves"))
struct LockTests {
    private static let rounds = 1000

    @Test("are counted, one for each mutex locked, and not at all while counting is off")
    func counts() {
        let locked = Locked(0)
        func locks() -> UInt64 {
            let before = cbench_thread_locks()
            for _ in 0..<Self.rounds { locked.withLock { $0 += 1 } }
            return cbench_thread_locks() - before
        }
        _ = cbench_count_locks(true)
        #expect(locks() == UInt64(Self.rounds))
        _ = cbench_count_locks(false)
        #expect(locks() == 0)
    }

    @Test("are within their budget for a repeating timer that is alone")
    func alone() throws {
        let engine = try locksPerFire(of: 1, every: 1_000_000) { try EngineCrowd() }
        print("engine timer, alone: \(engine) locks a fire")
        #expect(engine <= LockBudget.Alone.engineTimer + LockBudget.besides)
        let source = try locksPerFire(of: 1, every: 1_000_000) { try SourceCrowd() }
        print("source, alone: \(source) locks a fire")
        #expect(source <= LockBudget.Alone.source + LockBudget.besides)
    }

    @Test("are within their budget for a repeating loop timer that is alone")
    func loopTimerAlone() throws {
        let fires = 100
        _ = cbench_count_locks(true)
        defer { _ = cbench_count_locks(false) }
        let locks = try onFreshThread {
            let count = CrowdCount(goal: fires + 1)
            let loop = TimerLoop()
            let timer = LoopTimer(timeInterval: .milliseconds(1), repeats: true) { timer in
                count.addOne()
                if count.soFar > fires { timer.invalidate() }
            }
            loop.add(timer, forMode: .default)
            loop.run()
            let (first, last) = try #require(count.waitForGoal())
            return Double(last.locks - first.locks) / Double(fires)
        }
        print("loop timer, alone: \(locks) locks a fire")
        #expect(locks > 0 && locks <= LockBudget.Alone.loopTimer + LockBudget.besides)
    }

    @Test("are within their budget for repeating timers that are due at once")
    func inCrowd() throws {
        let engine = try locksPerFire(of: 1000, every: 20_000_000) { try EngineCrowd() }
        print("engine timer, in a crowd: \(engine) locks a fire")
        #expect(engine <= LockBudget.InCrowd.engineTimer + LockBudget.besides)
        let source = try locksPerFire(of: 1000, every: 20_000_000) { try SourceCrowd() }
        print("source, in a crowd: \(source) locks a fire")
        #expect(source <= LockBudget.InCrowd.source + LockBudget.besides)
    }

    @Test("are within their budget for one-shot loop timers that are due at once")
    func loopTimersInCrowd() throws {
        let rivals = PublicOperations.comparisons(timers: 1000).filter { $0.operation == FireOperations.fire }
            .flatMap(\.rivals)
        let rival = try #require(rivals.first { $0.id == "hrtimer.loop-timer" })
        let locks = try #require(try rival.measure(1).locksPerOp)
        print("loop timer, in a crowd: \(locks) locks a fire")
        #expect(locks > 0 && locks <= LockBudget.InCrowd.loopTimer + LockBudget.besides)
    }

    /// Returns the locks per fire of timers with equal deadlines, from the first fire on: 100 rounds of one, or three of many.
    private func locksPerFire(
        of timers: Int,
        every interval_ns: Int64,
        _ make: () throws -> any Crowd
    ) throws -> Double {
        let fires = timers == 1 ? 101 : 3 * timers
        let count = CrowdCount(goal: fires)
        let crowd = try make()
        _ = cbench_count_locks(true)
        defer { _ = cbench_count_locks(false) }
        let due_ns = cbench_now_ns() + 100_000_000
        let timer = CrowdTimer(first_ns: due_ns, interval_ns: interval_ns)
        let fleet = try Fleet(Array(repeating: timer, count: timers), countedBy: count)
        defer { withExtendedLifetime(fleet) { crowd.clear() } }
        try crowd.arm(fleet)
        let (first, last) = try #require(count.waitForGoal())
        #expect(first.usage.thread_id == last.usage.thread_id)
        #expect(last.locks > first.locks)
        // Less one: after reading the number of locks, the count locks a mutex of its own to note the first fire.
        return Double(last.locks - first.locks - 1) / Double(fires - 1)
    }
}

private let canCount: Bool = {
    defer { _ = cbench_count_locks(false) }
    return cbench_count_locks(true)
}()
