// SPDX-License-Identifier: Apache-2.0
import CHRTimer
import Glibc
import HRTimer
import TestSupport
import TestTraits
import Testing

@Suite("The lock") struct LockContractTests {
    /// A lock and the counter that it guards. The counter is not atomic, so that Thread Sanitizer checks it.
    private final class Counter: @unchecked Sendable {
        // Sendable: `count` is touched with the lock held, or before and after all threads.
        let lock = UnsafeMutablePointer<hrt_lock>.allocate(capacity: 1)
        var count = 0

        init() {
            lock.initialize(to: hrt_lock())
        }

        deinit {
            lock.deallocate()
        }

        func add() {
            hrt_lock_acquire(lock)
            count += 1
            hrt_lock_release(lock)
        }
    }

    private func run(_ threads: Int, _ body: @escaping @Sendable () -> Void) throws {
        let started = try (0..<threads).map { _ in try startThread(body) }
        for thread in started { join(thread) }
    }

    @Test("lets one thread in at a time", .hangLimit, arguments: [2, 5])
    func exclusive(threads: Int) throws {
        let counter = Counter()
        try run(threads) { for _ in 0..<50_000 { counter.add() } }
        #expect(counter.count == threads * 50_000)
        #expect(counter.lock.pointee.word == 0)
    }

    @Test("wakes all threads that sleep for it, one after the other", .hangLimit)
    func sleepers() throws {
        let counter = Counter()
        hrt_lock_acquire(counter.lock)
        let threads = try (0..<5).map { _ in try startThread { counter.add() } }
        // Long enough for all threads to stop polling and sleep.
        usleep(20_000)
        #expect(counter.count == 0)
        hrt_lock_release(counter.lock)
        for thread in threads { join(thread) }
        #expect(counter.count == 5)
    }

    @Test("makes no system call without contention: its word is free, held, and free again")
    func word() {
        let counter = Counter()
        hrt_lock_acquire(counter.lock)
        #expect(counter.lock.pointee.word == hrt_fork_generation() << 2 | 1)
        #expect(!hrt_lock_is_abandoned(counter.lock))
        hrt_lock_release(counter.lock)
        #expect(counter.lock.pointee.word == 0)
    }
}
