// SPDX-License-Identifier: Apache-2.0
import HRTimer
import HRTimerCore
import HRTimerTesting
import Seeded
import TestSupport
import Testing

/// Tests of lateness at scale, on frozen time: 20,000 fires, or as many as HRTIMER_FIRES says; `make lateness` has 10^6.
@Suite struct LatenessModelTests {
    @Test("Every late fire is reported once, its parts add up to what its handler saw, and nothing is unexplained")
    func addsUp() throws {
        let fires = environment("HRTIMER_FIRES").flatMap { Int($0) } ?? 20_000
        let time = ManualTime()
        let engine = try TimerEngine(.init(time: time.base))
        let play = Play(SeededRandom.fromEnvironment())
        let bound: Duration = .microseconds(50)
        engine.onLate(beyond: bound) { play.check($0) }
        for number in 0..<8 as Range<Int64> {
            engine.schedule(after: .milliseconds(1), every: .microseconds(700 + 130 * number)) { fire in
                play.called(fire, bound)
                if let slow = play.slowness() { time.advance(by: slow) }
            }
        }
        while play.fires < fires { time.advance(by: .milliseconds(50)) }
        #expect(play.late > fires / 20)
        #expect(play.wrong == [])
        #expect(engine.statistics.lateness.lateFires == UInt64(play.late))
        #expect(engine.statistics.lateness.byCause.keys.sorted { $0.rawValue < $1.rawValue } == [.handlerBefore])
    }

    private final class Play: Sendable {
        private struct State: Sendable {
            var random: SeededRandom
            var fires = 0
            var late = 0
            var expected: (token: TimerToken, deadline: MonotonicInstant, lateness: Duration)?
            var wrong: [String] = []
        }

        private let state: Locked<State>

        init(_ random: SeededRandom) { state = Locked(State(random: random)) }

        var fires: Int { state.withLock { $0.fires } }
        var late: Int { state.withLock { $0.late } }
        var wrong: [String] { state.withLock { Array($0.wrong.prefix(3)) } }

        func slowness() -> Duration? {
            state.withLock { state in
                guard Int.random(in: 0..<20, using: &state.random) == 0 else { return nil }
                return .microseconds(Int.random(in: 1...900, using: &state.random))
            }
        }

        func called(_ fire: TimerFire, _ bound: Duration) {
            state.withLock { state in
                if let missing = state.expected { state.wrong.append("no report of \(missing)") }
                state.fires += 1
                state.expected = fire.lateness > bound ? (fire.token, fire.deadline, fire.lateness) : nil
            }
        }

        func check(_ report: LatenessReport) {
            state.withLock { state in
                state.late += 1
                let sum = report.byCause.values.reduce(Duration.zero, +)
                let expected = state.expected.take()
                guard let expected, report.timer == expected.token, report.deadline == expected.deadline,
                    report.lateness == expected.lateness, sum == expected.lateness
                else { return state.wrong.append("\(report), not \(String(describing: expected))") }
            }
        }
    }
}
