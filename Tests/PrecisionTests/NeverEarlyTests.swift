// SPDX-License-Identifier: Apache-2.0
import CHRTimer
import CTestSupport
import HRTimer
import TestSupport
import Testing

/// On the real clocks no fire is early and none is lost. Some thousand fires, or HRTIMER_REAL_FIRES of them, are spread over
/// every way of waiting, clock and precision; `make never-early` has 100,000. Each test has a process of its own.
@Suite(.serialized) struct RealNeverEarlyTests {
    private static let fires = environment("HRTIMER_REAL_FIRES").flatMap { Int($0) } ?? 4000

    @Test("With every park strategy, clock and precision no fire is early, and none is lost", .timeLimit(.minutes(15)))
    func quiet() async {
        await #expect(processExitsWith: .success) {
            let signals = try RealRun.all(fires: Self.fires, isStormy: false)
            #expect(signals == 0)
        }
    }

    @Test("No fire is early or lost while 5,000 signals a second interrupt every wait", .timeLimit(.minutes(15)))
    func stormy() async {
        await #expect(processExitsWith: .success) {
            let signals = try RealRun.all(fires: Self.fires, isStormy: true)
            #expect(signals > 0)
        }
    }
}

private enum RealRun {
    /// Runs all combinations. Returns how many signals came.
    static func all(fires: Int, isStormy: Bool) throws -> UInt64 {
        let pairs = WayOnClock.available
        let share = fires / (pairs.count * TimerPrecision.allCases.count) + 1
        var signals: UInt64 = 0
        for pair in pairs {
            for precision in TimerPrecision.allCases {
                signals += try one(pair, precision, fires: share, isStormy: isStormy)
            }
        }
        return signals
    }

    private struct State: Sendable {
        var fires = 0
        var early = 0
        var wrong = 0
        var random: SeededRandom
        var deadlines_ns: [Int64]
        var tokens: [TimerToken] = []
        var storm: ctest_storm?
    }

    private static func one(
        _ pair: WayOnClock,
        _ precision: TimerPrecision,
        fires: Int,
        isStormy: Bool
    ) throws -> UInt64 {
        var configuration = TimerEngine.Configuration(parkStrategy: pair.way, precision: precision)
        configuration.clock = pair.clock
        let core = try EngineCore(configuration)
        try core.start()
        let timers = 16
        let flock = Flock(core, pair.clock, timers: timers, fires: fires)
        if isStormy { try flock.beginStorm() }
        flock.begin()
        while !flock.isDone { pause(.milliseconds(1)) }
        let signals = flock.endStorm()
        core.shutdown()
        let (early, wrong, counted) = flock.account
        #expect(early == 0 && wrong == 0, "\(pair), \(precision): \(early) early, \(wrong) not as armed")
        #expect(core.statistics.fires >= UInt64(counted))
        return signals
    }

    /// Timers that rearm themselves when they fire, all of them until there were enough fires. If one is lost, `isDone` never
    /// becomes true.
    private final class Flock: Sendable {
        private let core: EngineCore
        private let clock: TimerClock
        private let timers: Int
        private let fires: Int
        private let state: Locked<State>

        init(_ core: EngineCore, _ clock: TimerClock, timers: Int, fires: Int) {
            (self.core, self.clock, self.timers, self.fires) = (core, clock, timers, fires)
            let none = [Int64](repeating: .max, count: timers)
            state = Locked(State(random: SeededRandom(seed: 1), deadlines_ns: none))
        }

        /// Begins the signals on the engine's thread.
        func beginStorm() throws {
            let begun = Recorder<(status: Int32, storm: ctest_storm)>()
            _ = core.runSoon {
                var storm = ctest_storm()
                let status = ctest_storm_begin(200, &storm)
                begun.append((status, storm))
            }
            while begun.count == 0 { pause(.milliseconds(1)) }
            try check(begun.all[0].status, "send signals to a thread")
            state.withLock { $0.storm = begun.all[0].storm }
        }

        func endStorm() -> UInt64 {
            state.withLock { $0.storm }.map(ctest_storm_end) ?? 0
        }

        func begin() {
            for index in 0..<timers {
                var request = TimerRequest()
                request.isOwned = true
                let token = core.schedule(.handler { [self] fire in note(index, fire) }, request)
                state.withLock { $0.tokens.append(token) }
            }
            for index in 0..<timers { arm(index) }
        }

        private func note(_ index: Int, _ fire: TimerFire) {
            // Reads the clock itself, rather than trust the engine's reading.
            let now_ns = hrt_clock_now_ns(clock.c)
            let isDone = state.withLock { state in
                let deadline_ns = state.deadlines_ns[index]
                state.fires += 1
                if now_ns < deadline_ns || fire.firedAt < fire.deadline { state.early += 1 }
                if fire.deadline.nanoseconds != deadline_ns { state.wrong += 1 }
                state.deadlines_ns[index] = .max
                return state.fires > fires - timers
            }
            if !isDone { arm(index) }
        }

        private func arm(_ index: Int) {
            let (token, deadline_ns, tolerance_ns) = state.withLock { state in
                let delay_ns = Int64.random(in: 0...800_000, using: &state.random)
                state.deadlines_ns[index] = hrt_clock_now_ns(clock.c) + delay_ns
                let tolerance_ns = Int64.random(in: 0...100_000, using: &state.random)
                return (state.tokens[index], state.deadlines_ns[index], tolerance_ns)
            }
            // Only such an engine has tolerances. An engine that has ended has no timers any more.
            if core.precision == .coalesced {
                core.state.withLock { state in
                    if state.isLive(token) { state.setOptions(TimerOptions(tolerance_ns: tolerance_ns), for: token) }
                }
            }
            _ = core.arm(token, deadline_ns: deadline_ns)
        }

        /// Whether every timer has fired for the last time.
        var isDone: Bool { state.withLock { state in state.deadlines_ns.allSatisfy { $0 == .max } } }
        var account: (early: Int, wrong: Int, fires: Int) { state.withLock { ($0.early, $0.wrong, $0.fires) } }
    }
}

/// Blocks the test's own thread.
func pause(_ duration: Duration) {
    blockThread(until: MonotonicInstant.now.advanced(by: duration).nanoseconds)
}
