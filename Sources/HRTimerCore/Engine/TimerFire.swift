// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
/// One fire of a timer on the monotonic clock, as its handler sees it.
public typealias TimerFire = TimerEngine.Fire

extension ClockTimerEngine {
    /// One fire of a timer, as its handler sees it, with instants of the engine's own clock.
    public struct Fire: Sendable {
        // Numbers, so that fires of all clocks have one layout: code that does not know the clock passes them as they are.

        /// The timer that fired.
        public let token: TimerToken
        private let deadline_ns: Int64
        private let firedAt_ns: Int64
        /// How many nominal deadlines since the previous call had no call of their own; see `MissedTickPolicy`.
        public let missedTicks: Int

        package init(token: TimerToken, deadline_ns: Int64, firedAt_ns: Int64, missedTicks: Int) {
            self.token = token
            self.deadline_ns = deadline_ns
            self.firedAt_ns = firedAt_ns
            self.missedTicks = missedTicks
        }

        /// Creates a fire from one of the core, which knows no clocks: its numbers are on the engine's clock.
        package init(_ fire: TimerFire) {
            self.init(
                token: fire.token,
                deadline_ns: fire.deadline_ns,
                firedAt_ns: fire.firedAt_ns,
                missedTicks: fire.missedTicks
            )
        }

        /// The nominal deadline: of the ticks that had come since the call was armed, the first one's.
        ///
        /// Ticks that `.skip` and `.mergeToGrid` left out before it are counted in `missedTicks`, too.
        public var deadline: Instant { Instant(nanoseconds: deadline_ns) }

        /// The clock's reading right before the call; never earlier than `deadline`.
        public var firedAt: Instant { Instant(nanoseconds: firedAt_ns) }

        /// How late the fire was: `firedAt` minus `deadline`, never negative.
        ///
        /// For a timer that was armed after its deadline, that is more than the engine was late: `engine.lateness` counts such
        /// a fire from its arming.
        public var lateness: Duration { .nanoseconds(firedAt_ns) - .nanoseconds(deadline_ns) }
    }
}
#endif
