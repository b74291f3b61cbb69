#if os(Linux)
import CHRTimer
import Synchronization

/// An `hrt_lock` without an allocation of its own, for classes with many instances: a constant property of the class.
///
/// What it guards stands beside it. A forked child can take the lock even if another thread held it; see hrt_lock.h.
struct LockInPlace: ~Copyable {
    /// The word of the C core's lock. An `Atomic` does not move while its owner exists, and a pointer to it points to the word.
    private let word = Atomic<UInt32>(0)

    func acquire() { withAddress { hrt_lock_acquire($0) } }

    /// Releases the lock. On the thread that holds it.
    func release() { withAddress { hrt_lock_release($0) } }

    private func withAddress(_ body: (UnsafeMutablePointer<hrt_lock>) -> Void) {
        // Unsafe: `hrt_lock` is a struct of that one word, and the C core accesses it by atomic operations only.
        withUnsafePointer(to: word) { address in
            body(UnsafeMutableRawPointer(mutating: address).assumingMemoryBound(to: hrt_lock.self))
        }
    }
}
#endif
