#if os(Linux)
import HRTimerCore

/// What a source on the engine's thread with an event handler alone has nothing of. Apart, so that such a source takes 136 bytes
/// where it took 352: servers have them by the hundred thousand (`bench ops memory`).
struct SourceExtras {
    /// What is freed when the source has ended.
    struct Owned {
        var registration: Callback?
        var cancel: Callback?
        /// Where the handlers belong; nil for the engine's thread.
        var target: SourceCore.Target?
        /// Whose handler the event handler is, if it is an actor's.
        var actor: (any Actor)?
        /// Submits a call to the target, and from there to the actor.
        var submit: Callback?
        /// Expires at a deadline on another clock than the engine's; nil on the engine's own.
        var alarm: ClockAlarm?
    }

    var owned = Owned()
    /// For a queue, if the source or its engine is precise; nil otherwise.
    var lead: SourceLead?
    /// Nil unless somebody asked for it.
    var account: SourceAccount?
    /// Who watches its late calls; nil if nobody does.
    var lateHandlers: LateHandlers?
    /// What is known of the call in flight, if its engine is watched.
    var submitted: SubmittedCall?
    /// What the source was given, with a seed, and what it has while it repeats.
    var givenJitter: Jitter?
    var jitter: TickJitter?
    /// The deadline after that of the call in flight, if the engine's timer is armed for it already; `Int64.max` if not.
    var expected_ns = Int64.max
}

extension SourceCore.State {
    /// Made when the first of it is set.
    mutating func makeExtras() -> UnsafeMutablePointer<SourceExtras> {
        if let extras { return extras }
        let made = UnsafeMutablePointer<SourceExtras>.allocate(capacity: 1)
        made.initialize(to: SourceExtras())
        extras = made
        return made
    }

    /// Without the lock, which nobody needs any more.
    mutating func freeExtras() {
        guard let extras = extras.take() else { return }
        extras.deinitialize(count: 1)
        extras.deallocate()
    }

    /// Decides about the tick that has come; see `Recurrence.begin`.
    @inline(__always)
    func beginTick(_ now_ns: Int64, _ record: UnsafeMutablePointer<TimerRecord>) -> Int? {
        guard let extras, extras.pointee.jitter != nil else {
            return record.pointee.recurrence.begin(&record.pointee.position, now_ns: now_ns)
        }
        return record.pointee.recurrence.begin(&record.pointee.position, now_ns: now_ns, &extras.pointee.jitter)
    }

    func endTick(_ now_ns: Int64, _ record: UnsafeMutablePointer<TimerRecord>) {
        guard let extras, extras.pointee.jitter != nil else {
            return record.pointee.recurrence.end(&record.pointee.position, now_ns: now_ns)
        }
        record.pointee.recurrence.end(&record.pointee.position, now_ns: now_ns, &extras.pointee.jitter)
    }

    /// The ticks go back to where they were before a call that was withdrawn.
    func restoreTicks(_ before: BeforeCall, _ record: UnsafeMutablePointer<TimerRecord>) {
        record.pointee.position = before.ticks
        extras?.pointee.jitter?.delay_ns = before.delay_ns
    }

    /// The present deadline is a nominal one, of a new grid: adds its jitter.
    func placeJitter(_ record: UnsafeMutablePointer<TimerRecord>) {
        guard let extras else { return }
        extras.pointee.jitter = nil
        guard let given = extras.pointee.givenJitter, record.pointee.recurrence.repeats else { return }
        extras.pointee.jitter = TickJitter(given, for: record.pointee.recurrence, random: 0)
        extras.pointee.jitter?.place(&record.pointee.position)
    }

    var target: SourceCore.Target? { extras?.pointee.owned.target }
    var actor: (any Actor)? { extras?.pointee.owned.actor }
    var submit: Callback? { extras?.pointee.owned.submit }
    var alarm: ClockAlarm? { extras?.pointee.owned.alarm }
    var account: SourceAccount? { extras?.pointee.account }
    var lateHandlers: LateHandlers? { extras?.pointee.lateHandlers }
    var hasLead: Bool { extras?.pointee.lead != nil }
    var hasRegistration: Bool { extras?.pointee.owned.registration != nil }
    var hasCancelHandler: Bool { extras?.pointee.owned.cancel != nil }
}
#endif
