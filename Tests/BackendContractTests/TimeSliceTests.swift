// SPDX-License-Identifier: Apache-2.0
import CHRTimer
import CTestSupport
import Glibc
import HRTimer
import TestSupport
import TestTraits
import Testing

/// Time slices against the kernel, in processes of their own.
@Suite(.serialized, .hangLimit) struct TimeSliceTests {
    private static let isRoot = geteuid() == 0
    /// Whether the kernel has a slice for each thread: Linux 6.12 or newer.
    private static let hasSlices = hrt_thread_slice_ns() > 0

    @Test(
        "The thread has a slice of 100 µs or the requested one, and what its handler starts has the default one",
        .enabled(if: hasSlices, "takes Linux 6.12")
    )
    func timeSlice() async {
        await #expect(processExitsWith: .success) {
            let default_ns = hrt_thread_slice_ns()
            let requests: [(Duration?, UInt64)] = [
                (.microseconds(100), 100_000), (.milliseconds(7), 7_000_000), (nil, default_ns),
            ]
            #expect(RealTimeSettings().timeSlice == requests[0].0)
            for (slice, slice_ns) in requests {
                var configuration = TimerEngine.Configuration()
                configuration.realTime.timeSlice = slice
                let engine = try TimerEngine(configuration)
                #expect(await engine.awaitSettingResults().count == (slice == nil ? 2 : 3))
                let seen = SeenThread(on: engine)
                #expect(seen.schedule.runtime_ns == slice_ns)
                #expect(seen.startedSlices_ns == [default_ns, default_ns, default_ns])
                #expect(seen.schedule.policy == UInt32(SCHED_OTHER) && seen.schedule.nice == 0)
            }
            let thread = try TimerLoop.thread(name: "short")
            let slice_ns = await withCheckedContinuation { continuation in
                thread.loop.perform { continuation.resume(returning: hrt_thread_slice_ns()) }
            }
            #expect(slice_ns == 100_000)
            await thread.shutdown()
            #expect(hrt_thread_slice_ns() == default_ns)
        }
    }

    @Test(
        "The slice stays beside a nice value, which children keep as without it; real-time classes have none",
        .enabled(if: isRoot && hasSlices, "takes CAP_SYS_NICE and Linux 6.12")
    )
    func timeSliceOfClasses() async {
        await #expect(processExitsWith: .success) {
            for (nice, childsNice) in [(-5, 0), (5, 5)] {
                var configuration = TimerEngine.Configuration()
                configuration.realTime.schedulingClass = .other(nice: nice)
                let seen = SeenThread(on: try TimerEngine(configuration))
                #expect(seen.schedule.runtime_ns == 100_000)
                #expect(Int(seen.schedule.nice) == nice)
                #expect(Int(seen.thread.nice) == childsNice)
            }
            var configuration = TimerEngine.Configuration()
            configuration.realTime.schedulingClass = .fifo(priority: 1)
            let engine = try TimerEngine(configuration)
            #expect(await engine.awaitSettingResults().filter { !$0.isGranted } == [])
            #expect(SeenThread(on: engine).schedule.runtime_ns == 0)

            // A negative nice value of the whole process: what handlers start keeps that, too.
            #expect(setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, -3) == 0)
            let default_ns = hrt_thread_slice_ns()
            let seen = SeenThread(on: try TimerEngine())
            #expect(seen.schedule.runtime_ns == 100_000)
            #expect(Int(seen.schedule.nice) == -3)
            #expect(seen.thread.nice == -3)
            // Nobody tells the kernel to give a thread of the C library's another slice.
            #expect(seen.startedSlices_ns == [100_000, default_ns, default_ns])
        }
    }

    /// What an engine is told of its slice in this process, from now on, where a filter answers that system call with `error`.
    private static func refusal(by call: String, _ error: Int32) async throws -> Int32? {
        #expect(ctest_refuse(call, error) == 0)
        let engine = try TimerEngine()
        let results = await engine.awaitSettingResults()
        await withCheckedContinuation { continuation in
            engine.schedule(after: .milliseconds(1)) { _ in continuation.resume() }
        }
        guard case .refused(let why)? = results.first(where: { $0.setting == .timeSlice })?.outcome else { return nil }
        return why.errorNumber
    }

    @Test("Where a sandbox refuses sched_setattr(2), the result says so, and timers fire")
    func refusedSlice() async {
        await #expect(processExitsWith: .success) {
            let expected = hrt_thread_slice_ns() > 0 ? EPERM : ENOTSUP
            let refusal = try await Self.refusal(by: "sched_setattr", EPERM)
            #expect(refusal == expected)
        }
    }

    @Test(
        "Where the kernel tells of no slice, as before Linux 6.12, none is requested, the result says so, and timers fire"
    )
    func oldKernel() async {
        await #expect(processExitsWith: .success) {
            // The call succeeds and fills in nothing: SCHED_OTHER, and no slice, as an older kernel has it.
            let refusal = try await Self.refusal(by: "sched_getattr", 0)
            #expect(refusal == ENOTSUP)
        }
    }

    @Test(
        "A thread of the user's gets the slice that it asks for, later settings keep it, and a forked child has the former one",
        .enabled(if: hasSlices, "takes Linux 6.12")
    )
    func timeSliceOfThread() async {
        await #expect(processExitsWith: .success) {
            let batch: Int32 = 3  // SCHED_BATCH, which Glibc's module lacks
            let seen = await withCheckedContinuation {
                (continuation: CheckedContinuation<(SeenThread, [UInt64?]), Never>) in
                let thread = try? startThread {
                    let default_ns = hrt_thread_slice_ns()
                    try? RealTimeSettings.setTimeSliceOfThread(.milliseconds(2))
                    setpriority(__priority_which_t(PRIO_PROCESS.rawValue), id_t(hrt_thread_id()), 3)
                    var parameters = sched_param()
                    sched_setscheduler(0, batch, &parameters)
                    let seen = SeenThread()
                    continuation.resume(returning: (seen, [2_000_000, default_ns, default_ns]))
                }
                if let thread { pthread_detach(thread) }
            }
            #expect(seen.0.schedule.runtime_ns == 2_000_000)
            #expect(seen.0.schedule.nice == 3)
            #expect(seen.0.schedule.policy == UInt32(batch))
            #expect(seen.0.startedSlices_ns == seen.1)
        }
        for nonsense: Duration in [.zero, .seconds(-1), .microseconds(99), .seconds(1)] {
            let error = #expect(throws: TimerError.self) { try RealTimeSettings.setTimeSliceOfThread(nonsense) }
            let description = error.map { "\($0)" } ?? ""
            #expect(description.hasPrefix("takes 100 µs ... 100 ms: cannot set timeSlice to "), "\(description)")
        }
    }
}
