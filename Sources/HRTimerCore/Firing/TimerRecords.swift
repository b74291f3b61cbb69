// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
public import CHRTimer

/// The queue of a core's timers, with the record of each in the timer's slot of the queue: there is one allocation of slots, one
/// list of free ones, and one rule when their memory goes back to the system (`hrt_queue_trim`).
///
/// A record begins when its timer is added and ends when that is removed. Not thread-safe: its owner holds a lock.
@safe @usableFromInline package struct TimerRecords: ~Copyable {
    @usableFromInline let queue: OpaquePointer

    init() {
        var queue: OpaquePointer?
        // A stride is a multiple of the alignment.
        unsafe Self.requireMemory(hrt_queue_create(MemoryLayout<TimerRecord>.stride, &queue))
        unsafe self.queue = queue!
    }

    deinit {
        forEachPlace { unsafe $1.deinitialize(count: 1) }
        unsafe hrt_queue_destroy(queue)
    }

    /// Ends the process if `status` says that memory, or the 2^28 slots, have run out. Swift does the same everywhere else.
    private static func requireMemory(_ status: Int32) {
        if status == 0 { return }
        fatalError("no memory for one more timer: \(TimerError(operation: "grow", errorNumber: -status))")
    }

    /// Adds a timer with that record. It is not armed yet.
    mutating func add(_ record: consuming TimerRecord) -> hrt_token {
        var token = hrt_token()
        unsafe Self.requireMemory(hrt_queue_add(queue, &token))
        unsafe place(token.slot).initialize(to: record)
        return token
    }

    /// Removes a timer, which must be live, and returns what it called.
    mutating func remove(_ token: hrt_token) -> TimerTarget? {
        @safe let place = place(token.slot)
        let target = place.pointee.target.take()
        unsafe place.deinitialize(count: 1)
        unsafe hrt_queue_remove(queue, token)
        return target
    }

    /// Calls `body` with the slot and the record of every timer.
    mutating func forEachSlot(_ body: (UInt32, inout TimerRecord) -> Void) {
        forEachPlace { unsafe body($0, &$1.pointee) }
    }

    @safe private func forEachPlace(_ body: (UInt32, UnsafeMutablePointer<TimerRecord>) -> Void) {
        var slot = unsafe hrt_queue_next_slot(queue, 0)
        while slot != .max {
            unsafe body(slot, place(slot))
            slot = unsafe hrt_queue_next_slot(queue, slot + 1)
        }
    }

    /// The record of a live timer.
    @inlinable
    subscript(slot: UInt32) -> TimerRecord {
        unsafeAddress { unsafe UnsafePointer(place(slot)) }
        unsafeMutableAddress { place(slot) }
    }

    /// Returns a pointer to the record of a live timer, valid until the timer is removed.
    @inlinable
    @safe func place(_ slot: UInt32) -> UnsafeMutablePointer<TimerRecord> {
        // Safe: the slot is large enough and aligned for a record, `add` has put one there, and the queue leaves it alone until
        // `remove`.
        unsafe assert(hrt_queue_next_slot(queue, slot) == slot, "the slot has no timer")
        return unsafe hrt_queue_record(queue, slot).assumingMemoryBound(to: TimerRecord.self)
    }
}

// Sendable: it alone owns the queue and, being noncopyable, it is in one place at a time.
extension TimerRecords: @unchecked Sendable {}
#endif
