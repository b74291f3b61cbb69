import CHRTimer
import Glibc
import HRTimer
import Synchronization
import TestSupport
import Testing

@Suite("A latch") struct LatchContractTests {
    /// What several threads write, and read after the latch has come.
    private final class Shared: Sendable {
        let latch = Latch()
        let written = Atomic(0)
        let early = Atomic(0)
    }

    @Test("lets through who comes after it was opened, at once and every time")
    func opened() {
        let latch = Latch()
        #expect(!latch.isOpen)
        for _ in 0..<3 {
            latch.open()
            #expect(latch.isOpen)
            latch.wait()
        }
    }

    @Test("lets all through that wait, and none before it comes", .timeLimit(.minutes(15)))
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

    @Test("is one for all who join a list before it is released, and another one after")
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

    @Test("goes with its last reference, and so does a list that nobody released")
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
