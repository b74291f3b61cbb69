// SPDX-License-Identifier: Apache-2.0
import CBench
import CHRTimer
import Dispatch
import Foundation
import HRTimer
import HRTimerCore

/// Makes timers late, each by one cause.
enum WhyCauses {
    /// Runs timers of an engine whose late fires are counted, until there were enough.
    private static func watch(
        _ tally: WhyTally,
        beyond bound: Duration,
        _ settings: RealTimeSettings = .init(),
        seconds: Int = 120,
        _ arm: (TimerEngine) -> Void
    ) throws {
        let engine = try TimerEngine(.init(name: "why", realTime: settings))
        engine.onLate(beyond: bound) { tally.count($0) }
        arm(engine)
        tally.wait(seconds: seconds)
        engine.shutdown()
    }

    /// Runs two timers: the handler of the first takes long, and the second is due meanwhile. They are not due at the same
    /// instant: the order would then be that of arming, and would change after the first has skipped a deadline.
    private static func behind(
        _ tally: WhyTally,
        from first: MonotonicInstant = .now.advanced(by: .milliseconds(20)),
        _ slow: @escaping @Sendable () -> Void
    ) throws {
        try watch(tally, beyond: .microseconds(500)) { engine in
            engine.schedule(at: first, every: .milliseconds(6)) { _ in slow() }
            engine.schedule(at: first.advanced(by: .microseconds(20)), every: .milliseconds(6)) { tally.see($0) }
        }
    }

    static func slowHandler(_ tally: WhyTally) throws { try behind(tally) { compute(2_000_000) } }

    private static func compute(_ length_ns: Int64) {
        let end_ns = cbench_now_ns() + length_ns
        while cbench_now_ns() < end_ns {}
    }

    /// A neighbour thread removes the pages of the first timer's memory, 2 ms before each call.
    static func faults(_ tally: WhyTally) throws {
        let page = Int(getpagesize())
        // 4 MiB. In a guest, free blocks of 8 MiB are reported to the host by a kernel thread, which occupies the
        // processor.
        let size = 1024 * page
        guard let memory = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
            memory != MAP_FAILED
        else { throw BenchError("no memory for the handler") }
        // A huge page would need only one fault.
        madvise(memory, size, MADV_NOHUGEPAGE)
        let address = UInt(bitPattern: memory)
        let first = MonotonicInstant.now.advanced(by: .milliseconds(20))
        let isOver = Locked(false)
        let neighbour = Thread {
            var next_ns = first.nanoseconds - 2_000_000
            while !isOver.withLock({ $0 }) {
                cbench_sleep_until(next_ns)
                if let memory = UnsafeMutableRawPointer(bitPattern: address) { madvise(memory, size, MADV_DONTNEED) }
                next_ns += 6_000_000
            }
        }
        neighbour.start()
        try behind(tally, from: first) {
            // Sendable: mapped until the process ends; only the engine's thread writes to it.
            guard let memory = UnsafeMutableRawPointer(bitPattern: address) else { return }
            for offset in stride(from: 0, to: size, by: page) {
                memory.storeBytes(of: 1, toByteOffset: offset, as: UInt8.self)
            }
        }
        isOver.withLock { $0 = true }
    }

    /// Three processes compute on the processor of the engine's thread, which has a nice value of 10.
    static func busyProcess(_ tally: WhyTally) throws {
        let processor = firstProcessor
        let children = try (0..<3).map { _ in try computing(on: processor) }
        defer { for child in children { child.terminate() } }
        var settings = RealTimeSettings()
        settings.processors = [processor]
        try watch(tally, beyond: .milliseconds(1), settings, seconds: 60) { engine in
            engine.schedule(after: .milliseconds(1)) { _ in
                setpriority(__priority_which_t(PRIO_PROCESS.rawValue), id_t(hrt_thread_id()), 10)
            }
            engine.schedule(after: .milliseconds(50), every: .milliseconds(20)) { tally.see($0) }
        }
    }

    private static var firstProcessor: Int { cbench_affinity().trailingZeroBitCount }

    private static func computing(on processor: Int) throws -> Process {
        let child = Process()
        child.executableURL = URL(fileURLWithPath: "/usr/bin/taskset")
        // The shell checks whether this process still exists, and ends by itself when it is gone.
        child.arguments = [
            "-c", "\(processor)", "/bin/sh", "-c",
            "while kill -0 \(getpid()) 2>/dev/null; do i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; done",
        ]
        do { try child.run() } catch { throw MissingHardware(description: "there is no taskset (util-linux)") }
        return child
    }

    /// Another process stops this one.
    static func stop(_ tally: WhyTally) throws {
        try watch(tally, beyond: .milliseconds(4)) { engine in
            engine.schedule(after: .milliseconds(5), every: .milliseconds(5)) { tally.see($0) }
        }
    }

    /// A computing thread uses up the quota of the cgroup, which contains both threads.
    static func throttled(_ tally: WhyTally) throws {
        let group = try Quota()
        defer { group.remove() }
        let isOver = Locked(false)
        let busy = Thread { while !isOver.withLock({ $0 }) { compute(1_000_000) } }
        busy.start()
        try watch(tally, beyond: .milliseconds(2), seconds: 60) { engine in
            engine.schedule(after: .milliseconds(50), every: .milliseconds(5)) { tally.see($0) }
        }
        isOver.withLock { $0 = true }
    }

    static func blockedQueue(_ tally: WhyTally) throws {
        let engine = try TimerEngine(.init(name: "why"))
        let queue = DispatchQueue(label: "blocked")
        let source = TimerSource(engine: engine, queue: queue)
        source.setEventHandler {}
        source.onLate(beyond: .milliseconds(1)) { tally.count($0) }
        let first = MonotonicInstant.now.advanced(by: .milliseconds(20))
        source.schedule(deadline: first, repeating: .milliseconds(20))
        // A block that is in the queue before the call, and ends after the call is late.
        engine.schedule(at: first.advanced(by: .milliseconds(-2)), every: .milliseconds(20)) { fire in
            queue.async { cbench_sleep_until(fire.deadline.nanoseconds + 10_000_000) }
        }
        source.activate()
        tally.wait()
        source.cancelAndWait()
        engine.shutdown()
    }

    static func wallStep(_ tally: WhyTally) throws {
        let engine = try WallTimerEngine(.init(name: "why"))
        let step = Duration.milliseconds(50)
        engine.onLate(beyond: .milliseconds(20)) { tally.count($0) }
        let end = MonotonicInstant.now.advanced(by: .seconds(120))
        while !tally.isFull, .now < end {
            let called = DispatchSemaphore(value: 0)
            // The step skips the deadline, and makes the timer late by the rest of the step.
            engine.schedule(after: .milliseconds(10)) { _ in called.signal() }
            usleep(2_000)
            try setWall(ahead_ns: step.nanosecondsRoundedUp)
            _ = called.wait(timeout: .now() + .seconds(1))
            try setWall(ahead_ns: -step.nanosecondsRoundedUp)
            usleep(2_000)
        }
        engine.shutdown()
    }

    private static func setWall(ahead_ns: Int64) throws {
        let wall_ns = cbench_wall_ns() + ahead_ns
        var time = timespec(tv_sec: Int(wall_ns / 1_000_000_000), tv_nsec: Int(wall_ns % 1_000_000_000))
        guard clock_settime(CLOCK_REALTIME, &time) == 0 else {
            throw MissingHardware(description: "the wall clock cannot be set: \(String(cString: strerror(errno)))")
        }
    }

    /// Nothing disturbs the timer.
    static func idle(_ tally: WhyTally) throws {
        try watch(tally, beyond: .microseconds(5)) { engine in
            engine.schedule(after: .milliseconds(5), every: .milliseconds(5)) { tally.see($0) }
        }
    }

    /// Twenty timers with intervals of about a millisecond, one with a slow handler; counts every fire that is late at all.
    static func sum(_ tally: WhyTally) throws {
        try watch(tally, beyond: .zero, seconds: 3600) { engine in
            for number in 0..<20 as Range<Int64> {
                engine.schedule(after: .milliseconds(5), every: .microseconds(1000 + 10 * number)) { fire in
                    tally.see(fire)
                    if number == 7 { compute(30_000) }
                }
            }
        }
    }
}

/// A cgroup with a quota of processor time, which contains this process.
private struct Quota {
    private let path: String
    private let parent: String

    /// Creates a cgroup of either version. The quota is a fifth of one processor, in periods of 50 ms.
    init() throws {
        let name = "hrtimer-why-\(getpid())"
        let kinds = [
            ("/sys/fs/cgroup/cpu", [("cpu.cfs_period_us", "50000"), ("cpu.cfs_quota_us", "10000")]),
            ("/sys/fs/cgroup", [("cpu.max", "10000 50000")]),
        ]
        let made = kinds.first { parent, files in
            let path = "\(parent)/\(name)"
            guard access("\(parent)/cgroup.procs", W_OK) == 0, mkdir(path, 0o755) == 0 else { return false }
            let isMade =
                files.allSatisfy { Self.write($0.1, "\(path)/\($0.0)") }
                && Self.write("\(getpid())", "\(path)/cgroup.procs")
            if !isMade { rmdir(path) }
            return isMade
        }
        guard let parent = made?.0 else {
            throw MissingHardware(
                description: "no cgroup with a quota can be made (that takes root, and the cpu controller)"
            )
        }
        (self.parent, path) = (parent, "\(parent)/\(name)")
    }

    func remove() {
        _ = Self.write("\(getpid())", "\(parent)/cgroup.procs")
        rmdir(path)
    }

    private static func write(_ text: String, _ path: String) -> Bool {
        guard let file = FileHandle(forWritingAtPath: path) else { return false }
        defer { try? file.close() }
        return (try? file.write(contentsOf: Data(text.utf8))) != nil
    }
}
