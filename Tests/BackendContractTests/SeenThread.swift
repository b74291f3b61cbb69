// SPDX-License-Identifier: Apache-2.0
import CHRTimer
import CTestSupport
import Glibc
import HRTimer
import TestSupport
import Testing

/// The kernel's view of an engine's thread, read on that thread.
struct SeenThread {
    var name = ""
    var timerSlack_ns: UInt64 = 0
    var processors: String?
    var schedule = ctest_schedule()
    /// What is started there has: a thread of the C library's, one of this library's, and a child of fork(2).
    var thread = ctest_schedule()
    var libraryThread: ctest_schedule?
    var child = ctest_schedule()

    /// The slices of all three.
    var startedSlices_ns: [UInt64?] { [thread.runtime_ns, libraryThread?.runtime_ns, child.runtime_ns] }

    init(on engine: TimerEngine) {
        let record = Recorder<SeenThread>()
        engine.schedule(at: .distantPast) { _ in record.append(SeenThread()) }
        while record.count == 0 { pause(.milliseconds(1)) }
        self = record.all[0]
    }

    init() {
        let tid = hrt_thread_id()
        name = String(Kernel.text(of: "/proc/self/task/\(tid)/comm")?.dropLast() ?? "")
        timerSlack_ns = UInt64(Kernel.text(of: "/proc/\(tid)/timerslack_ns")?.dropLast() ?? "") ?? 0
        processors = Kernel.status("Cpus_allowed_list", ofThread: tid)
        _ = ctest_thread_schedule(&schedule)
        #expect(ctest_thread_schedule_of_thread(&thread) == 0)
        #expect(ctest_thread_schedule_of_child(&child) == 0)
        let started = Recorder<ctest_schedule>()
        let thread = try? startThread {
            var schedule = ctest_schedule()
            if ctest_thread_schedule(&schedule) == 0 { started.append(schedule) }
        }
        if let thread { join(thread) }
        libraryThread = started.all.first
    }
}
