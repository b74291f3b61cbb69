#if os(Linux)
public import CHRTimer

/// A value behind a lock of one word, `hrt_lock`, both in one allocation: they share a cache line, if the value is small.
///
/// Thread Sanitizer sees through it, since the C core is compiled with it; through `Synchronization.Mutex` of Swift 6.3
/// it does not. In a child of `fork(2)` it can be locked whichever thread held it (`isAbandoned`).
///
/// Usable from inline code, and CHRTimer imported publicly, because `@inlinable` in a package type does nothing otherwise: the
/// other modules would call it unspecialised, which cost a loop's timer 500 ns a fire.
///
/// The body must not call out: no handler, and nothing that frees what a user's handler captured.
@usableFromInline package struct Locked<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
    // Sendable: the value is touched with the lock held alone. On the heap, since a lock must not move.
    @usableFromInline let mutex: UnsafeMutablePointer<hrt_lock>

    package init(_ initial: consuming Value) {
        let alignment = max(MemoryLayout<Value>.alignment, MemoryLayout<hrt_lock>.alignment)
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: Self.offset + MemoryLayout<Value>.size,
            alignment: alignment
        )
        mutex = memory.bindMemory(to: hrt_lock.self, capacity: 1)
        mutex.initialize(to: hrt_lock())
        (memory + Self.offset).bindMemory(to: Value.self, capacity: 1).initialize(to: initial)
    }

    deinit {
        // Half changed by a thread that is not there a value cannot be freed: it leaks, in the child alone.
        if !isAbandoned { value.deinitialize(count: 1) }
        UnsafeMutableRawPointer(mutex).deallocate()
    }

    /// From the lock to the value.
    @inlinable static var offset: Int { max(MemoryLayout<Value>.alignment, MemoryLayout<hrt_lock>.size) }

    // Within the memory of the initializer, bound there.
    @inlinable var value: UnsafeMutablePointer<Value> { Self.value(mutex) }

    @inlinable static func value(_ mutex: UnsafeMutablePointer<hrt_lock>) -> UnsafeMutablePointer<Value> {
        (UnsafeMutableRawPointer(mutex) + offset).assumingMemoryBound(to: Value.self)
    }

    /// For code that keeps the object with the lock alive: a copy of it counts no references.
    @inlinable package var place: LockedPlace<Value> { LockedPlace(mutex: mutex) }

    @inlinable
    package func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try place.withLock(body)
    }

    /// `withLock` in two calls, for a path where a closure would keep a copy of its captures. The pointer is good until
    /// `unlock()`, which must follow on the same thread.
    @inlinable
    package func lock() -> UnsafeMutablePointer<Value> {
        hrt_lock_acquire(mutex)
        return value
    }

    @inlinable
    package func unlock() {
        hrt_lock_release(mutex)
    }

    /// For the thread's next wake: see hrt_hot.h. With the lock held.
    @inlinable @inline(__always)
    package func noteTouched() { hrt_note_touched(HRT_TOUCHED_STATE, mutex, Self.offset + MemoryLayout<Value>.size) }

    /// True in a child of `fork(2)` if a thread that is not there held the lock then: the value may be half changed. False once
    /// it was locked again. Any thread.
    package var isAbandoned: Bool { hrt_lock_is_abandoned(mutex) }
}

/// Where a `Locked` has its lock and its value. Good for as long as that is there.
@usableFromInline package struct LockedPlace<Value: ~Copyable>: @unchecked Sendable {
    // Sendable: as `Locked` is.
    @usableFromInline let mutex: UnsafeMutablePointer<hrt_lock>

    @inlinable
    init(mutex: UnsafeMutablePointer<hrt_lock>) { self.mutex = mutex }

    @inlinable
    package func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        hrt_lock_acquire(mutex)
        defer { hrt_lock_release(mutex) }
        return try body(&Locked.value(mutex).pointee)
    }
}
#endif
