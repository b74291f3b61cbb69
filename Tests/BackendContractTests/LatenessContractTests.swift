// SPDX-License-Identifier: Apache-2.0
import CBench
import CHRTimer
import Glibc
import HRTimer
import HRTimerCore
import TestSupport
import TestTraits
import Testing

/// Why real fires are late. Each test makes one cause of lateness, which must show in one of several rounds.
@Suite(.serialized, .hangLimit) struct LatenessContractTests {
    private static func compute(_ length: Duration) {
        let end = MonotonicInstant.now.advanced(by: length)
        while MonotonicInstant.now < end {}
    }

    /// Returns a cause's share in the thread's own lateness, which leaves out the time when the machine took the processor.
    private static func share(of cause: LatenessCause, in report: LatenessReport) -> Double {
        func part(_ cause: LatenessCause) -> Duration { report.byCause[cause, default: .zero] }
        let others = part(.runQueue) + part(.preempted) + part(.stolen)
        return part(cause) / max(report.lateness - others, .nanoseconds(1))
    }

    @Test("A real handler of 20 ms is nearly all of the next timer's lateness", .ownThread)
    func slowHandler() throws {
        var shares: [Double] = []
        for _ in 0..<50 {
            let engine = try TimerEngine()
            let reports = Recorder<LatenessReport>()
            let called = Latch()
            engine.onLate(beyond: .milliseconds(1)) { reports.append($0) }
            let first = MonotonicInstant.now.advanced(by: .milliseconds(3))
            engine.schedule(at: first) { _ in Self.compute(.milliseconds(20)) }
            let late = engine.schedule(at: first) { _ in called.open() }
            called.wait()
            engine.shutdown()
            let report = try #require(reports.all.first { $0.timer == late })
            #expect(report.byCause.values.reduce(.zero, +) == report.lateness)
            shares.append(Self.share(of: .handlerBefore, in: report))
            if shares.last ?? 0 > 0.9 { return }
        }
        Issue.record("shares of the handler: \(shares)")
    }

    @Test(
        "Where threads share one processor some fires are late because they waited for it",
        .ownThread,
        .enabled(if: access("/proc/thread-self/schedstat", R_OK) == 0, "needs a kernel with CONFIG_SCHED_INFO")
    )
    func runQueue() throws {
        var configuration = TimerEngine.Configuration()
        configuration.realTime.processors = [cbench_affinity().trailingZeroBitCount]
        let engines = try (0..<4).map { _ in try TimerEngine(configuration) }
        let hasWaited = Latch()
        engines[0].onLate(beyond: .microseconds(500)) { report in
            if report.byCause[.runQueue, default: .zero] > .microseconds(500) { hasWaited.open() }
        }
        engines[0].schedule(after: .milliseconds(1), every: .milliseconds(1)) { _ in }
        for engine in engines.dropFirst() {
            engine.schedule(after: .milliseconds(1), every: .milliseconds(1)) { _ in Self.compute(.milliseconds(10)) }
        }
        hasWaited.wait()
        for engine in engines { engine.shutdown() }
    }

    @Test("The parts of real reports add up to the lateness, and their counts come from this thread", .ownThread)
    func addsUp() throws {
        let engine = try TimerEngine()
        let reports = Recorder<LatenessReport>()
        let fires = Recorder<TimerFire>()
        engine.onLate(beyond: .zero) { reports.append($0) }
        let done = Latch()
        engine.schedule(after: .milliseconds(1), every: .milliseconds(1)) { fire in
            fires.append(fire)
            if fires.count == 300 { done.open() }
        }
        done.wait()
        engine.shutdown()
        let late = Dictionary(fires.all.map { ($0.deadline, $0.lateness) }) { first, _ in first }
        #expect(reports.count >= 290)
        for report in reports.all {
            #expect(report.byCause.values.reduce(.zero, +) == report.lateness)
            #expect(late[report.deadline] == report.lateness)
        }
        var file = hrt_thread_counts_open()
        var before = hrt_thread_counts()
        hrt_thread_counts_read(file, &before)
        Self.compute(.milliseconds(20))
        var after = hrt_thread_counts()
        hrt_thread_counts_read(file, &after)
        #expect(after.cpu_ns - before.cpu_ns + after.run_delay_ns - before.run_delay_ns > 10_000_000)
        if file >= 0 { close(file) }
        file = -1
        #expect(hrt_page_fault_ns() > 0 && hrt_page_fault_ns() < 1_000_000)
    }

    @Test("Page faults of the handler before a timer are the greater part of that timer's lateness", .ownThread)
    func faults() throws {
        let (page, count) = (Int(getpagesize()), 4096)
        let memory = mmap(nil, page * count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        let address = UInt(bitPattern: memory)
        try #require(memory != MAP_FAILED)
        defer { munmap(memory, page * count) }
        madvise(memory, page * count, MADV_NOHUGEPAGE)
        var shares: [Double] = []
        for _ in 0..<50 {
            madvise(memory, page * count, MADV_DONTNEED)
            let engine = try TimerEngine()
            let reports = Recorder<LatenessReport>()
            let called = Latch()
            engine.onLate(beyond: .microseconds(300)) { reports.append($0) }
            let first = MonotonicInstant.now.advanced(by: .milliseconds(3))
            engine.schedule(at: first) { _ in
                guard let memory = UnsafeMutableRawPointer(bitPattern: address) else { return }
                for number in 0..<count { memory.storeBytes(of: 1, toByteOffset: number * page, as: UInt8.self) }
            }
            let late = engine.schedule(at: first) { _ in called.open() }
            called.wait()
            engine.shutdown()
            let report = try #require(reports.all.first { $0.timer == late })
            shares.append(Self.share(of: .pageFault, in: report))
            if shares.last ?? 0 > 0.5 { return }
        }
        Issue.record("shares of page faults: \(shares)")
    }
}
