#if os(Linux)
import CHRTimer
import Synchronization

/// `hrt_lock` without an allocation of its own, for objects that there are many of: a constant of a class.
///
/// What it guards stands beside it. A forked child can lock it even if another thread held it, see hrt_lock.h.
struct LockInPlace: ~Copyable {
    /// The word of the C core's lock. An `Atomic` is never moved while its owner is there, and a pointer to it points to it.
    private let word = Atomic<UInt32>(0)

    @inline(__always)
    func acquire() { withAddress { hrt_lock_acquire($0) } }

    /// On the thread that has it.
    @inline(__always)
    func release() { withAddress { hrt_lock_release($0) } }

    @inline(__always)
    private func withAddress(_ body: (UnsafeMutablePointer<hrt_lock>) -> Void) {
        // Unsafe: `hrt_lock` is a struct of that one word, and the C core touches it by atomic operations alone.
        withUnsafePointer(to: word) { address in
            body(UnsafeMutableRawPointer(mutating: address).assumingMemoryBound(to: hrt_lock.self))
        }
    }
}
#endif
