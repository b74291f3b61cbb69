#if os(Linux)
import CHRTimer
import CRealtimeKit
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
        threadName.withCString { hrt_thread_set_name($0) }
        note(.threadName) { () throws(TimerError) in }
        note(.timerSlack) { () throws(TimerError) in try Self.setTimerSlack(settings.timerSlack) }
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
                throw TimerError(
                    operation: "wake the system in a loop (wakesSystem takes an engine)",
                    errorNumber: EINVAL
                )
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
        let operation = "set timerSlack to \(slack) (takes 1 ns or more)"
        guard slack_ns > 0 else { throw TimerError(operation: operation, errorNumber: EINVAL) }
        try check(hrt_thread_set_timer_slack_ns(UInt64(slack_ns)), operation)
    }

    private static func setProcessors(_ processors: Set<Int>) throws(TimerError) {
        let sorted = processors.sorted()
        // An invalid processor number must be refused, not left out.
        let numbers = sorted.map { UInt32(exactly: $0) ?? .max }
        try check(hrt_thread_set_processors(numbers, numbers.count), "set processors to \(sorted)")
    }
}

extension RealTimeSettings.SchedulingClass {
    fileprivate func applyToThread() throws(TimerError) -> SettingResult.Grantor {
        var schedule = hrt_schedule()
        let operation: String
        switch self {
        case .other(let nice):
            operation = "set schedulingClass to SCHED_OTHER at nice \(nice) (takes -20 ... 19)"
            // The kernel would take the nearest nice value instead of refusing.
            guard (-20...19).contains(nice) else { throw TimerError(operation: operation, errorNumber: EINVAL) }
            schedule.nice = Int32(nice)
        case .fifo(let priority):
            operation = "set schedulingClass to SCHED_FIFO at priority \(priority) (takes 1 ... 99)"
            schedule.policy = UInt32(SCHED_FIFO)
            schedule.priority = UInt32(exactly: priority) ?? .max
        case .roundRobin(let priority):
            operation = "set schedulingClass to SCHED_RR at priority \(priority) (takes 1 ... 99)"
            schedule.policy = UInt32(SCHED_RR)
            schedule.priority = UInt32(exactly: priority) ?? .max
        case .deadline(let runtime, let deadline, let period):
            operation =
                "set schedulingClass to SCHED_DEADLINE, \(runtime) in \(deadline) of each \(period) "
                + "(takes runtime <= deadline <= period)"
            schedule.policy = 6  // SCHED_DEADLINE, which not every libc names
            schedule.runtime_ns = UInt64(Swift.max(0, runtime.nanosecondsRoundedUp))
            schedule.deadline_ns = UInt64(Swift.max(0, deadline.nanosecondsRoundedUp))
            schedule.period_ns = UInt64(Swift.max(0, period.nanosecondsRoundedUp))
        }
        let status = hrt_thread_set_schedule(&schedule)
        if status == -EPERM, schedule.priority > 0 { return try askServices(schedule.priority, operation) }
        try check(status, operation)
        return .kernel
    }

    /// Asks RealtimeKit and the portal for a real-time class that the kernel refuses to a process without rights.
    private func askServices(_ priority: UInt32, _ operation: String) throws(TimerError) -> SettingResult.Grantor {
        var answer = crk_answer()
        let status = crk_make_thread_realtime(priority, &answer)
        let why = withUnsafeBytes(of: answer.why) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        try check(status, "\(operation); \(why)")
        return answer.service == CRK_PORTAL
            ? .portal(priority: Int(answer.priority)) : .realtimeKit(priority: Int(answer.priority))
    }
}
#endif
