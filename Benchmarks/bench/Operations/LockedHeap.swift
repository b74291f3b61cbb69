// SPDX-License-Identifier: Apache-2.0
import CBench
import Glibc

/// A binary heap behind one mutex: kernel_locked_heap.c. Each timer has its own object, stored and released with it, like
/// the engine's timers: a closure over one object is that object and a pointer. Replacing a timer takes the lock once;
/// cancelling it and adding another takes it twice, like the two calls to the engine.
///
/// Unchecked, because every access to the heap behind the pointer holds the heap's own mutex, except in `deinit`.
final class LockedHeap: @unchecked Sendable {
    private typealias Handler = Unmanaged<PublicOperations.Payload>

    private let handle: OpaquePointer
    private let timers: Int

    /// Every timer must be added.
    init(timers: Int) throws {
        guard let handle = cbench_locked_heap_create(timers) else {
            throw BenchError(String(cString: strerror(ENOMEM)))
        }
        self.handle = handle
        self.timers = timers
    }

    deinit {
        for timer in 0..<timers { Handler.fromOpaque(cbench_locked_heap_handler(handle, timer)).release() }
        cbench_locked_heap_destroy(handle)
    }

    func add(_ timer: Int, _ deadline_ns: Int64) {
        cbench_locked_heap_add(handle, timer, deadline_ns, Self.makeHandler())
    }

    // Handlers are released without the lock.

    func cancel(_ timer: Int) {
        Handler.fromOpaque(cbench_locked_heap_cancel(handle, timer)).release()
    }

    func replace(_ timer: Int, _ deadline_ns: Int64) {
        let new = Self.makeHandler()
        Handler.fromOpaque(cbench_locked_heap_replace(handle, timer, deadline_ns, new)).release()
    }

    func move(_ timer: Int, _ deadline_ns: Int64) {
        cbench_locked_heap_move(handle, timer, deadline_ns)
    }

    private static func makeHandler() -> UnsafeMutableRawPointer {
        Handler.passRetained(PublicOperations.Payload()).toOpaque()
    }
}
