import Dispatch
import Testing

@testable import HRTimer

/// The lock that a `LoopTimer` has in itself.
@Suite struct LockInPlaceTests {
    private final class Guarded: @unchecked Sendable {
        // Sendable: `count` is touched with the lock held alone.
        let lock = LockInPlace()
        var count = 0
    }

    @Test("One thread at a time has a lock in place, which stands where its object is")
    func excludes() {
        let guarded = Guarded()
        DispatchQueue.concurrentPerform(iterations: 4) { _ in
            for _ in 0..<20_000 {
                guarded.lock.acquire()
                // Read and write apart: another thread between them would be lost.
                let count = guarded.count
                guarded.count = count + 1
                guarded.lock.release()
            }
        }
        #expect(guarded.count == 80_000)
    }
}
