#if os(Linux)
import HRTimerLibc

/// A mistake that would otherwise be silent: a timer that can never fire, a thread that ends at once. Reported in debug
/// builds alone.
///
/// Each kind is written to standard error once. Tests and programs that want all of them set `handler`:
///
///     UsageWarning.handler = { mistake in fatalError("\(mistake)") }
public struct UsageWarning: Sendable, Hashable, CustomStringConvertible {
    /// What went wrong.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// A timer has been due for a second, and no thread has run its loop: by `TimerLoop.run()` and the like, or a
        /// host.
        case loopNotRun
        /// A thread has ended whose loop had timers and was never run.
        case threadEnded
        /// The last reference to a `LoopThread` went while its loop had timers: the thread has ended, and its timers
        /// with it.
        case threadNotKept
        /// A loop was to run in `.common`, which is not a mode to run in: `CFRunLoopRunInMode` warns of it, too.
        case ranInCommonModes
        /// A thread tried to run the loop of another thread.
        case ranOnOtherThread
        /// A timer was added to a second loop, which has no effect.
        case timerInTwoLoops
        /// An invalid timer was added to a loop, which has no effect.
        case invalidTimerAdded
        /// `LatencyHistogram.quantile(_:)` was given more than 1, perhaps per cents.
        case quantileAboveOne
        /// A handler took longer than 50 ms on a shared engine, and delayed all other timers on it.
        case slowHandlerOnSharedEngine
        /// `.precise` on a clock with coarse ticks, where it counts as `.normal`: reported once.
        case coarseClock
        /// The last reference to a `TimerSource` went that was active and would have fired: it has stopped.
        case activeSourceDropped
        /// A loop that is not the main thread's calls a handler of the main actor's, by a task: in modules of
        /// `-default-isolation MainActor` closures and methods belong to the main actor without saying so. Reported once.
        case mainActorHandlerElsewhere
    }

    /// Which mistake.
    public let kind: Kind
    /// One sentence, with the remedy.
    public let description: String

    package init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }

    /// Called on the thread that noticed the mistake, with no lock held. If it is nil, the default, each kind is
    /// written to standard error once. Release builds report nothing. Any thread.
    public static var handler: (@Sendable (UsageWarning) -> Void)? {
        get { listener.withLock { $0.handler } }
        set {
            let former = listener.withLock { listener in
                defer { listener.handler = newValue }
                return listener.handler
            }
            withExtendedLifetime(former) {}
        }
    }

    private struct Listener: Sendable {
        var handler: (@Sendable (UsageWarning) -> Void)?
        var told: Set<Kind> = []
    }

    private static let listener = Locked(Listener())

    /// Whether mistakes are looked for: checks that take time are made in debug builds alone.
    package static var isLookedFor: Bool {
        #if DEBUG
        true
        #else
        false
        #endif
    }

    package static func report(_ mistake: @autoclosure () -> UsageWarning) {
        guard isLookedFor else { return }
        let mistake = mistake()
        let (handler, isNew) = listener.withLock {
            ($0.handler, $0.handler == nil && $0.told.insert(mistake.kind).inserted)
        }
        if let handler {
            handler(mistake)
        } else if isNew {
            let line = Array("HRTimer: \(mistake)\n".utf8)
            _ = write(STDERR_FILENO, line, line.count)
        }
    }

    /// Longer than other timers can tolerate, and than a busy machine mostly keeps a thread from running.
    private static let slow_ns: Int64 = 50_000_000

    /// Called after a handler on an engine of that name.
    static func reportIfSlow(_ taken_ns: Int64, onSharedEngine name: String) {
        if taken_ns < slow_ns { return }
        report(
            UsageWarning(
                .slowHandlerOnSharedEngine,
                "a handler took \(Duration.nanoseconds(taken_ns)) on the shared engine \(name), and all others waited: "
                    + "give it a queue, or an engine of its own"
            )
        )
    }

    static func quantileAboveOne(_ fraction: Double) -> UsageWarning {
        UsageWarning(
            .quantileAboveOne,
            "quantile(\(fraction)) takes 0 ... 1, the part of all values; for per cents there is percentile(_:)"
        )
    }
}
#endif
