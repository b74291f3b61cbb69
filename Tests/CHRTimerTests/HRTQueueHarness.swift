// SPDX-License-Identifier: Apache-2.0
public import CHRTimer
import CTestSupport

/// Owns a queue during a test, and checks its invariants at the end.
final class TimerQueue {
    let queue: OpaquePointer

    init() {
        var created: OpaquePointer?
        precondition(hrt_queue_create(MemoryLayout<Int64>.stride, &created) == 0)
        queue = created!
    }

    deinit {
        ctest_queue_check(queue)
        hrt_queue_destroy(queue)
    }

    func add() -> hrt_token {
        var token = hrt_token()
        precondition(hrt_queue_add(queue, &token) == 0)
        return token
    }

    func schedule(at deadline: Int64, tolerance: Int64 = 0) -> hrt_token {
        let token = add()
        arm(token, at: deadline, tolerance: tolerance)
        return token
    }

    /// Takes all due timers, with as many calls as that needs.
    func takeDue(at now: Int64, capacity: Int = 256) -> [hrt_due] {
        var all: [hrt_due] = []
        var batch = [hrt_due](repeating: hrt_due(), count: capacity)
        repeat {
            let taken = hrt_queue_take_due(queue, now, &batch, capacity)
            all += batch.prefix(taken)
        } while hrt_queue_next_ns(queue) <= now && hrt_queue_next_ns(queue) != .max
        return all
    }

    /// Trims until there is nothing more to do. Returns the number of calls.
    @discardableResult
    func trimWholly() -> Int {
        var calls = 1
        while hrt_queue_trim(queue) { calls += 1 }
        return calls
    }

    /// Normalizes until there is nothing more to do. Returns the number of calls.
    @discardableResult
    func normalize() -> Int {
        var calls = 1
        while hrt_queue_normalize(queue) { calls += 1 }
        return calls
    }

    func addPrecise(at deadline: Int64) -> hrt_token {
        let token = add()
        armPrecisely(token, at: deadline)
        return token
    }

    /// Arms a live timer.
    func arm(_ token: hrt_token, at deadline: Int64, tolerance: Int64 = 0) {
        precondition(hrt_queue_is_live(queue, token))
        hrt_queue_arm(queue, token.slot, deadline, hrt_arm_options(tolerance_ns: tolerance, is_precise: false))
    }

    /// Arms a live timer as a precise one.
    func armPrecisely(_ token: hrt_token, at deadline: Int64) {
        precondition(hrt_queue_is_live(queue, token))
        hrt_queue_arm(queue, token.slot, deadline, hrt_arm_options(tolerance_ns: 0, is_precise: true))
    }

    /// The record of a live timer. A pointer into the queue's memory: not to be used after the timer is removed.
    func record(_ token: hrt_token) -> UnsafeMutablePointer<Int64> {
        precondition(hrt_queue_is_live(queue, token))
        return hrt_queue_record(queue, token.slot).assumingMemoryBound(to: Int64.self)
    }

    /// The slots of all timers, in order.
    var slots: [UInt32] {
        var slots: [UInt32] = []
        var slot = hrt_queue_next_slot(queue, 0)
        while slot != .max {
            slots.append(slot)
            slot = hrt_queue_next_slot(queue, slot + 1)
        }
        return slots
    }

    /// Disarms a live timer. Returns true if it was armed.
    @discardableResult
    func disarm(_ token: hrt_token) -> Bool {
        precondition(hrt_queue_is_live(queue, token))
        return hrt_queue_disarm(queue, token.slot)
    }

    /// Returns how many of these timers are armed.
    func armedCount(_ tokens: [hrt_token]) -> Int {
        tokens.count { hrt_queue_is_armed(queue, $0) }
    }

    var next: Int64 { hrt_queue_next_ns(queue) }
    var nextPrecise: Int64 { hrt_queue_next_precise_ns(queue) }
    var nextWake: Int64 { hrt_queue_next_wake_ns(queue) }
}

extension hrt_token: @retroactive Equatable {
    /// Compares slot and generation.
    public static func == (a: hrt_token, b: hrt_token) -> Bool {
        a.slot == b.slot && a.generation == b.generation
    }
}
