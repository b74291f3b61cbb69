import HRTimerCore

/// What rings for a source whose deadlines are on another clock than its engine's: a timer on that clock's engine, which has
/// the source fire where it always does.
///
/// Set with the lock of the source's engine held: that of the clock's engine comes after it, and is never held the other way
/// round. Any thread.
final class SourceAlarm: Sendable {
    /// The clock that it goes by.
    let time: TimeBase
    private let core: EngineCore
    /// On virtual time the engine is the alarm's own; otherwise that of all who need the clock.
    private let owned: EngineCore?
    private let token = Locked(TimerToken.stale)

    /// Nil where no engine on that clock can be had: the source then has no deadline.
    init?(_ source: SourceCore, _ time: TimeBase) {
        self.time = time
        if time.virtual == nil {
            core = time.clock == .wall ? WallTimerEngine.shared.core : BootTimeTimerEngine.shared.core
            owned = nil
        } else {
            var configuration = TimerEngine.Configuration(time: time)
            configuration.clock = time.clock
            // On virtual time nothing is asked of the kernel.
            guard let made = try? EngineCore(configuration), (try? made.start()) != nil else { return nil }
            core = made
            owned = made
        }
        var request = TimerRequest()
        request.isOwned = true
        let made = core.schedule(.handler { [weak self, weak source] _ in if let self { source?.hasRung(self) } }, request)
        token.withLock { $0 = made }
    }

    /// `Int64.max` for not at all.
    func set(_ deadline_ns: Int64) {
        _ = core.arm(token.withLock { $0 }, deadline_ns: deadline_ns)
    }

    /// Without a lock.
    func end() {
        _ = core.cancel(token.withLock { $0 })
        owned?.shutdown()
    }
}
