// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import HRTimerLibc

/// A mistake in the use of this library that would otherwise go unnoticed, for example a timer that can never fire or a thread
/// that ends at once.
///
/// Mistakes are reported in debug builds only.
///
/// Each kind is written to standard error once. Tests and programs that want every report set `handler`:
///
///     UsageWarning.handler = { mistake in fatalError("\(mistake)") }
public struct UsageWarning: Sendable, Hashable, CustomStringConvertible {
    /// The kinds of mistakes.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// A timer has been due for a second, and its loop is not run, neither by `TimerLoop.run()` and similar methods nor
        /// by a host.
        case loopNotRun
        /// A thread has ended whose loop had timers but was never run.
        case threadEnded
        /// The last reference to a `LoopThread` was released while its loop had timers: the thread has ended, and so have
        /// its timers.
        case threadNotKept
        /// A loop was asked to run in `.common`, which is not a mode to run in.
        ///
        /// `CFRunLoopRunInMode` warns of this, too.
        case ranInCommonModes
        /// A thread tried to run the loop of another thread.
        case ranOnOtherThread
        /// A timer was added to a second loop, which has no effect.
        case timerInTwoLoops
        /// An invalid timer was added to a loop, which has no effect.
        case invalidTimerAdded
        /// `LatencyHistogram.quantile(_:)` was called with a value above 1, which was perhaps meant as per cent.
        case quantileAboveOne
        /// A handler took longer than 50 ms on a shared engine, and delayed all other timers on it.
        case slowHandlerOnSharedEngine
        /// `.precise` was requested on a clock with coarse ticks, where it counts as `.normal`.
        ///
        /// Reported once.
        case coarseClock
        /// The last reference to a `TimerSource` was released while it was active and would have fired: it has stopped.
        case activeSourceDropped
        /// A loop of another thread than the main one calls a handler of the main actor, by a task.
        ///
        /// In modules compiled with `-default-isolation MainActor`, closures and methods belong to the main actor without
        /// saying so.
        case mainActorHandlerElsewhere
        /// The search for the next date of a calendar's rule took too much processor time and was given up: its timer or its
        /// ticks have ended.
        case dateSearchGivenUp
        /// The last reference to an engine was released while it had timers that were due later: the engine has ended, and
        /// so have they.
        case engineNotKept
        /// The last reference to a `Debouncer` or a `Throttle` was released while an element waited: it was dropped.
        case waitingElementDropped
        /// A timer was added to a loop that has ended, where it can never fire.
        case timerInEndedLoop
        /// A length of time or a date is NaN, where a timer or a setting takes one.
        case notANumber
        /// Something in Swift's runtime on which a part of this library relies, without a promise, is missing or does something
        /// else.
        ///
        /// That part does without it, which the description explains.
        case runtimeDiffers
    }

    /// The kind of mistake.
    public let kind: Kind
    /// One sentence that describes the mistake and its remedy.
    public let description: String

    package init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }

    /// The function that receives usage warnings.
    ///
    /// If it is nil, the default, each kind is written to standard error once. It is called on the thread that noticed the
    /// mistake, with no lock held. Release builds report nothing. Any thread.
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

    /// Whether the library looks for mistakes: only in debug builds, since the checks take time.
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
            _ = unsafe write(STDERR_FILENO, line, line.count)
        }
    }

    /// A handler that takes this long is slow: longer than other timers can tolerate, and than a busy machine usually keeps
    /// a thread from running.
    private static let slow_ns: Int64 = 50_000_000

    /// Reports a handler that took too long. Called after each handler on the shared engine `name`.
    static func reportIfSlow(_ taken_ns: Int64, onSharedEngine name: String) {
        if taken_ns < slow_ns { return }
        report(
            UsageWarning(
                .slowHandlerOnSharedEngine,
                "a handler took \(Duration.nanoseconds(taken_ns).inWords) on the shared engine \(name), and all others waited: "
                    + "give it a queue, or an engine of its own"
            )
        )
    }

    /// Reports that the last reference to an engine has gone, and with it that many timers.
    static func reportNotKept(_ engine: String, _ timers: Int) {
        report(
            UsageWarning(
                .engineNotKept,
                "the last reference to the engine \(engine) is gone, and with it \(counted(timers, "timer")): keep the engine as long as "
                    + "they are to fire, or shutdown() it first; TimerEngine.shared needs no reference"
            )
        )
    }

    /// A NaN for `what`, mostly the quotient of two zeros. What it counts as is said where it is taken.
    package static func notANumber(_ what: String) -> UsageWarning {
        UsageWarning(
            .notANumber,
            "\(what) is NaN: a LoopTimer of NaN is invalid, and most others take it for zero, or a date for now; is it 0 / 0?"
        )
    }

    static func quantileAboveOne(_ fraction: Double) -> UsageWarning {
        UsageWarning(
            .quantileAboveOne,
            "quantile(\(fraction)) takes 0 ... 1, the part of all values: 0.99, not 99"
        )
    }
}
#endif
