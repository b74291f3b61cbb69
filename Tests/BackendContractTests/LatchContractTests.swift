// SPDX-License-Identifier: Apache-2.0
import CHRTimer
import Glibc
import HRTimer
import Synchronization
import TestSupport
import TestTraits
import Testing

@Suite("A latch") struct LatchContractTests {
    /// State that several threads write, and read after the latch has opened.
    private final class Shared: Sendable {
        let latch = Latch()
        let written = Atomic(0)
        let early = Atomic(0)
    }

    @Test("lets every caller through at once after it was opened, each time")
    func opened() {
        let latch = Latch()
        #expect(!latch.isOpen)
        for _ in 0..<3 {
            latch.open()
            #expect(latch.isOpen)
            latch.wait()
        }
    }

    @Test("lets all waiting threads through when it opens, and none before", .hangLimit)
    func waiters() throws {
        for round in 0..<100 {
            let shared = Shared()
            let threads = try (0..<5).map { _ in
                try startThread {
                    shared.latch.wait()
                    if shared.written.load(ordering: .relaxed) == 0 { shared.early.add(1, ordering: .relaxed) }
                }
            }
            usleep(useconds_t(round * 5))
            shared.written.store(1, ordering: .relaxed)
            shared.latch.open()
            for thread in threads { join(thread) }
            #expect(shared.early.load(ordering: .relaxed) == 0)
        }
    }

    @Test("is one for all who join a wait list before its release, and another one for those who join later")
    func list() {
        var list = WaitList()
        #expect(list.release() == nil)
        let first = list.join()
        #expect(list.join() === first)
        let released = list.release()
        #expect(released === first)
        #expect(list.release() == nil)
        #expect(list.join() !== first)
        #expect(!first.isOpen)
    }

    @Test("is freed with its last reference, also in a wait list that nobody releases")
    func freed() {
        weak var gone: Latch?
        do {
            var list = WaitList()
            gone = list.join()
            #expect(gone != nil)
        }
        #expect(gone == nil)
    }
}
