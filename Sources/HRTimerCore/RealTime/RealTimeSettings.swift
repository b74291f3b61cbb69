// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
/// What an engine requests from the kernel for its own thread, and for the process while the engine lives.
///
///     var configuration = TimerEngine.Configuration()
///     configuration.realTime.schedulingClass = .fifo(priority: 10)
///     let engine = try TimerEngine(configuration)
///     engine.settingResults                        // granted or refused
///
/// The defaults suit an ordinary process: a timer slack of 1 ns, which it is always granted, and a time slice of 100 µs.
/// `TimerEngine.settingResults` reports what the kernel refuses; the engine runs without it. Only the engine's own thread is
/// changed. All settings end with the engine.
///
/// Threads and children that a handler starts do not inherit the class and the time slice (`SCHED_FLAG_RESET_ON_FORK`), but for
/// a nice value above 0.
/// Threads that this library starts, and children of `fork(2)`, do not inherit `processors` and `timerSlack` either. The kernel
/// has no hook for others: threads of libdispatch and `Task.detached`, and children of `posix_spawn` and Foundation's `Process`,
/// keep both if a handler starts them. Start those from another thread.
public struct RealTimeSettings: Sendable, Hashable {
    /// When the kernel lets the thread run; see sched(7).
    public enum SchedulingClass: Sendable, Hashable {
        /// `SCHED_OTHER`, as for ordinary threads, with a nice value of -20 (favoured) to 19.
        ///
        /// A value below the present one takes CAP_SYS_NICE or RLIMIT_NICE.
        case other(nice: Int)
        /// `SCHED_FIFO`: runs before every ordinary thread, until it sleeps.
        ///
        /// Priority 1 (least) to 99; 1 suffices unless other real-time threads compete. Takes CAP_SYS_NICE or RLIMIT_RTPRIO.
        ///
        /// Where the kernel refuses it with EPERM, RealtimeKit is asked over D-Bus, and then the desktop portal, as audio
        /// programs do; `SettingResult.grantor` tells which one granted it. They may lower the priority (to 20), may give
        /// `SCHED_RR` instead, and demand `RLIMIT_RTTIME`, which is lowered for the whole process: a real-time thread that
        /// computes for 200 ms without sleeping ends the process by SIGXCPU. Asking takes libdbus-1.so.3. The kernel stops
        /// real-time threads for a part of every second (/proc/sys/kernel/sched_rt_runtime_us) if they take all of it.
        case fifo(priority: Int)
        /// `SCHED_RR`: as `fifo`, RealtimeKit included, but takes turns with threads of the same priority.
        case roundRobin(priority: Int)
        /// `SCHED_DEADLINE`: guarantees `runtime` within `deadline` of the begin of each `period`; runtime ≤ deadline ≤ period,
        /// from about 1 µs.
        ///
        /// Takes CAP_SYS_NICE. Refused with EPERM to a thread that is restricted to some processors.
        case deadline(runtime: Duration, deadline: Duration, period: Duration)
    }

    /// The class of the engine's thread.
    ///
    /// Nil keeps the class inherited from the thread that makes the engine.
    public var schedulingClass: SchedulingClass?

    /// The numbers of the processors that the thread may run on.
    ///
    /// Nil keeps those of the thread that makes the engine; if that is a thread of this library, those that it began with.
    /// Threads and children that handlers start through others inherit them, see above. `sched_setaffinity(2)`.
    public var processors: Set<Int>?

    /// How late the kernel may make a wake-up of the thread, to merge it with others: `PR_SET_TIMERSLACK`, 1 ns or more.
    ///
    /// Threads have 50 µs by default; real-time classes have none. Inherited as `processors` are.
    public var timerSlack: Duration = .nanoseconds(1)

    /// How long the thread may compute before others get their turn, 100 µs to 100 ms: `sched_runtime` of `sched_setattr(2)`.
    ///
    /// On a busy processor a thread with a shorter slice is run sooner once it wakes: the kernel's scheduler picks the thread
    /// whose slice ends first (Documentation/scheduler/sched-eevdf.rst). It gets no larger share of the processor by that. A
    /// handler that computes for longer than a slice waits for others in between. Threads of other groups (cgroups, or
    /// sessions with `sched_autogroup_enabled`) compete by their group's slice, not by this one.
    ///
    /// Nil keeps the slice inherited from the thread that makes the engine. The nice value stays as it is; unless it is
    /// negative, the class can then be changed in a handler only with CAP_SYS_NICE or with `SCHED_RESET_ON_FORK`. Refused with
    /// ENOTSUP before Linux 6.12, which has one slice for all threads. Real-time classes have none.
    public var timeSlice: Duration? = .microseconds(100)

    /// Whether the process's memory is locked: `mlockall(2)`, for present and future pages, each when it is touched
    /// (MCL_ONFAULT).
    ///
    /// The lock holds for the whole process, from the first such engine to the end of the last one. If the process has locked
    /// its memory itself, it stays locked. Where the process may lock only so much (RLIMIT_MEMLOCK without CAP_IPC_LOCK), the
    /// lock is refused with ENOMEM or EPERM, or it is granted and later allocations beyond the limit fail.
    public var locksMemory = false

    /// The longest time that processors may take to leave an idle state, for the whole system: an open `/dev/cpu_dma_latency`,
    /// in whole µs rounded down.
    ///
    /// Zero keeps them out of every idle state, which costs power and heat. The least value that any process requests holds.
    /// Nil requests nothing.
    ///
    /// The bound holds only while a precise timer is due within a second: a timer of an engine or loop in `.precise`, or one
    /// that requests `.precise` itself. After the last such timer is cancelled it holds for a second at most.
    public var wakeLatency: Duration?

    /// As `wakeLatency`, and for as long, but for `processors` alone:
    /// `/sys/devices/system/cpu/cpu…/power/pm_qos_resume_latency_us`.
    ///
    /// It spares the power of the other processors. Takes `processors`, and the right to write these files, which root has.
    ///
    /// The least value holds: of this process's threads, and of what stood in the file, which is written back. A process that
    /// is killed leaves its value there.
    public var processorWakeLatency: Duration?

    /// Whether the engine's deadlines wake a suspended system: `CLOCK_BOOTTIME_ALARM` of `timerfd_create(2)`.
    ///
    /// Only for a `BootTimeTimerEngine`; without this setting its timers fire when the system runs again.
    ///
    ///     var configuration = TimerEngine.Configuration()
    ///     configuration.realTime.wakesSystem = true
    ///     let alarms = try BootTimeTimerEngine(configuration)
    ///
    /// Takes CAP_WAKE_ALARM. Refused with EPERM without that, and with EINVAL to another engine or a loop. The timers then run
    /// on `CLOCK_BOOTTIME`, as they do once the process has given the right up. A system whose clock chip cannot wake it sleeps
    /// on.
    public var wakesSystem = false

    /// The settings for an ordinary process.
    public init() {}

    /// Gives the calling thread a time slice, for a loop that runs on a thread of your own.
    ///
    ///     try RealTimeSettings.setTimeSliceOfThread(.microseconds(100))
    ///     TimerLoop.current.run()
    ///
    /// 100 µs to 100 ms, see `timeSlice`. Threads that this thread starts inherit it, but for this library's own and for
    /// children of `fork(2)`. Throws EINVAL for another length, ENOTSUP before Linux 6.12, EPERM where a sandbox forbids it.
    /// Does nothing on a real-time thread. `sched_setattr(2)`.
    public static func setTimeSliceOfThread(_ slice: Duration) throws(TimerError) {
        try AppliedSettings.setTimeSlice(slice, resetsOnFork: false)
    }
}

/// The result of one of an engine's settings.
public struct SettingResult: Sendable, Hashable, CustomStringConvertible {
    /// One of the settings.
    public enum Setting: String, Sendable, Hashable, CaseIterable {
        /// `TimerEngine.Configuration.name`.
        case threadName
        /// `RealTimeSettings.timerSlack`.
        case timerSlack
        /// `RealTimeSettings.processors`.
        case processors
        /// `RealTimeSettings.schedulingClass`.
        case schedulingClass
        /// `RealTimeSettings.timeSlice`.
        case timeSlice
        /// `RealTimeSettings.locksMemory`.
        case locksMemory
        /// `RealTimeSettings.wakeLatency`.
        case wakeLatency
        /// `RealTimeSettings.processorWakeLatency`.
        case processorWakeLatency
        /// `RealTimeSettings.wakesSystem`.
        case wakesSystem
    }

    /// What became of a request.
    public enum Outcome: Sendable, Hashable {
        /// The setting holds.
        case granted
        /// It does not hold, and nothing was changed.
        case refused(because: TimerError)
    }

    /// Who granted a setting.
    public enum Grantor: Sendable, Hashable {
        /// The kernel, to the process's own rights.
        case kernel
        /// RealtimeKit on the system's bus, at that priority, which may be lower than the requested one.
        case realtimeKit(priority: Int)
        /// The desktop portal on the session's bus, `org.freedesktop.portal.Realtime`, at that priority.
        case portal(priority: Int)
    }

    /// The setting.
    public let setting: Setting
    /// Whether the setting holds.
    public let outcome: Outcome
    /// Who granted it; `kernel` also for a setting that was refused.
    public internal(set) var grantor = Grantor.kernel

    /// Whether the setting holds.
    public var isGranted: Bool { outcome == .granted }

    /// One line: the setting, and the reason for a refusal.
    public var description: String {
        switch outcome {
        case .granted:
            switch grantor {
            case .kernel: "\(setting.rawValue): granted"
            case .realtimeKit(let priority): "\(setting.rawValue): granted by RealtimeKit, at priority \(priority)"
            case .portal(let priority): "\(setting.rawValue): granted by the desktop portal, at priority \(priority)"
            }
        case .refused(let error): "\(setting.rawValue): refused, \(error)"
        }
    }
}
#endif
