// SPDX-License-Identifier: Apache-2.0
import CBench
import CHRTimer
import CTestSupport
import Glibc
import HRTimer
import TestSupport
import TestTraits
import Testing

/// Real-time settings against the kernel: it must show what is granted, and a refusal must say why. The tests run in processes
/// of their own, since some settings are the process's.
@Suite(.serialized, .hangLimit) struct RealTimeSettingsTests {
    private static let isRoot = geteuid() == 0
    /// Whether the kernel has a slice for each thread: Linux 6.12 or newer.
    private static let hasSlices = hrt_thread_slice_ns() > 0

    @Test("By default only name, timer slack and time slice are requested, and granted; nothing else changes")
    func defaults() async {
        await #expect(processExitsWith: .success) {
            let engine = try TimerEngine(.init(name: "a-name-that-is-cut"))
            #expect(await engine.awaitSettingResults().map(\.setting) == [.threadName, .timerSlack, .timeSlice])
            let refused = await engine.awaitSettingResults().filter { !$0.isGranted }.map(\.description)
            #expect(
                refused
                    == (Self.hasSlices
                        ? []
                        : [
                            "timeSlice: refused, takes Linux 6.12 or newer: cannot set timeSlice to 100 µs: Operation not supported"
                        ])
            )
            let seen = SeenThread(on: engine)
            #expect(seen.name == "a-name-that-is-")
            #expect(seen.timerSlack_ns == 1)
            #expect(seen.schedule.policy == UInt32(SCHED_OTHER))
            #expect(seen.schedule.nice == 0)
            #expect(seen.processors == Kernel.status("Cpus_allowed_list", ofThread: hrt_thread_id()))
            #expect(Kernel.status("VmLck", ofThread: hrt_thread_id()) == "0 kB")
            #expect(hrt_thread_timer_slack_ns() == 50_000)
        }
    }

    @Test(
        "Class and priority are the engine thread's, and not the caller's or those of threads that it starts",
        .enabled(if: isRoot, "takes CAP_SYS_NICE")
    )
    func classes() async {
        await #expect(processExitsWith: .success) {
            let classes: [(RealTimeSettings.SchedulingClass, policy: Int32, value: Int)] = [
                (.fifo(priority: 7), SCHED_FIFO, 7), (.roundRobin(priority: 3), SCHED_RR, 3),
                (.other(nice: -5), SCHED_OTHER, -5), (.other(nice: 19), SCHED_OTHER, 19),
                (.deadline(runtime: .milliseconds(1), deadline: .milliseconds(5), period: .milliseconds(10)), 6, 0),
            ]
            for (schedulingClass, policy, value) in classes {
                var configuration = TimerEngine.Configuration()
                configuration.realTime.schedulingClass = schedulingClass
                let engine = try TimerEngine(configuration)
                #expect(await engine.awaitSettingResults().last?.description == "schedulingClass: granted")
                let seen = SeenThread(on: engine)
                #expect(seen.schedule.policy == UInt32(policy))
                #expect(policy == SCHED_OTHER ? seen.schedule.nice == value : seen.schedule.priority == value)
                if policy == 6 {
                    let times = (seen.schedule.runtime_ns, seen.schedule.deadline_ns, seen.schedule.period_ns)
                    #expect(times == (1_000_000, 5_000_000, 10_000_000))
                }
                // A SCHED_DEADLINE thread may start a thread only with SCHED_FLAG_RESET_ON_FORK, which we set.
                #expect(seen.thread.policy == UInt32(SCHED_OTHER))
                var own = ctest_schedule()
                #expect(ctest_thread_schedule(&own) == 0)
                #expect(own.policy == UInt32(SCHED_OTHER) && own.nice == 0)
            }
        }
    }

    @Test("The thread runs on the requested processors, and wakes with the requested slack")
    func processorsAndSlack() async {
        await #expect(processExitsWith: .success) {
            let last = (0..<64).last { cbench_affinity() >> UInt64($0) & 1 == 1 }!
            var configuration = TimerEngine.Configuration()
            configuration.realTime.processors = [last]
            configuration.realTime.timerSlack = .microseconds(20)
            let before = cbench_affinity()
            let engine = try TimerEngine(configuration)
            #expect(await engine.awaitSettingResults().filter { !$0.isGranted } == [])
            #expect(
                await engine.awaitSettingResults().map(\.setting) == [
                    .threadName, .timerSlack, .timeSlice, .processors,
                ]
            )
            let seen = SeenThread(on: engine)
            #expect(seen.processors == "\(last)")
            #expect(seen.timerSlack_ns == 20_000)
            #expect(cbench_affinity() == before)
        }
    }

    @Test(
        "Memory is locked while an engine that requested it lives, and after it if the process itself had locked some",
        .enabled(if: isRoot && !isSanitized, "takes CAP_IPC_LOCK, and sanitizers lock nothing")
    )
    func memory() async {
        await #expect(processExitsWith: .success) {
            func locked() -> Bool { Kernel.status("VmLck", ofThread: hrt_thread_id()) != "0 kB" }
            var configuration = TimerEngine.Configuration()
            configuration.realTime.locksMemory = true
            #expect(!locked())
            let first = try TimerEngine(configuration)
            #expect(await first.awaitSettingResults().last?.description == "locksMemory: granted")
            #expect(locked())
            let second = try TimerEngine(configuration)
            #expect(await second.awaitSettingResults().last?.isGranted == true)
            await first.shutdown()
            #expect(locked())
            await second.shutdown()
            #expect(!locked())

            let own = mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)!
            mlock(own, 4096)
            let third = try TimerEngine(configuration)
            #expect(await third.awaitSettingResults().last?.isGranted == true)
            await third.shutdown()
            #expect(locked())
        }
    }

    private static let hasLatencyFile = access("/dev/cpu_dma_latency", R_OK | W_OK) == 0

    @Test(
        "The lowest wake-latency bound of all engines holds while a precise timer is due within a second",
        .enabled(if: hasLatencyFile, "takes /dev/cpu_dma_latency")
    )
    func latency() async {
        await #expect(processExitsWith: .success) {
            @Sendable func bound_us() -> Int32 {
                var bound_us: Int32 = -1
                let descriptor = open("/dev/cpu_dma_latency", O_RDONLY)
                #expect(read(descriptor, &bound_us, 4) == 4)
                close(descriptor)
                return bound_us
            }
            let before_us = bound_us()
            var engines: [TimerEngine] = []
            for (microseconds, others_us) in [(50, before_us), (20, min(before_us, 50))] {
                var configuration = TimerEngine.Configuration()
                configuration.realTime.wakeLatency = .microseconds(microseconds)
                let engine = try TimerEngine(configuration)
                engines.append(engine)
                #expect(await engine.awaitSettingResults().last?.description == "wakeLatency: granted")
                engine.schedule(after: 3600, precision: .precise) { _ in }
                #expect(await engine.atFire(.normal, bound_us) == others_us)
                #expect(await engine.atFire(.precise, bound_us) == min(before_us, Int32(microseconds)))
                let soon = engine.schedule(after: 0, every: .milliseconds(500), precision: .precise) { _ in }
                #expect(await engine.atFire(.normal, bound_us) == min(before_us, Int32(microseconds)))
                // After the cancel the bound holds for its last interval at most, and nothing else wakes the thread meanwhile.
                engine.cancel(soon)
                let end = MonotonicInstant.now + .seconds(30)
                while bound_us() != others_us, .now < end { try await Task.sleep(for: .milliseconds(10)) }
                #expect(bound_us() == others_us)
                engine.schedule(after: 0, every: .milliseconds(500), precision: .precise) { _ in }
                #expect(await engine.atFire(.normal, bound_us) == min(before_us, Int32(microseconds)))
            }
            await engines.removeLast().shutdown()
            #expect(bound_us() == min(before_us, 50))
            engines.removeAll()
            #expect(bound_us() == before_us)
        }
    }

    private static let hasProcessorFiles = access(processorFile, R_OK | W_OK) == 0
    private static let processorFile = "/sys/devices/system/cpu/cpu0/power/pm_qos_resume_latency_us"

    @Test(
        "A bound for single processors, the process's lowest, holds while needed, and the former value is restored",
        .enabled(if: hasProcessorFiles, "takes pm_qos_resume_latency_us")
    )
    func processorLatency() async {
        await #expect(processExitsWith: .success) {
            @Sendable func bound() -> String {
                var text = [CChar](repeating: 0, count: 32)
                guard let file = fopen(Self.processorFile, "re") else { return "" }
                fgets(&text, 32, file)
                fclose(file)
                return String(decoding: text.prefix { $0 > 10 }.map(UInt8.init), as: UTF8.self)
            }
            let before = bound()
            var configuration = TimerEngine.Configuration(precision: .precise)
            configuration.realTime.processors = [0]
            configuration.realTime.processorWakeLatency = .microseconds(30)
            let engine = try TimerEngine(configuration)
            #expect(await engine.awaitSettingResults().last?.description == "processorWakeLatency: granted")
            #expect(bound() == before)
            if before == "0" { #expect(await engine.atFire(.precise, bound) == "30") }
            var settings = configuration.realTime
            settings.processorWakeLatency = .zero
            let thread = try TimerLoop.thread(name: "bounded", precision: .precise, realTime: settings)
            let seen = await withCheckedContinuation { continuation in
                let timer = LoopTimer(timeInterval: 0.02, repeats: false) { _ in continuation.resume(returning: bound())
                }
                thread.loop.add(timer, forMode: .default)
            }
            #expect(seen == "n/a")
            await thread.shutdown()
            await engine.shutdown()
            #expect(bound() == before)
        }
    }

    @Test("A senseless value is refused with what the setting takes, and its name, and the engine runs without it")
    func refused() async {
        await #expect(processExitsWith: .success) {
            var configuration = TimerEngine.Configuration()
            configuration.realTime.timerSlack = .zero
            configuration.realTime.processors = [100_000, -1]
            configuration.realTime.schedulingClass = .fifo(priority: 100)
            configuration.realTime.timeSlice = .seconds(1)
            configuration.realTime.wakeLatency = .seconds(-1)
            let engine = try TimerEngine(configuration)
            #expect(
                await engine.awaitSettingResults().map(\.description) == [
                    "threadName: granted",
                    "timerSlack: refused, takes 1 ns or more: cannot set timerSlack to 0 ns: Invalid argument",
                    "timeSlice: refused, takes 100 µs ... 100 ms: cannot set timeSlice to 1 s: Invalid argument",
                    "processors: refused, takes numbers of processors that the system has and the process may use: "
                        + "cannot set processors to [-1, 100000]: Invalid argument",
                    "schedulingClass: refused, takes 1 ... 99: cannot set schedulingClass to SCHED_FIFO at priority 100: "
                        + "Invalid argument",
                    "wakeLatency: refused, takes 0 ... 2000 s: cannot set wakeLatency to -1 s by /dev/cpu_dma_latency: "
                        + "Invalid argument",
                ]
            )
            #expect(SeenThread(on: engine).schedule.policy == UInt32(SCHED_OTHER))
            configuration.realTime = RealTimeSettings()
            // The longest that the kernel takes, where it takes any.
            configuration.realTime.wakeLatency = .seconds(2000)
            let longest = try await TimerEngine(configuration).awaitSettingResults().last
            #expect(longest?.description.contains("Invalid argument") == false)
            configuration.realTime = RealTimeSettings()
            for nonsense: RealTimeSettings.SchedulingClass in [
                .other(nice: -21), .other(nice: .max), .fifo(priority: .min), .roundRobin(priority: .max),
                .deadline(runtime: .seconds(2), deadline: .seconds(1), period: .seconds(-1)),
            ] {
                configuration.realTime.schedulingClass = nonsense
                let grant = try await TimerEngine(configuration).awaitSettingResults().last
                guard case .refused(let error) = grant?.outcome else { return #expect(Bool(false), "\(nonsense)") }
                #expect(error.errorNumber == EINVAL)
            }
            configuration.realTime = RealTimeSettings()
            configuration.realTime.processorWakeLatency = .zero
            #expect(
                try await TimerEngine(configuration).awaitSettingResults().last?.description
                    == "processorWakeLatency: refused, takes 0 ... 2000 s, and processors: cannot set processorWakeLatency to 0 ns by "
                    + "pm_qos_resume_latency_us: Invalid argument"
            )
            configuration.realTime = RealTimeSettings()
            configuration.realTime.processors = []
            let engineWithoutProcessors = try TimerEngine(configuration)
            #expect(await engineWithoutProcessors.awaitSettingResults().last?.isGranted == false)
        }
    }

    @Test(
        "Without privileges the kernel's refusals are reported, and the engine fires all the same",
        .enabled(if: isRoot && !isSanitized, "drops them, and so needs them; and sanitizers lock nothing")
    )
    func unprivileged() async {
        await #expect(processExitsWith: .success) {
            var nothing = rlimit(rlim_cur: 0, rlim_max: 0)
            for resource in [__RLIMIT_RTPRIO, __RLIMIT_NICE, __RLIMIT_MEMLOCK] {
                #expect(setrlimit(__rlimit_resource_t(resource.rawValue), &nothing) == 0)
            }
            #expect(setuid(65_534) == 0)
            var configuration = TimerEngine.Configuration()
            configuration.realTime.schedulingClass = .fifo(priority: 1)
            configuration.realTime.timeSlice = nil
            configuration.realTime.locksMemory = true
            configuration.realTime.wakeLatency = .zero
            let engine = try TimerEngine(configuration)
            let errors = await engine.awaitSettingResults().map { grant -> Int32? in
                guard case .refused(let error) = grant.outcome else { return nil }
                return error.errorNumber
            }
            #expect(errors == [nil, nil, EPERM, EPERM, EACCES])
            // The cause comes first.
            let causes = [
                "schedulingClass: refused, takes CAP_SYS_NICE or RLIMIT_RTPRIO of 1 or more: cannot set ",
                "locksMemory: refused, takes CAP_IPC_LOCK or RLIMIT_MEMLOCK above all memory of the process: cannot lock ",
                "wakeLatency: refused, takes the right to write /dev/cpu_dma_latency: cannot set ",
            ]
            for (result, cause) in zip(await engine.awaitSettingResults().suffix(3), causes) {
                #expect(result.description.hasPrefix(cause), "\(result)")
            }
            let others: [(RealTimeSettings.SchedulingClass, String)] = [
                (.roundRobin(priority: 50), "takes CAP_SYS_NICE or RLIMIT_RTPRIO of 50 or more: cannot set "),
                (.other(nice: -5), "takes CAP_SYS_NICE or RLIMIT_NICE of 25 or more: cannot set "),
                (
                    .deadline(runtime: .milliseconds(1), deadline: .milliseconds(5), period: .milliseconds(10)),
                    "takes CAP_SYS_NICE, and a thread that may run on all processors: cannot set "
                ),
            ]
            for (schedulingClass, cause) in others {
                configuration.realTime = RealTimeSettings()
                configuration.realTime.schedulingClass = schedulingClass
                let result = try await TimerEngine(configuration).awaitSettingResults().last
                let said = result?.description ?? ""
                #expect(said.hasPrefix("schedulingClass: refused, \(cause)"), "\(said)")
            }
            #expect(SeenThread(on: engine).schedule.policy == UInt32(SCHED_OTHER))
        }
    }

    @Test("The setting results are there after the engine has ended, too")
    func ended() throws {
        let engine = try TimerEngine()
        engine.shutdown()
        #expect(engine.settingResults.count == 3)
    }
}

extension TimerEngine {
    /// Returns the result of `look` at the fire of a timer that the engine's thread has slept for.
    fileprivate func atFire<Seen: Sendable>(
        _ precision: TimerPrecision,
        _ look: @escaping @Sendable () -> Seen
    ) async -> Seen {
        await withCheckedContinuation { continuation in
            schedule(after: 0.02, precision: precision) { _ in continuation.resume(returning: look()) }
        }
    }
}
