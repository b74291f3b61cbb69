// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CHRTimer
import HRTimerLibc

/// The settings of an engine's or loop's thread: which were granted, and what must be restored.
package struct AppliedSettings: ~Copyable {
    package private(set) var settingResults: [SettingResult] = []
    private var memoryLock: MemoryLock.Hold?
    /// Nil unless a bound was requested and granted.
    package private(set) var wakeLatency: WakeLatency?

    /// Applies the settings to the calling thread, which must be one of this library's. Tries only the requested ones; only
    /// these have a result.
    package init(_ settings: RealTimeSettings, threadName: String, _ waiter: Waiter? = nil) {
        unsafe threadName.withCString { unsafe hrt_thread_set_name($0) }
        note(.threadName) { () throws(TimerError) in }
        note(.timerSlack) { () throws(TimerError) in try Self.setTimerSlack(settings.timerSlack) }
        if let timeSlice = settings.timeSlice {
            note(.timeSlice) { () throws(TimerError) in try Self.setTimeSlice(timeSlice, resetsOnFork: true) }
        }
        if let processors = settings.processors {
            note(.processors) { () throws(TimerError) in try Self.setProcessors(processors) }
        }
        if let schedulingClass = settings.schedulingClass {
            var grantor = SettingResult.Grantor.kernel
            note(.schedulingClass) { () throws(TimerError) in grantor = try schedulingClass.applyToThread() }
            settingResults[settingResults.count - 1].grantor = grantor
        }
        if settings.locksMemory {
            memoryLock = note(.locksMemory) { () throws(TimerError) in try MemoryLock.hold() }
        }
        if settings.wakesSystem {
            note(.wakesSystem) { () throws(TimerError) in
                if let waiter { return try waiter.wakeSystem() }
                throw SettingRequest(operation: "wake the system in a loop (wakesSystem)", range: "an engine")
                    .refusal(EINVAL)
            }
        }
        let bounds = WakeLatency()
        if let latency = settings.wakeLatency {
            bounds.system = note(.wakeLatency) { () throws(TimerError) in try SystemWakeLatency(latency) }
        }
        if let latency = settings.processorWakeLatency {
            bounds.processors = note(.processorWakeLatency) { () throws(TimerError) in
                try ProcessorWakeLatency(latency, settings.processors)
            }
        }
        if !bounds.isEmpty { wakeLatency = bounds }
    }

    /// Restores the settings of the process and of the system. Those of the thread end with it.
    package consuming func giveBack() {
        memoryLock = nil
        wakeLatency?.hold(false)
    }

    @discardableResult
    private mutating func note<Held>(
        _ setting: SettingResult.Setting,
        _ apply: () throws(TimerError) -> Held
    ) -> Held? {
        do {
            let held = try apply()
            settingResults.append(SettingResult(setting: setting, outcome: .granted))
            return held
        } catch {
            settingResults.append(SettingResult(setting: setting, outcome: .refused(because: error)))
            return nil
        }
    }

    private static func setTimerSlack(_ slack: Duration) throws(TimerError) {
        let slack_ns = slack.nanosecondsRoundedUp
        let request = SettingRequest(operation: "set timerSlack to \(slack.inWords)", range: "1 ns or more")
        guard slack_ns > 0 else { throw request.refusal(EINVAL) }
        try request.check(hrt_thread_set_timer_slack_ns(UInt64(slack_ns)))
    }

    static func setTimeSlice(_ slice: Duration, resetsOnFork: Bool) throws(TimerError) {
        let request = SettingRequest(
            operation: "set timeSlice to \(slice.inWords)",
            rights: "a sandbox that allows sched_setattr",
            range: "100 µs ... 100 ms",
            kernel: "Linux 6.12 or newer"
        )
        let slice_ns = UInt64(max(0, slice.nanosecondsRoundedUp))
        try request.check(hrt_thread_set_slice_ns(slice_ns, resetsOnFork))
    }

    private static func setProcessors(_ processors: Set<Int>) throws(TimerError) {
        let sorted = processors.sorted()
        let request = SettingRequest(
            operation: "set processors to \(sorted)",
            range: "numbers of processors that the system has and the process may use"
        )
        // An invalid processor number must be refused, not left out.
        let numbers = sorted.map { UInt32(exactly: $0) ?? .max }
        try unsafe request.check(hrt_thread_set_processors(numbers, numbers.count))
    }
}

extension RealTimeSettings.SchedulingClass {
    /// The class, and what it takes: sched(7).
    private var request: SettingRequest {
        switch self {
        case .other(let nice):
            // RLIMIT_NICE counts from 1 for nice 19 to 40 for nice -20: getrlimit(2).
            SettingRequest(
                operation: "set schedulingClass to SCHED_OTHER at nice \(nice)",
                rights: "CAP_SYS_NICE or RLIMIT_NICE of \(20.subtractingReportingOverflow(nice).partialValue) or more",
                range: "-20 ... 19"
            )
        case .fifo(let priority): Self.request("SCHED_FIFO", priority)
        case .roundRobin(let priority): Self.request("SCHED_RR", priority)
        case .deadline(let runtime, let deadline, let period):
            SettingRequest(
                operation: "set schedulingClass to SCHED_DEADLINE, "
                    + "\(runtime.inWords) in \(deadline.inWords) of each \(period.inWords)",
                rights: "CAP_SYS_NICE, and a thread that may run on all processors",
                range: "runtime <= deadline <= period"
            )
        }
    }

    private static func request(_ name: String, _ priority: Int) -> SettingRequest {
        SettingRequest(
            operation: "set schedulingClass to \(name) at priority \(priority)",
            rights: "CAP_SYS_NICE or RLIMIT_RTPRIO of \(priority) or more",
            range: "1 ... 99"
        )
    }

    fileprivate func applyToThread() throws(TimerError) -> SettingResult.Grantor {
        var schedule = hrt_schedule()
        let request = request
        switch self {
        case .other(let nice):
            // The kernel would take the nearest nice value instead of refusing.
            guard (-20...19).contains(nice) else { throw request.refusal(EINVAL) }
            schedule.nice = Int32(nice)
        case .fifo(let priority):
            schedule.policy = UInt32(SCHED_FIFO)
            schedule.priority = UInt32(exactly: priority) ?? .max
        case .roundRobin(let priority):
            schedule.policy = UInt32(SCHED_RR)
            schedule.priority = UInt32(exactly: priority) ?? .max
        case .deadline(let runtime, let deadline, let period):
            schedule.policy = 6  // SCHED_DEADLINE, which not every libc names
            schedule.runtime_ns = UInt64(Swift.max(0, runtime.nanosecondsRoundedUp))
            schedule.deadline_ns = UInt64(Swift.max(0, deadline.nanosecondsRoundedUp))
            schedule.period_ns = UInt64(Swift.max(0, period.nanosecondsRoundedUp))
        }
        let status = unsafe hrt_thread_set_schedule(&schedule)
        if status == -EPERM, schedule.priority > 0 { return try askServices(schedule.priority, request) }
        try request.check(status)
        return .kernel
    }

    /// Asks RealtimeKit and the portal for a real-time class that the kernel refuses to a process without rights.
    private func askServices(
        _ priority: UInt32,
        _ request: SettingRequest
    ) throws(TimerError) -> SettingResult.Grantor {
        var answer = hrt_realtime_answer()
        let status = unsafe hrt_thread_ask_realtime(priority, &answer)
        // Safe: the bytes are looked at before the closure returns.
        let why = unsafe withUnsafeBytes(of: answer.why) { bytes in
            unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        try SettingRequest(operation: "\(request.operation); \(why)", rights: request.rights, range: request.range)
            .check(status)
        return answer.service == HRT_PORTAL
            ? .portal(priority: Int(answer.priority)) : .realtimeKit(priority: Int(answer.priority))
    }
}
#endif
