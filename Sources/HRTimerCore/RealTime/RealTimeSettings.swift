#if os(Linux)
/// What an engine requests of the kernel for its own thread, and for the process while it lives.
///
///     var configuration = TimerEngine.Configuration()
///     configuration.realTime.schedulingClass = .fifo(priority: 10)
///     let engine = try TimerEngine(configuration)
///     engine.settingResults                        // granted or refused
///
/// The defaults suit an ordinary process, which is always granted them: only a timer slack of 1 ns.
/// `TimerEngine.settingResults` reports what the kernel refuses; the engine runs without it. Only the engine's own
/// thread is changed, and threads that it starts do not inherit its class. All ends with the engine.
public struct RealTimeSettings: Sendable, Hashable {
    /// When the kernel lets the thread run, sched(7).
    public enum SchedulingClass: Sendable, Hashable {
        /// `SCHED_OTHER`, as ordinary threads, with a nice value of -20 (favoured) to 19; below the present one it takes
        /// CAP_SYS_NICE or RLIMIT_NICE.
        case other(nice: Int)
        /// `SCHED_FIFO`: before every ordinary thread, until it sleeps. Priority 1 (least) to 99; 1 suffices unless other
        /// real-time threads compete. Takes CAP_SYS_NICE or RLIMIT_RTPRIO.
        ///
        /// Where the kernel refuses it with EPERM, RealtimeKit is asked over D-Bus, and then the desktop portal, as audio
        /// programs do; `SettingResult.grantor` tells who granted it. They may lower the priority (to 20), may give
        /// `SCHED_RR` instead, and demand `RLIMIT_RTTIME`, which is lowered for the whole process: a real-time thread
        /// that computes for 200 ms without sleeping ends it by SIGXCPU. Takes libdbus-1.so.3. The kernel stops real-time threads for a part of
        /// every second (/proc/sys/kernel/sched_rt_runtime_us) if they take all of it.
        case fifo(priority: Int)
        /// `SCHED_RR`: as `fifo`, RealtimeKit included, taking turns with threads of the same priority.
        case roundRobin(priority: Int)
        /// `SCHED_DEADLINE`: `runtime` is guaranteed within `deadline` of the begin of each `period`; runtime ≤
        /// deadline ≤ period, from about 1 µs. Takes CAP_SYS_NICE; refused with EPERM to a thread restricted to some
        /// processors.
        case deadline(runtime: Duration, deadline: Duration, period: Duration)
    }

    /// The class of the engine's thread. Nil keeps the one inherited from the thread that makes the engine.
    public var schedulingClass: SchedulingClass?

    /// The numbers of the processors that the thread may run on. Nil keeps those of the thread that makes the engine.
    public var processors: Set<Int>?

    /// How late the kernel may make a wake-up of the thread to merge it with others: `PR_SET_TIMERSLACK`, 1 ns or more.
    /// Threads have 50 µs by default; real-time classes have none.
    public var timerSlack: Duration = .nanoseconds(1)

    /// Whether the process's memory is locked: `mlockall(2)`, for pages as they are touched (MCL_ONFAULT), present and
    /// future ones.
    ///
    /// It holds for the whole process, from the first such engine to the end of the last; if the process has locked its
    /// memory itself, that stays. Where the process may lock only so much (RLIMIT_MEMLOCK without CAP_IPC_LOCK), it is
    /// refused with ENOMEM or EPERM, or is granted and later allocations beyond the limit fail.
    public var locksMemory = false

    /// The longest time that processors may take to leave an idle state, for the whole system: an open
    /// `/dev/cpu_dma_latency`, in whole µs rounded down. Zero keeps them out of every idle state, which costs power and
    /// heat. The least value that any process requests holds. Nil requests nothing.
    ///
    /// It holds while a precise timer is due within a second, and no longer: one of an engine or loop in `.precise`, or one that
    /// asks for `.precise` itself. For a second at most after the last one is cancelled.
    public var wakeLatency: Duration?

    /// The same for `processors` alone, and for as long: `/sys/devices/system/cpu/cpu…/power/pm_qos_resume_latency_us`. It spares
    /// the power of the other processors. Takes `processors`, and the right to write these files, which root has.
    ///
    /// The least value of this process's threads holds, and of what stood in the file, which is written back. A process that
    /// is killed leaves its value there.
    public var processorWakeLatency: Duration?

    /// Whether the engine's deadlines wake a suspended system: `CLOCK_BOOTTIME_ALARM` of `timerfd_create(2)`. For a
    /// `BootTimeTimerEngine` alone, whose other timers fire when the system runs again.
    ///
    ///     var configuration = TimerEngine.Configuration()
    ///     configuration.realTime.wakesSystem = true
    ///     let alarms = try BootTimeTimerEngine(configuration)
    ///
    /// Takes CAP_WAKE_ALARM; refused with EPERM without, and with EINVAL to another engine or a loop: the timers then
    /// run on `CLOCK_BOOTTIME`, as they do from when the process has given the right up. A system whose clock chip cannot
    /// wake it sleeps on.
    public var wakesSystem = false

    /// Those for an ordinary process.
    public init() {}
}

/// The result of one of an engine's settings.
public struct SettingResult: Sendable, Hashable, CustomStringConvertible {
    /// Which one.
    public enum Setting: String, Sendable, Hashable, CaseIterable {
        /// `TimerEngine.Configuration.name`.
        case threadName
        /// `RealTimeSettings.timerSlack`.
        case timerSlack
        /// `RealTimeSettings.processors`.
        case processors
        /// `RealTimeSettings.schedulingClass`.
        case schedulingClass
        /// `RealTimeSettings.locksMemory`.
        case locksMemory
        /// `RealTimeSettings.wakeLatency`.
        case wakeLatency
        /// `RealTimeSettings.processorWakeLatency`.
        case processorWakeLatency
        /// `RealTimeSettings.wakesSystem`.
        case wakesSystem
    }

    /// The kernel's result.
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
        /// RealtimeKit on the system's bus, at that priority, which may be less than was asked for.
        case realtimeKit(priority: Int)
        /// The desktop portal on the session's bus, `org.freedesktop.portal.Realtime`.
        case portal(priority: Int)
    }

    /// The setting.
    public let setting: Setting
    /// Whether the setting holds.
    public let outcome: Outcome
    /// Who granted it; `kernel` for what was refused, too.
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
