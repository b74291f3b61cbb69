// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CHRTimer
import HRTimerLibc
import Synchronization

/// The time that the calling code is in: the kernel's, or a virtual one.
///
/// A thread is in a virtual time while it runs work of that time. A task is in a virtual time if it began in it, whichever
/// thread runs the task.
package enum CurrentTime {
    /// How many calls of `open()` have no `close()` yet. While it is 0, a reading of the clock needs no further check.
    private static let count = Atomic<Int>(0)
    private static let unmanaged = Atomic<Int>(0)

    /// The virtual time of the calling task. Tasks inherit it, except detached ones.
    @TaskLocal package static var ofTask: (any VirtualTime)?

    /// Announces that from now on code may be in a virtual time, until `close()` was called as often.
    package static func open() { count.wrappingAdd(1, ordering: .relaxed) }
    package static func close() { count.wrappingSubtract(1, ordering: .relaxed) }

    /// How often an instant's `now` read the kernel's clock while there was a virtual time and the calling code was in none.
    package static var unmanagedReadings: Int { unmanaged.load(ordering: .relaxed) }

    /// The virtual time that the calling code is in; nil for the kernel's time.
    @inline(__always)
    package static var virtual: (any VirtualTime)? {
        count.load(ordering: .relaxed) == 0 ? nil : ofThread ?? ofTask
    }

    /// The virtual time whose work the calling thread runs, if threads of that time pass the baton; nil otherwise.
    @inline(__always)
    static var passingBaton: (any VirtualTime)? {
        guard count.load(ordering: .relaxed) > 0, let virtual = ofThread, virtual.passesBaton else { return nil }
        return virtual
    }

    /// Returns the present reading of `clock` in the current time.
    @inline(__always)
    package static func now_ns(_ clock: TimerClock) -> Int64 {
        count.load(ordering: .relaxed) == 0 ? hrt_clock_now_ns(clock.c) : look(at: clock)
    }

    @inline(never)
    private static func look(at clock: TimerClock) -> Int64 {
        let virtual = ofThread ?? ofTask
        if virtual == nil { unmanaged.wrappingAdd(1, ordering: .relaxed) }
        return TimeBase(virtual: virtual, clock: clock).now_ns
    }

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let error = unsafe pthread_key_create(&key, nil)
        precondition(error == 0, "no thread-specific key is left for virtual time: pthread_key_create(3)")
        return key
    }()

    /// The virtual time whose work the calling thread runs.
    package static var ofThread: (any VirtualTime)? {
        // Safe: lives as long as the call of `with`, on this thread, that has set it.
        unsafe pthread_getspecific(key)?.assumingMemoryBound(to: (any VirtualTime).self).pointee
    }

    /// Calls `body` with the calling thread in `virtual`.
    package static func with<Result, Failure: Error>(
        _ virtual: any VirtualTime,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        open()
        defer { close() }
        let before = unsafe pthread_getspecific(key)
        let address = UnsafeMutablePointer<any VirtualTime>.allocate(capacity: 1)
        unsafe address.initialize(to: virtual)
        unsafe pthread_setspecific(key, address)
        defer {
            unsafe pthread_setspecific(key, before)
            unsafe address.deinitialize(count: 1)
            unsafe address.deallocate()
        }
        return try body()
    }
}
#endif
