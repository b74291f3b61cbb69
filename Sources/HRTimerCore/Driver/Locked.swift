// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
public import CHRTimer

/// A value and the lock that guards it, an `hrt_lock` of one word, both in one allocation: they share a cache line if the
/// value is small.
///
/// Thread Sanitizer sees through this lock, since the C core is compiled with it; it does not see through Swift 6.3's
/// `Synchronization.Mutex`. In a child of `fork(2)` the lock can be taken whichever thread held it (`isAbandoned`).
///
/// Usable from inline code, and CHRTimer imported publicly, because `@inlinable` in a package type does nothing otherwise:
/// other modules would call it unspecialised, which cost a loop's timer 500 ns a fire.
///
/// The body must not call out: it must call no handler, and free nothing that a user's handler captured.
@safe @usableFromInline package struct Locked<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
    // Sendable: the value is touched only with the lock held. On the heap, since a lock must not move. Safe: the memory lives as long as
    // this value, and only `lock()` gives its address out.
    @usableFromInline let mutex: UnsafeMutablePointer<hrt_lock>

    package init(_ initial: consuming Value) {
        let alignment = max(MemoryLayout<Value>.alignment, MemoryLayout<hrt_lock>.alignment)
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: Self.offset + MemoryLayout<Value>.size,
            alignment: alignment
        )
        unsafe mutex = memory.bindMemory(to: hrt_lock.self, capacity: 1)
        unsafe mutex.initialize(to: hrt_lock())
        unsafe (memory + Self.offset).bindMemory(to: Value.self, capacity: 1).initialize(to: initial)
    }

    deinit {
        // A value that was half changed by a thread that does not exist here cannot be freed: it leaks, in the child alone.
        if !isAbandoned { unsafe value.deinitialize(count: 1) }
        unsafe UnsafeMutableRawPointer(mutex).deallocate()
    }

    /// The distance in bytes from the lock to the value.
    @inlinable static var offset: Int { max(MemoryLayout<Value>.alignment, MemoryLayout<hrt_lock>.size) }

    // Safe: within the memory that the initializer allocated and bound.
    @safe @inlinable var value: UnsafeMutablePointer<Value> {
        unsafe (UnsafeMutableRawPointer(mutex) + Self.offset).assumingMemoryBound(to: Value.self)
    }

    @inlinable
    package func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        unsafe hrt_lock_acquire(mutex)
        defer { unsafe hrt_lock_release(mutex) }
        return try body(&value.pointee)
    }

    /// Takes the lock: `withLock` in two calls, for a path where a closure would keep a copy of its captures. The pointer
    /// is valid until `unlock()`, which must follow on the same thread.
    @inlinable
    package func lock() -> UnsafeMutablePointer<Value> {
        unsafe hrt_lock_acquire(mutex)
        return value
    }

    @inlinable
    package func unlock() {
        unsafe hrt_lock_release(mutex)
    }

    /// Whether this is a child of `fork(2)` and a thread that does not exist in it held the lock at the fork: the value may
    /// be half changed. False once the lock was taken again. Any thread.
    package var isAbandoned: Bool { unsafe hrt_lock_is_abandoned(mutex) }
}
#endif
