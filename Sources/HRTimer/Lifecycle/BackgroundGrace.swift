// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CHRLoop
public import HRTimerCore
import HRTimerLibc

/// Time to clean up between the shell's Ctrl-Z and the stop of the process: the `beginBackgroundTask` of apps, for SIGTSTP.
///
///     let grace = try BackgroundGrace(duration: .seconds(5), loop: .main) { session in
///         save { session.finish() }
///     } expiration: {
///         giveUpSaving()
///     } foreground: { away in
///         redraw(after: away)
///     }
///
/// SIGTSTP calls `background`, and the process goes on. The process stops when `finish()` is called; when the duration is
/// over, after a call of `expiration`; or at a second SIGTSTP, which counts as the end of the duration. It stops by SIGSTOP,
/// which cannot be blocked, so that the shell sees it stopped as usual. SIGCONT calls `foreground`; during the grace it also
/// ends the session, and the process does not stop.
///
/// All calls come on the loop's thread, in the common modes, with no lock held. A handler of an actor, as a closure in code of
/// the main actor is, runs on that actor; for the main actor that is the thread of `TimerLoop.main`. While the loop does not
/// run, or a handler blocks it, SIGTSTP waits. The grace keeps the loop running.
///
/// It replaces the process's handlers for SIGTSTP and SIGCONT, and restores them when it is invalidated or its last reference
/// goes: keep it. If the thread that makes it blocks these signals, as in children of Foundation's `Process`, extra threads
/// receive them meanwhile; no mask is changed. `sigaction(2)`, `raise(3)`, `pthread_sigmask(3)`.
public final class BackgroundGrace: Sendable {
    /// One time in the background: from SIGTSTP until the process stops, or until SIGCONT.
    public struct Session: Sendable {
        fileprivate let core: Core
        fileprivate let number: Int

        /// Stops the process in the loop's next pass, for when nothing is left to do.
        ///
        /// Does nothing once the session is over. Any thread.
        public func finish() {
            core.finish(number)
        }

        /// The time until the process is stopped; zero once the session is over.
        ///
        /// Any thread.
        public var remaining: Duration { core.remaining(number) }
    }

    let core: Core
    private let sources: Locked<[LoopSource]>

    /// Begins a grace at every SIGTSTP from now on.
    ///
    /// With a duration of zero or less the process stops in the next pass.
    ///
    /// Throws EBUSY if a `LoopSource.signal(_:handler:)` for SIGTSTP or SIGCONT exists already, EMFILE, and EAGAIN if the
    /// signals are blocked and no thread can be made.
    public convenience init(
        duration: some TimeSpan,
        loop: TimerLoop,
        @_inheritActorContext background: @escaping @isolated(any) @Sendable (Session) -> Void,
        @_inheritActorContext expiration: @escaping @isolated(any) @Sendable () -> Void = {},
        @_inheritActorContext foreground: @escaping @isolated(any) @Sendable (_ away: Duration) -> Void = { _ in }
    ) throws(TimerError) {
        let core = Core(
            duration: duration.asDuration ?? .zero,
            loop: loop,
            stop: Self.stopProcess,
            background: onItsActor(background),
            expiration: onItsActor(expiration),
            foreground: onItsActor(foreground)
        )
        let suspend = try LoopSource.signal(SIGTSTP) { _, _ in core.suspend() }
        let resume = try LoopSource.signal(SIGCONT) { _, _ in core.resume() }
        for source in [suspend, resume] { try loop.add(source, forMode: .common) }
        self.init(core, [suspend, resume])
    }

    init(_ core: Core, _ sources: [LoopSource]) {
        self.core = core
        self.sources = Locked(sources)
    }

    deinit {
        invalidate()
    }

    /// Ends the grace and restores the handlers of SIGTSTP and SIGCONT.
    ///
    /// A session that goes on is over then, without stopping the process. Idempotent. Any thread.
    public func invalidate() {
        // These are the last references: with them the signals are released.
        let sources = sources.withLock { sources in
            defer { sources = [] }
            return sources
        }
        for source in sources { source.invalidate() }
        core.end()
    }

    /// Stops the process. Returns after SIGCONT, with the time stopped by CLOCK_BOOTTIME, which counts a suspended system
    /// too.
    @Sendable
    private static func stopProcess() -> Duration {
        let before_ns = hrt_clock_now_ns(HRT_CLOCK_BOOT)
        // Drops earlier SIGTSTPs, which this stop answers; later ones begin another session.
        _ = hrt_signal_take(SIGTSTP)
        // The SIGCONT that ended the stop is not reported to the loop: it must not end a session that a Ctrl-Z right
        // after it begins.
        hrt_signal_stop_process()
        return .nanoseconds(hrt_clock_now_ns(HRT_CLOCK_BOOT) - before_ns)
    }
}

extension BackgroundGrace {
    /// The part that the signals' handlers hold, so that they do not hold the grace itself.
    final class Core: Sendable {
        private let duration: Duration
        private weak let loop: TimerLoop?
        private let stop: @Sendable () -> Duration
        private let background: @Sendable (Session) -> Void
        private let expiration: @Sendable () -> Void
        private let foreground: @Sendable (Duration) -> Void
        private let state = Locked(State())

        private struct State: Sendable {
            /// The number of the current session, or of the last one.
            var number = 0
            /// The timer that ends the session; nil outside of one.
            var timer: LoopTimer?
        }

        /// `stop` stops the process, and returns how long it was stopped.
        init(
            duration: Duration,
            loop: TimerLoop,
            stop: @escaping @Sendable () -> Duration,
            background: @escaping @Sendable (Session) -> Void,
            expiration: @escaping @Sendable () -> Void,
            foreground: @escaping @Sendable (Duration) -> Void
        ) {
            self.duration = duration
            self.loop = loop
            self.stop = stop
            self.background = background
            self.expiration = expiration
            self.foreground = foreground
        }

        /// Handles SIGTSTP, on the loop's thread: begins a session, or ends the duration of the current one.
        func suspend() {
            if let timer = state.withLock({ $0.timer }) {
                timer.fire()
                return
            }
            let timer = LoopTimer(timeInterval: duration, repeats: false) { [weak self] timer in self?.expire(timer) }
            let number = state.withLock { state in
                state.number += 1
                state.timer = timer
                return state.number
            }
            loop?.add(timer, forMode: .common)
            background(Session(core: self, number: number))
        }

        /// Handles SIGCONT, on the loop's thread. After a stop the session is over already.
        func resume() {
            if endSession({ _, _ in true }) { foreground(.zero) }
        }

        func finish(_ number: Int) {
            loop?.perform(inModes: [.common]) { [weak self] in
                guard let self, endSession({ $1 == number }) else { return }
                foreground(stop())
            }
        }

        func remaining(_ number: Int) -> Duration {
            guard let loop, let timer = state.withLock({ $0.number == number ? $0.timer : nil }) else { return .zero }
            return max(.zero, loop.now.duration(to: timer.fireInstant))
        }

        func end() {
            _ = endSession { _, _ in true }
        }

        private func expire(_ timer: LoopTimer) {
            guard endSession({ present, _ in present === timer }) else { return }
            expiration()
            foreground(stop())
        }

        /// Ends the session that `isMeant` accepts. Returns false if there is no session, or another one.
        private func endSession(_ isMeant: (LoopTimer, Int) -> Bool) -> Bool {
            let timer = state.withLock { state -> LoopTimer? in
                guard let timer = state.timer, isMeant(timer, state.number) else { return nil }
                return state.timer.take()
            }
            timer?.invalidate()
            return timer != nil
        }
    }
}
#endif
