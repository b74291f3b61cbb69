#if os(Linux)
#if compiler(>=6.3)
import CHRTimer
@_spi(ExperimentalCustomExecutors) import _Concurrency
import HRTimer

/// One sleep that is not over.
struct Sleep: Sendable {
    /// Makes the sleeping task ready, and does nothing else.
    let job: UnownedJob
    /// The clock that must be read to know whether the sleep is over; nil if the sleep is on a clock of ours.
    var otherClock: SleepDeadline?
}

/// The sleeps on one clock, and the instant for which they set the shared alarm. Must be used with the lock of `Sleeps`
/// held.
struct SleepQueue: ~Copyable, Sendable {
    private let time: TimeBase
    private let sharedAlarm: SharedAlarm
    /// A single sleep, kept here and not in the core, whose memory is out of the cache after a sleep.
    private var only: (sleep: Sleep, deadline_ns: Int64, tolerance_ns: Int64)?
    private var core: FiringCore
    private var scheduled = 0
    /// The sleeps in the core, by the core's slots.
    private var sleeps = SlotArray<Sleep?> { nil }
    /// Whether the core may have memory to give back.
    private var isUntidy = false
    /// Whether `sleeps` is being trimmed, which follows the trimming of the core.
    private var isTrimmingSleeps = false
    /// The earliest wake-up, for which the shared alarm is set; `.max` for none.
    private var armedFor_ns = Int64.max
    /// The instant of the alarm: earlier than that wake-up by a lead.
    private var alarm_ns = Int64.max
    /// The time from setting the alarm to `armedFor_ns`; nil if its latency must not be recorded.
    private var length_ns: Int64?

    init(_ clock: TimerClock, _ precision: TimerPrecision, _ sharedAlarm: SharedAlarm) {
        time = TimeBase.kernel.on(clock)
        let coalesces = precision == .coalesced
        core = FiringCore(precision: coalesces ? .coalesced : .normal, now_ns: time.now_ns)
        self.sharedAlarm = sharedAlarm
    }

    /// The number of sleeps that are not over, including cancelled ones.
    var count: Int { scheduled + (only == nil ? 0 : 1) }

    mutating func add(_ sleep: Sleep, _ deadline_ns: Int64, tolerance_ns: Int64, _ lead: SleepLead?) {
        if count == 0 {
            only = (sleep, deadline_ns, tolerance_ns)
        } else {
            if let first = only.take() { schedule(first.sleep, first.deadline_ns, first.tolerance_ns) }
            schedule(sleep, deadline_ns, tolerance_ns)
        }
        let wake_ns = deadline_ns.addingSaturating(tolerance_ns)
        if wake_ns < armedFor_ns { set(wake_ns, time.now_ns, lead) }
    }

    private mutating func schedule(_ sleep: Sleep, _ deadline_ns: Int64, _ tolerance_ns: Int64) {
        let token = core.add(deadline_ns: deadline_ns, TimerOptions(tolerance_ns: tolerance_ns))
        sleeps.makeRoom(for: token.slot)
        sleeps[token.slot] = sleep
        scheduled += 1
    }

    /// A sleep, its clock and its deadline.
    typealias First = (sleep: Sleep, time: TimeBase, deadline_ns: Int64)

    /// The instant of an alarm that has passed, and how long before `armedFor_ns` the alarm had been set.
    struct PassedAlarm: Sendable {
        var at_ns: Int64
        var length_ns: Int64
    }

    /// The sleeps that a thread takes after the shared alarm has woken it.
    struct Taken: Sendable {
        /// The first sleep whose task may resume on this thread.
        var first: First?
        /// Set if the first deadline has not come yet. Then the thread waits for it, and records the latency of this alarm.
        var passed: PassedAlarm?
        var isEarly: Bool { passed != nil }
        /// To be ended one after the other: before `first` if its task resumes on this thread, otherwise after `first`.
        var others: [Sleep] = []
        /// More sleeps are due than one thread should end before it resumes a task.
        var hasMore = false
        var wantsTidying = false
    }

    /// Takes the sleeps that are due, and sets the shared alarm for the next one unless more are due. `maySpin` is true if
    /// the thread may wait for the deadline of a sleep for which it was woken early.
    mutating func take(_ taken: inout Taken, atMost most: Int, _ lead: SleepLead?, maySpin: Bool) {
        guard armedFor_ns < .max else { return }
        let now_ns = time.now_ns
        let passed = now_ns >= alarm_ns ? length_ns.take().map { PassedAlarm(at_ns: alarm_ns, length_ns: $0) } : nil
        if maySpin, taken.first == nil, now_ns < armedFor_ns, let passed, let due = next(armedFor_ns) {
            if due.sleep.otherClock == nil, due.deadline_ns > now_ns {
                taken.first = (due.sleep, time, due.deadline_ns)
                taken.passed = passed
                lead?.countWait(due.deadline_ns - now_ns)
            } else {
                taken.others.append(due.sleep)
            }
        }
        if let passed, !taken.isEarly { lead?.record(now_ns - passed.at_ns, ofSleep: passed.length_ns) }
        while taken.others.count < most, let due = next(now_ns) {
            if taken.first == nil, taken.others.isEmpty, due.sleep.otherClock == nil {
                taken.first = (due.sleep, time, due.deadline_ns)
            } else {
                taken.others.append(due.sleep)
            }
        }
        if !taken.isEarly, hasDue(now_ns) {
            taken.hasMore = true
        } else {
            // If this thread spins, another one takes all later sleeps.
            setForNext(now_ns, lead)
        }
        taken.wantsTidying = taken.wantsTidying || isUntidy
    }

    private mutating func hasDue(_ now_ns: Int64) -> Bool {
        if let only { return only.deadline_ns <= now_ns }
        return scheduled > 0 && core.hasDue(at: now_ns)
    }

    private mutating func next(_ limit_ns: Int64) -> (sleep: Sleep, deadline_ns: Int64)? {
        if let only {
            if only.deadline_ns > limit_ns { return nil }
            self.only = nil
            return (only.sleep, only.deadline_ns)
        }
        while scheduled > 0 {
            switch core.next(upTo: limit_ns) {
            case .none: return nil
            case .more: continue
            case .expired(let entry):
                let sleep = sleeps[entry.token.slot].take()
                core.remove(entry.token)
                scheduled -= 1
                isUntidy = true
                if let sleep { return (sleep, entry.place_ns) }
            }
        }
        return nil
    }

    /// Sets the shared alarm for the next wake-up, unless it is set for that already.
    private mutating func setForNext(_ now_ns: Int64, _ lead: SleepLead?) {
        let next_ns = nextWake_ns()
        if next_ns == armedFor_ns, alarm_ns > now_ns { return }
        // The alarm has passed already, early or for another sleep: it is set for the deadline itself.
        let lead = next_ns == armedFor_ns ? nil : lead
        if next_ns == .max {
            if alarm_ns > now_ns { sharedAlarm.set(time.clock, .max) }
            armedFor_ns = .max
            alarm_ns = .max
        } else {
            set(next_ns, now_ns, lead)
        }
    }

    private mutating func nextWake_ns() -> Int64 {
        if let only { return only.deadline_ns.addingSaturating(only.tolerance_ns) }
        if scheduled == 0 { return .max }
        // A crowd is normalized in several steps. Until that is done the alarm may come too early; then the next step
        // follows.
        var pieces = 16
        while pieces > 0, core.normalize() { pieces -= 1 }
        return core.nextPark.until_ns
    }

    private mutating func set(_ armedFor_ns: Int64, _ now_ns: Int64, _ lead: SleepLead?) {
        let length_ns = armedFor_ns.subtractingSaturating(now_ns)
        self.armedFor_ns = armedFor_ns
        alarm_ns = armedFor_ns - (length_ns > 0 ? lead?.ns(length_ns) ?? 0 : 0)
        self.length_ns = alarm_ns > now_ns ? length_ns : nil
        // Under the lock, so that the alarm is set to the earliest instant if several threads come here at once.
        sharedAlarm.set(time.clock, alarm_ns)
    }

    /// Gives memory back after a crowd of sleeps, a bounded part of the work per call. Returns true if there is more to do.
    mutating func tidy() -> Bool {
        if isTrimmingSleeps {
            isTrimmingSleeps = sleeps.trim { $0 == nil }
            return true
        }
        isUntidy = core.wantsTrim
        if isUntidy { isTrimmingSleeps = !core.trim() }
        return isUntidy
    }
}
#endif
#endif
