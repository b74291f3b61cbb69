// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
extension AnyTimerEngine {
    /// The configuration from which an engine is made.
    public struct Configuration: Sendable {
        /// Name of the thread, for debuggers and `top -H`; at most 15 bytes are kept.
        public var name: String
        /// How the thread waits. The default is the futex; on the boot-time clock, which futex(2) does not support, it is
        /// the timerfd.
        package var parkStrategy: ParkStrategy {
            get { chosenWay ?? (clock == .bootTime ? .timerfd : .futex) }
            set { chosenWay = newValue }
        }
        private var chosenWay: ParkStrategy?
        /// How exact the engine's timers are, unless a timer requests more.
        public var precision: TimerPrecision
        /// The processor time that may be spent on spinning up to precise deadlines, as a share of one core: 0 ... 1, clamped;
        /// NaN counts as 0.
        ///
        /// The share is kept over every second within 10 %. After a sleep, a fire may be expected to spin at most this share of
        /// the sleep; its only other limits are `spinCoverage` and 250 µs. If the budget does not suffice, all spin windows
        /// shrink, down to those that cost nothing.
        ///
        /// Nil, the default: the engine shares 0.0125 with all engines and loops of the process that have no budget of their
        /// own. That is 12.5 µs a fire of a 1 kHz timer, if it is the only one, and at 60 Hz more than a fire can use.
        public var spinBudget: Double?
        /// The part of all wake-ups that a precise engine is to be early enough for, where the budget suffices: 0.01 ... 0.999,
        /// clamped; 0.99 by default.
        ///
        /// A wake-up beyond that part is late by as much as it exceeds the spin window.
        ///
        /// Wake-ups that are late by far more than the others are not covered, unless that is worth it: at 0.99, to cover
        /// one fire of a hundred more may cost every fire 4 µs of spinning, and at 0.999, to cover one of a thousand more
        /// may. In a real-time class 0.999 and a budget of 0.5 are worth a try; `engine.lateness` shows the effect.
        public var spinCoverage = SpinWindow.defaultCoverage
        /// The settings that the engine requests of the kernel for its thread; `TimerEngine.settingResults` has the results.
        public var realTime: RealTimeSettings
        /// The watch that is called for late fires.
        package var latenessWatch: LatenessWatch?
        /// The source of the engine's time.
        public var time: TimeBase
        /// Set by the engine, whose type has the clock.
        package var clock = TimerClock.monotonic
        /// The budget that this engine has in common with others, in place of one by `spinBudget`; nil for none.
        package var commonSpinBudget: SpinBudget?
        /// Whether the engine serves the whole process, as `shared` does.
        package var isShared = false
        /// See `EngineCore.defersMoves`; nil counts as true.
        package var defersMoves: Bool?

        /// Creates a configuration.
        ///
        /// The defaults are right for an ordinary process.
        public init(
            name: String = "hrtimer",
            precision: TimerPrecision = .normal,
            realTime: RealTimeSettings = .init(),
            time: TimeBase = .current
        ) {
            self.name = name
            self.precision = precision
            self.realTime = realTime
            self.time = time
        }

        /// Creates a configuration of an engine that waits in that way, to compare the ways.
        package init(
            name: String = "hrtimer",
            parkStrategy: ParkStrategy,
            precision: TimerPrecision = .normal,
            realTime: RealTimeSettings = .init(),
            time: TimeBase = .current
        ) {
            self.init(name: name, precision: precision, realTime: realTime, time: time)
            self.parkStrategy = parkStrategy
        }
    }

    /// A watch that calls a handler for every fire that is late by more than a bound, because a handler before it took too
    /// long or the machine stalled. Lateness counts up to the call, from the deadline, or from the arming of the timer if
    /// that was later: a source that was suspended on purpose is not late.
    package struct LatenessWatch: Sendable {
        /// The lateness above which a fire is reported.
        public var bound: Duration
        /// Called on the engine's thread, before the late timer's own handler. For a `TimerSource` it is called right after
        /// the source's handler, or after the call was submitted to the source's queue. Called also for a tick that `.skip` leaves
        /// out, with the number of those that were left out.
        public var handler: @Sendable (TimerFire) -> Void

        /// Creates a watch for fires that are late by more than `bound`.
        public init(bound: Duration, handler: @escaping @Sendable (TimerFire) -> Void) {
            self.bound = bound
            self.handler = handler
        }
    }
}

extension AnyTimerEngine.Configuration {
    /// Returns the configuration for an engine that the whole process shares.
    static func shared(_ configuration: Self) -> Self {
        var configuration = configuration
        configuration.isShared = true
        return configuration
    }
}
#endif
