#if os(Linux)
/// A timer on another clock than its owner's: calls a closure when that clock comes to a deadline, and the owner fires where
/// it always does.
///
/// On kernel time its engine is the process's shared one for that clock; on virtual time, where an engine has no thread, it has
/// an engine of its own.
///
/// Any thread. `set(deadline_ns:)` may be called with the lock of another engine or of a loop held: the lock of the clock's
/// engine comes after it, and no closure is called with that one held.
package final class ClockAlarm: @unchecked Sendable {
    // Sendable: `token` is written by `init` alone, before the timer has a deadline that another thread could act upon.

    /// The clock of its deadlines.
    package let time: TimeBase
    private let core: EngineCore
    /// The engine that ends with the alarm; nil where it is shared.
    private let owned: EngineCore?
    private var token = TimerToken.stale

    /// It has no deadline yet. `expired` is called on the engine's thread, without a lock, and not once the alarm is gone.
    package init(on time: TimeBase, _ expired: @escaping @Sendable (ClockAlarm) -> Void) {
        self.time = time
        owned = time.virtual == nil ? nil : Self.makeEngine(time)
        core = owned ?? Self.sharedEngine(time.clock).core
        var request = TimerRequest()
        request.isOwned = true
        token = core.schedule(.handler { [weak self] _ in if let self { expired(self) } }, request)
    }

    private static func sharedEngine(_ clock: TimerClock) -> AnyTimerEngine {
        switch clock {
        case .monotonic: TimerEngine.shared
        case .bootTime: BootTimeTimerEngine.shared
        case .wall: WallTimerEngine.shared
        }
    }

    private static func makeEngine(_ time: TimeBase) -> EngineCore {
        var configuration = TimerEngine.Configuration(time: time)
        configuration.clock = time.clock
        do {
            return try EngineCore(started: configuration)
        } catch {
            // As for the engines that a virtual time shares: a test that went on would wait for a call that never comes.
            fatalError("an alarm on the clock \(time.clock) of a virtual time \(error)")
        }
    }

    /// Whether it goes by that clock, of the kernel or of the same virtual time.
    package func isOn(_ time: TimeBase) -> Bool {
        self.time.clock == time.clock && self.time.isSame(as: time)
    }

    /// Moves the deadline; `Int64.max` disarms it.
    package func set(deadline_ns: Int64) {
        _ = core.arm(token, deadline_ns: deadline_ns)
    }

    /// For good. Without a lock. `expired` is not called any more, after a call that runs.
    package func cancel() {
        _ = core.cancel(token)
        owned?.shutdown()
    }

    deinit {
        cancel()
    }
}
#endif
