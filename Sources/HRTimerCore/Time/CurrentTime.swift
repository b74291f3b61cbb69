#if os(Linux)
import CHRTimer
import HRTimerLibc
import Synchronization

/// The time that the calling code is in: the kernel's, or a virtual one.
///
/// A thread is in a virtual time while it runs work of that time; a task if it began in one, wherever it runs.
package enum CurrentTime {
    /// The number of virtual times. While it is 0, a reading of the clock checks no further.
    private static let count = Atomic<Int>(0)
    private static let unmanaged = Atomic<Int>(0)

    /// Tasks inherit it, except detached ones.
    @TaskLocal package static var ofTask: (any VirtualTime)?

    /// From now on code may be in a virtual time, until `close()` was called as often.
    package static func open() { count.wrappingAdd(1, ordering: .relaxed) }
    package static func close() { count.wrappingSubtract(1, ordering: .relaxed) }

    /// How often an instant's `now` read the kernel's clock while there was a virtual time and the thread was in none.
    package static var unmanagedReadings: Int { unmanaged.load(ordering: .relaxed) }

    /// The virtual time that the calling code is in; nil for the kernel's.
    @inline(__always)
    package static var virtual: (any VirtualTime)? {
        count.load(ordering: .relaxed) == 0 ? nil : ofThread ?? ofTask
    }

    /// The virtual time whose threads pass the baton, if the calling thread is one of them.
    @inline(__always)
    static var passingBaton: (any VirtualTime)? {
        guard count.load(ordering: .relaxed) > 0, let virtual = ofThread, virtual.passesBaton else { return nil }
        return virtual
    }

    /// The present reading of the current time's clock.
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
        let error = pthread_key_create(&key, nil)
        precondition(error == 0, "no thread-specific key is left for virtual time: pthread_key_create(3)")
        return key
    }()

    /// The virtual time whose work the thread runs.
    package static var ofThread: (any VirtualTime)? {
        // Lives as long as the call of `with` that has set it, on this thread.
        pthread_getspecific(key)?.assumingMemoryBound(to: (any VirtualTime).self).pointee
    }

    /// Calls `body` with the thread in `virtual`.
    package static func with<Result, Failure: Error>(
        _ virtual: any VirtualTime,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        open()
        defer { close() }
        let before = pthread_getspecific(key)
        let address = UnsafeMutablePointer<any VirtualTime>.allocate(capacity: 1)
        address.initialize(to: virtual)
        pthread_setspecific(key, address)
        defer {
            pthread_setspecific(key, before)
            address.deinitialize(count: 1)
            address.deallocate()
        }
        return try body()
    }

    /// Calls `body` with the thread in no virtual time, whatever work it runs.
    package static func leaving<Result>(_ body: () -> Result) -> Result {
        let before = pthread_getspecific(key)
        pthread_setspecific(key, nil)
        defer { pthread_setspecific(key, before) }
        return body()
    }
}
#endif
