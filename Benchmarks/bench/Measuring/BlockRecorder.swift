import CBench
import Dispatch
import Foundation
import Glibc

/// One fire: the deadline it was for, and when it came, both ns of `CLOCK_MONOTONIC`.
typealias Fire = cbench_fire

/// Takes the fires of one block. All memory is there before the first deadline, and nothing is written out meanwhile.
///
/// Unchecked, because the block is a C structure behind a pointer: only the subject's firing thread touches it between
/// `begin()` and the last fire, and the reader comes after `waitUntilFull()` or after the firing thread was joined.
/// A subject that stalls keeps its recorder to itself: nobody reads that block.
final class BlockRecorder: @unchecked Sendable {
    let interval_ns: Int64
    private let phase_ns: Int64
    private let settling: Int
    private let block: UnsafeMutablePointer<cbench_block>
    private let room: UnsafeMutablePointer<cbench_fire>
    private let full = DispatchSemaphore(value: 0)

    /// Timers still live after the subject had cleaned up.
    var timersLeftBehind = 0

    /// Time to arm the first deadline in, so that it is not late by setting up.
    private static let lead_ns: Int64 = 2_000_000

    /// Room for `fires`, on a grid of `interval_ns` that begins `phase_ns` later than it could. `settling` fires more come
    /// before them, and are left out.
    init(fires: Int, interval_ns: Int64, phase_ns: Int64, settling: Int = 0) {
        self.interval_ns = interval_ns
        self.phase_ns = phase_ns
        self.settling = settling
        room = .allocate(capacity: fires)
        // Written, not just allocated: a page that comes in at the first touch would be lateness of ours.
        room.initialize(repeating: cbench_fire(), count: fires)
        block = .allocate(capacity: 1)
        block.initialize(
            to: cbench_block(
                fires: room,
                capacity: fires,
                count: 0,
                first_deadline_ns: 0,
                interval_ns: interval_ns,
                next_deadline_ns: 0,
                settling: settling,
                at_first: cbench_usage(),
                at_last: cbench_usage()
            )
        )
    }

    deinit {
        room.deallocate()
        block.deallocate()
    }

    /// Sets the grid, and returns its first deadline.
    func begin() -> Int64 {
        let first_ns = cbench_now_ns() + Self.lead_ns + phase_ns
        cbench_block_begin(block, first_ns, interval_ns)
        return first_ns
    }

    /// The earliest deadline not met so far.
    var nextDeadline_ns: Int64 { block.pointee.next_deadline_ns }

    /// A fire for the earliest deadline not met; those that passed besides count as missed. False: that was the last.
    @discardableResult
    func fire(_ woke_ns: Int64) -> Bool {
        took(cbench_block_fire(block, woke_ns))
    }

    /// The same for a timer that tells by itself how many deadlines the call stands for.
    @discardableResult
    func fire(_ woke_ns: Int64, for deadlines: Int64) -> Bool {
        took(cbench_block_fire_for(block, woke_ns, max(1, deadlines)))
    }

    /// The same for a timer that has a grid of its own and tells which deadline it was called for.
    @discardableResult
    func fire(_ woke_ns: Int64, at deadline_ns: Int64) -> Bool {
        block.pointee.next_deadline_ns = deadline_ns
        return took(cbench_block_fire_for(block, woke_ns, 1))
    }

    private func took(_ hasMore: Bool) -> Bool {
        if !hasMore { full.signal() }
        return hasMore
    }

    /// A measuring loop in C. `orSay` tells what the machine lacks if it is not supported.
    func fill(_ loop: (UnsafeMutablePointer<cbench_block>) -> CInt, orSay missing: String? = nil) throws {
        _ = begin()
        let status = loop(block)
        if status == -ENOTSUP, let missing { throw MissingHardware(description: missing) }
        if status != 0 { throw BenchError(String(cString: strerror(-status))) }
        full.signal()
    }

    /// Blocks until the last fire. Throws if the subject takes far longer than its deadlines allow for.
    func waitUntilFull() throws {
        let planned_ns = Int64(block.pointee.capacity + settling) * interval_ns
        let limit: DispatchTime = .now() + .nanoseconds(Int(planned_ns * 10 + 10_000_000_000))
        if full.wait(timeout: limit) == .timedOut {
            throw BenchError("stalled: \(block.pointee.count) of \(block.pointee.capacity) fires came")
        }
    }

    /// The fires so far, in order: a copy, because the recorder may go right after its last use.
    var fires: [Fire] { Array(UnsafeBufferPointer(start: room, count: block.pointee.count)) }

    /// What was spent between the first fire and the last.
    var usage: Usage {
        let from = block.pointee.at_first
        let to = block.pointee.at_last
        return Usage(
            fires: max(0, block.pointee.count - 1),
            processCPU_ns: to.process_cpu_ns - from.process_cpu_ns,
            threadCPU_ns: to.thread_id == from.thread_id ? to.thread_cpu_ns - from.thread_cpu_ns : nil,
            voluntarySwitches: Int(to.voluntary_switches - from.voluntary_switches),
            involuntarySwitches: Int(to.involuntary_switches - from.involuntary_switches)
        )
    }
}

// Blocks that a child process fills.
extension BlockRecorder {
    /// The options of the child that is to fill a block like this one.
    var plan: [String] {
        let options: [(String, Int64)] = [
            ("--fires", Int64(block.pointee.capacity)), ("--interval", interval_ns), ("--phase", phase_ns),
            ("--settling", Int64(settling)),
        ]
        return options.flatMap { [$0, "\($1)"] }
    }

    /// The block as bytes: what was spent, and then the fires. Both processes run the same program.
    var data: Data {
        var data = Data()
        withUnsafeBytes(of: block.pointee.at_first) { data.append(contentsOf: $0) }
        withUnsafeBytes(of: block.pointee.at_last) { data.append(contentsOf: $0) }
        data.append(Data(buffer: UnsafeBufferPointer(start: room, count: block.pointee.count)))
        return data
    }

    /// Takes over the block that a child has filled. False if it is not a full one.
    func fill(from data: Data) -> Bool {
        let head = 2 * MemoryLayout<cbench_usage>.size
        guard data.count == head + block.pointee.capacity * MemoryLayout<cbench_fire>.stride else { return false }
        data.withUnsafeBytes { bytes in
            block.pointee.at_first = bytes.loadUnaligned(as: cbench_usage.self)
            block.pointee.at_last = bytes.loadUnaligned(fromByteOffset: head / 2, as: cbench_usage.self)
            UnsafeMutableRawPointer(room).copyMemory(from: bytes.baseAddress! + head, byteCount: data.count - head)
        }
        block.pointee.count = block.pointee.capacity
        return true
    }
}
