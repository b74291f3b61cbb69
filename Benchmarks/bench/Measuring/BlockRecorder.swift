// SPDX-License-Identifier: Apache-2.0
import CBench
import Dispatch
import Foundation
import Glibc

/// One fire: its deadline, and the time at which it came, both in ns of `CLOCK_MONOTONIC`.
typealias Fire = cbench_fire

/// Records the fires of one block. All memory is allocated before the first deadline, and nothing is written out meanwhile.
///
/// Unchecked, because the block is a C structure behind a pointer: only the subject's firing thread touches it between
/// `begin()` and the last fire, and the reader comes after `waitUntilFull()` or after the firing thread was joined. If
/// fires come on several threads, one after the other, the block itself keeps their order (`turns`). A subject that stalls
/// keeps its recorder to itself: nobody reads that block.
final class BlockRecorder: @unchecked Sendable {
    let interval_ns: Int64
    private let phase_ns: Int64
    private let settling: Int
    private let block: UnsafeMutablePointer<cbench_block>
    private let room: UnsafeMutablePointer<cbench_fire>
    private let full = DispatchSemaphore(value: 0)

    /// The number of timers that are still live after the subject has cleaned up.
    var timersLeftBehind = 0
    /// The number of threads without a real-time class at the end of a tuned block.
    var threadsWithoutRealtime = 0
    /// The spin budget of our own precise engines and loops; nil for their default.
    let spinBudget: Double?

    /// The time for arming the first deadline, so that setting up does not make it late.
    static let lead_ns: Int64 = 2_000_000

    /// The time beyond the planned end after which the block ends with the fires that it has. Nil for any time.
    private let patience_ns: Int64?

    /// Makes room for `fires`, on a grid of `interval_ns` that begins `phase_ns` later than the earliest possible time. The
    /// `settling` fires that come before them are left out. Each fire computes for `work_ns` after its stamp.
    init(
        fires: Int,
        interval_ns: Int64,
        phase_ns: Int64,
        settling: Int = 0,
        patience_ns: Int64? = nil,
        work_ns: Int64 = 0,
        spinBudget: Double? = nil
    ) {
        self.interval_ns = interval_ns
        self.spinBudget = spinBudget
        self.phase_ns = phase_ns
        self.settling = settling
        self.patience_ns = patience_ns
        // On a line of its own, see `cbench_block`.
        block = UnsafeMutableRawPointer.allocate(byteCount: MemoryLayout<cbench_block>.size, alignment: 64)
            .bindMemory(to: cbench_block.self, capacity: 1)
        room = .allocate(capacity: fires)
        // Initialized, not only allocated: a page fault at the first touch would add lateness that is our own.
        room.initialize(repeating: cbench_fire(), count: fires)
        block.initialize(
            to: cbench_block(
                fires: room,
                capacity: fires,
                count: 0,
                interval_ns: interval_ns,
                next_deadline_ns: 0,
                settling: settling,
                end_ns: 0,
                work_ns: work_ns,
                first_deadline_ns: 0,
                counters: cbench_no_counters(),
                turns: 0,
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
        begin(at: cbench_now_ns() + Self.lead_ns + phase_ns)
    }

    /// Sets a grid with a given first deadline, which the caller could not choose, and returns that deadline.
    @discardableResult
    func begin(at first_ns: Int64) -> Int64 {
        if let patience_ns { block.pointee.end_ns = first_ns + planned_ns + patience_ns }
        cbench_block_begin(block, first_ns, interval_ns)
        return first_ns
    }

    /// The earliest deadline that has not been met.
    var nextDeadline_ns: Int64 { block.pointee.next_deadline_ns }

    /// Records a fire for the earliest deadline that has not been met. Further deadlines that have passed count as missed.
    /// Returns false if this was the last fire.
    @discardableResult
    func fire(_ woke_ns: Int64) -> Bool {
        took(cbench_block_fire(block, woke_ns))
    }

    /// Records a fire of a timer that reports how many deadlines the call stands for; see `fire(_:)`.
    @discardableResult
    func fire(_ woke_ns: Int64, for deadlines: Int64) -> Bool {
        took(cbench_block_fire_for(block, woke_ns, max(1, deadlines)))
    }

    /// Reads the clock, and records a fire of a timer that reports how many deadlines the call stands for; see `fire(_:)`.
    @discardableResult
    func fire(for deadlines: Int64) -> Bool {
        took(cbench_block_fire_now(block, max(1, deadlines)))
    }

    /// Records a fire of a timer that can be asked how many further deadlines it has merged into this call; see `fire(_:)`.
    ///
    /// Counting the deadlines up to `woke_ns` would be wrong: one that passed after the timer had read the clock still gets a
    /// call of its own, which would then seem early. The timer is asked only if the fire is late by an interval or more, because
    /// asking takes the timer's lock.
    @discardableResult
    func fire(_ woke_ns: Int64, merging mergedDeadlines: @autoclosure () -> Int) -> Bool {
        let isLate = woke_ns - nextDeadline_ns >= interval_ns
        return fire(woke_ns, for: isLate ? Int64(mergedDeadlines() + 1) : 1)
    }

    /// Records a fire of a timer that has its own grid and reports the deadline of the call; see `fire(_:)`.
    @discardableResult
    func fire(_ woke_ns: Int64, at deadline_ns: Int64) -> Bool {
        block.pointee.next_deadline_ns = deadline_ns
        return took(cbench_block_fire_for(block, woke_ns, 1))
    }

    private func took(_ hasMore: Bool) -> Bool {
        if !hasMore { full.signal() }
        return hasMore
    }

    /// Fills the block by a measuring loop in C. `missing` has a reason for each errno that means missing hardware.
    func fill(_ loop: (UnsafeMutablePointer<cbench_block>) -> CInt, orSay missing: [CInt: String] = [:]) throws {
        _ = begin()
        let status = loop(block)
        if let reason = missing[-status] { throw MissingHardware(description: reason) }
        if status != 0 { throw BenchError(String(cString: strerror(-status))) }
        full.signal()
    }

    private var planned_ns: Int64 { Int64(block.pointee.capacity + settling) * interval_ns }

    /// Runs `body` with the processor's counters on for all threads of the process, if there are counters.
    func counting<Result>(_ body: () throws -> Result) rethrows -> Result {
        let counters = cbench_counters_open()
        block.pointee.counters = counters
        defer { cbench_counters_close(counters) }
        return try body()
    }

    /// Blocks until the last fire. Throws if the subject takes far longer than its deadlines allow.
    func waitUntilFull() throws {
        let limit: DispatchTime = .now() + .nanoseconds(Int(planned_ns * 10 + 10_000_000_000))
        if full.wait(timeout: limit) == .timedOut {
            throw BenchError("stalled: \(block.pointee.count) of \(block.pointee.capacity) fires came")
        }
    }

    /// The fires so far, in order. A copy, because the recorder may be released right after its last use.
    var fires: [Fire] {
        cbench_block_order(block)
        return Array(UnsafeBufferPointer(start: room, count: block.pointee.count))
    }

    /// The resources that were used between the first and the last fire.
    var usage: Usage {
        let from = block.pointee.at_first
        let to = block.pointee.at_last
        return Usage(
            fires: max(0, block.pointee.count - 1),
            processCPU_ns: to.process_cpu_ns - from.process_cpu_ns,
            userCPU_ns: to.user_cpu_ns - from.user_cpu_ns,
            systemCPU_ns: to.system_cpu_ns - from.system_cpu_ns,
            threadCPU_ns: to.thread_id == from.thread_id ? to.thread_cpu_ns - from.thread_cpu_ns : nil,
            voluntarySwitches: Int(to.voluntary_switches - from.voluntary_switches),
            involuntarySwitches: Int(to.involuntary_switches - from.involuntary_switches),
            pageFaults: Int(to.page_faults - from.page_faults),
            instructions: Self.counted(from.instructions, to.instructions),
            cycles: Self.counted(from.cycles, to.cycles),
            cacheMisses: Self.counted(from.cache_misses, to.cache_misses)
        )
    }

    /// Returns nil without the counter.
    private static func counted(_ from: Int64, _ to: Int64) -> Int64? {
        from < 0 || to < 0 ? nil : to - from
    }
}

// Blocks that a child process fills.
extension BlockRecorder {
    /// The options of a child process that shall fill a block like this one.
    var plan: [String] {
        var options: [(String, Int64)] = [
            ("--fires", Int64(block.pointee.capacity)), ("--interval", interval_ns), ("--phase", phase_ns),
            ("--settling", Int64(settling)), ("--work", block.pointee.work_ns),
        ]
        if let patience_ns { options.append(("--patience", patience_ns)) }
        return options.flatMap { [$0, "\($1)"] }
    }

    /// The block as bytes: first the resources used, then the fires. Parent and child run the same program.
    var data: Data {
        var data = Data()
        withUnsafeBytes(of: block.pointee.at_first) { data.append(contentsOf: $0) }
        withUnsafeBytes(of: block.pointee.at_last) { data.append(contentsOf: $0) }
        data.append(Data(buffer: UnsafeBufferPointer(start: room, count: block.pointee.count)))
        return data
    }

    /// Takes over the block of a child, which the child has filled, or ended early. Returns false if the data are not such
    /// a block.
    func fill(from data: Data) -> Bool {
        let head = 2 * MemoryLayout<cbench_usage>.size
        let size = MemoryLayout<cbench_fire>.stride
        let fires = (data.count - head) / size
        guard (1...block.pointee.capacity).contains(fires), data.count == head + fires * size else { return false }
        data.withUnsafeBytes { bytes in
            block.pointee.at_first = bytes.loadUnaligned(as: cbench_usage.self)
            block.pointee.at_last = bytes.loadUnaligned(fromByteOffset: head / 2, as: cbench_usage.self)
            UnsafeMutableRawPointer(room).copyMemory(from: bytes.baseAddress! + head, byteCount: data.count - head)
        }
        block.pointee.count = fires
        block.pointee.next_deadline_ns = room[fires - 1].deadline_ns + interval_ns
        return true
    }
}
