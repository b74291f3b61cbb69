// SPDX-License-Identifier: Apache-2.0
import HRTimerCore
import HRTimerTesting
import TestSupport
import Testing

/// No fire is early and none is lost, at scale, on frozen time: 20,000 fires, or HRTIMER_FIRES; `make never-early` has 10^7.
@Suite struct NeverEarlyTests {
    @Test("Random timers on three clocks, amid wall-clock steps and suspensions, are never early, lost or late")
    func random() throws {
        var random = SeededRandom.fromEnvironment()
        let fires = environment("HRTIMER_FIRES").flatMap { Int($0) } ?? 20_000
        let time = ManualTime()
        let flocks = try TimerClock.allCases.flatMap { clock in
            try TimerPrecision.allCases.map { precision in
                try Flock(clock, precision, time, seed: random.next(), share: fires / 9 + 1)
            }
        }
        while flocks.contains(where: { !$0.hasEnough }) {
            switch Int.random(in: 0..<100, using: &random) {
            case 0:
                time.setWall(to: time.wallNow.advanced(by: .microseconds(Int.random(in: -5000...5000, using: &random))))
            case 1: time.suspendSystem(for: .microseconds(Int.random(in: 0...5000, using: &random)))
            default: time.advance(by: .microseconds(Int.random(in: 0...1000, using: &random)))
            }
            for flock in flocks { flock.checkPending() }
        }
        for flock in flocks {
            #expect(flock.account == Flock.Account(fires: flock.account.fires), "\(flock.clock), \(flock.precision)")
            flock.end()
        }
        #expect(flocks.reduce(0) { $0 + $1.account.fires } >= fires)
    }
}

/// The timers of one engine, each of which re-arms itself when it fires, and a record of what they saw.
private final class Flock: Sendable {
    struct Account: Equatable {
        var fires = 0
        /// Fires before the deadline.
        var early = 0
        /// Fires after the deadline, or after the end of its window, on the monotonic clock, which nobody sets.
        var late = 0
        /// Fires for another deadline than the one armed last, or for one deadline twice.
        var wrong = 0
        /// Timers that were still pending after their deadline or window had passed.
        var lost = 0
    }

    private struct State: Sendable {
        var account = Account()
        var random: SeededRandom
        var tokens: [TimerToken] = []
        /// By timer; `.max` while the timer is not armed.
        var deadlines_ns: [Int64]
        var tolerances_ns: [Int64]
    }

    private static let timers = 30

    let clock: TimerClock
    let precision: TimerPrecision
    private let share: Int
    private let core: EngineCore
    private let state: Locked<State>

    init(_ clock: TimerClock, _ precision: TimerPrecision, _ time: ManualTime, seed: UInt64, share: Int) throws {
        (self.clock, self.precision, self.share) = (clock, precision, share)
        var configuration = TimerEngine.Configuration(precision: precision, time: time.base)
        configuration.clock = clock
        core = try EngineCore(configuration)
        let none = [Int64](repeating: .max, count: Self.timers)
        state = Locked(State(random: SeededRandom(seed: seed), deadlines_ns: none, tolerances_ns: none))
        try core.start()
        for index in 0..<Self.timers {
            var request = TimerRequest()
            request.isOwned = true
            let token = core.schedule(.handler { [unowned self] fire in note(index, fire) }, request)
            state.withLock { $0.tokens.append(token) }
            arm(index)
        }
    }

    private func note(_ index: Int, _ fire: TimerFire) {
        let isDone = state.withLock { state in
            let deadline_ns = state.deadlines_ns[index]
            state.account.fires += 1
            if fire.deadline.nanoseconds != deadline_ns { state.account.wrong += 1 }
            if core.time.now_ns < deadline_ns || fire.firedAt < fire.deadline { state.account.early += 1 }
            let isSteady = clock == .monotonic
            let latest_ns = deadline_ns + (precision == .coalesced ? state.tolerances_ns[index] : 0)
            if isSteady, core.time.now_ns > latest_ns { state.account.late += 1 }
            state.deadlines_ns[index] = .max
            return state.account.fires >= share
        }
        if !isDone { arm(index) }
    }

    private func arm(_ index: Int) {
        let (token, deadline_ns, tolerance_ns) = state.withLock { state in
            let spans: [Int64] = [1, 1000, 100_000, 3_000_000]
            let delay_ns = Int64.random(
                in: 0...spans[Int.random(in: 0..<4, using: &state.random)],
                using: &state.random
            )
            state.deadlines_ns[index] = core.time.now_ns + delay_ns
            state.tolerances_ns[index] = Int64.random(in: 0...50_000, using: &state.random)
            return (state.tokens[index], state.deadlines_ns[index], state.tolerances_ns[index])
        }
        // Only such an engine has tolerances. An engine that has ended has no timers any more.
        if core.precision == .coalesced {
            core.state.withLock { state in
                if state.isLive(token) { state.setOptions(TimerOptions(tolerance_ns: tolerance_ns), for: token) }
            }
        }
        _ = core.arm(token, deadline_ns: deadline_ns)
    }

    var hasEnough: Bool { state.withLock { $0.account.fires >= share } }
    var account: Account { state.withLock { $0.account } }

    /// Counts as lost each timer that is still pending although its deadline, or the end of its window, has come.
    func checkPending() {
        let now_ns = core.time.now_ns
        state.withLock { state in
            for index in 0..<Self.timers where state.deadlines_ns[index] < .max {
                let latest_ns = state.deadlines_ns[index] + (precision == .coalesced ? state.tolerances_ns[index] : 0)
                if latest_ns <= now_ns { state.account.lost += 1 }
            }
        }
    }

    func end() { core.shutdown() }
}
