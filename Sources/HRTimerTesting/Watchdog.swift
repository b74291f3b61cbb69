import HRTimer

/// Looks at a conductor's thread from another one: blocked by a task, it cannot see for itself that its patience is over.
///
/// A quarter of its patience late at most. All virtual times of the process have one engine for that, on the kernel's time.
final class Watchdog: Sendable {
    private static let engine = Locked<TimerEngine?>(nil)

    private let engine: TimerEngine
    private let token: TimerToken

    /// Calls `giveUp` once, when the thread has been in the midst of one deed for longer than the conductor's patience. Throws
    /// EAGAIN if there is no room for a thread.
    init(_ conductor: Conductor, giveUp: @escaping @Sendable () -> Void) throws(TimerError) {
        engine = try Self.sharedEngine()
        let looks = Locked(Looks())
        let interval_ns = max(1_000_000, conductor.patience_ns / 4)
        let most = (conductor.patience_ns - 1) / interval_ns + 1
        let interval = Duration.nanoseconds(interval_ns)
        token = engine.schedule(after: interval, every: interval) { _ in
            let (deeds, isInDeed) = conductor.state.withLock { ($0.deeds, $0.deed != nil) }
            let isOver = looks.withLock { looks in
                if !isInDeed || deeds != looks.deeds { looks = Looks(deeds: deeds) }
                looks.count += 1
                // The first look at a deed may come right after its begin.
                return looks.count == most + 1
            }
            if isOver { giveUp() }
        }
    }

    /// Of how many looks in a row the conductor was in the midst of the same deed.
    private struct Looks: Sendable {
        var deeds = -1
        var count: Int64 = 0
    }

    deinit { cancel() }

    /// Idempotent.
    func cancel() { engine.cancel(token) }

    private static func sharedEngine() throws(TimerError) -> TimerEngine {
        if let engine = engine.withLock({ $0 }) { return engine }
        let made = try TimerEngine(.init(name: "hrtimer-watchdog", precision: .coalesced, time: .kernel))
        return engine.withLock { engine in
            let first = engine ?? made
            engine = first
            return first
        }
    }
}
