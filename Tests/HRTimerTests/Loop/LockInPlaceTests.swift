// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Testing

@testable import HRTimer

/// The lock that a `LoopTimer` stores in itself.
@Suite struct LockInPlaceTests {
    private final class Guarded: @unchecked Sendable {
        // Sendable: `count` is used only with the lock held.
        let lock = LockInPlace()
        var count = 0
    }

    @Test("Only one thread at a time holds a lock that is stored in its object")
    func excludes() {
        let guarded = Guarded()
        DispatchQueue.concurrentPerform(iterations: 4) { _ in
            for _ in 0..<20_000 {
                guarded.lock.acquire()
                // A separate read and write: an update by another thread between them would be lost.
                let count = guarded.count
                guarded.count = count + 1
                guarded.lock.release()
            }
        }
        #expect(guarded.count == 80_000)
    }
}
