// SPDX-License-Identifier: Apache-2.0
import HRTimerTesting
import TestSupport
import Testing

@testable import HRTimerCore

/// Jitter and phase of repeating timers, tested on an engine, and as a function against a model that counts tick by tick.
@Suite struct JitterTests {
    let time = ManualTime()
    let engine: TimerEngine
    let start: MonotonicInstant
    let fires = Recorder<TimerFire>()

    init() throws {
        engine = try TimerEngine(.init(time: time.base))
        start = time.now
    }

    @discardableResult
    private func every(
        _ interval: Duration,
        _ jitter: Jitter?,
        phase: TimerPhase = .given,
        policy: MissedTickPolicy = .merge
    ) -> TimerToken {
        engine.schedule(after: interval, every: interval, policy: policy, jitter: jitter, phase: phase) { [fires] in
            fires.append($0)
        }
    }

    /// Returns how long after its nominal deadline each fire came.
    private func delays(_ interval: Duration) -> [Duration] {
        fires.all.enumerated().map { (start + interval * ($0 + 1)).duration(to: $1.deadline) }
    }

    @Test("Each call comes less than the bound after its nominal deadline, and before the next nominal one")
    func bounds() {
        every(.seconds(1), .upTo(.milliseconds(250)))
        time.advance(by: .seconds(10_000) + .milliseconds(500))
        let delays = delays(.seconds(1))
        #expect(delays.count == 10_000)
        #expect(delays.allSatisfy { $0 >= .zero && $0 < .milliseconds(250) })
        #expect(fires.all.allSatisfy { $0.lateness == .zero && $0.missedTicks == 0 })
        #expect(engine.lateness.max == .zero)
        #expect(Set(delays).count > 9_900)
    }

    @Test("Jitter is uniform: each tenth of the bound gets a tenth of 10^4 calls, within five standard deviations")
    func uniform() {
        every(.seconds(1), .full)
        time.advance(by: .seconds(10_001))
        var counts = [Int](repeating: 0, count: 10)
        for delay in delays(.seconds(1)) { counts[Int(delay / .milliseconds(100))] += 1 }
        #expect(counts.allSatisfy { abs($0 - 1000) < 150 })
    }

    @Test("A jitter bound beyond the interval counts as the interval, and a negative or NaN one as none")
    func clamped() {
        for (jitter, most) in [
            (Jitter.upTo(.seconds(5)), Duration.seconds(1)), (.share(7), .seconds(1)),
            (.share(0.5), .milliseconds(500)),
            (.upTo(.seconds(-1)), .nanoseconds(1)), (.share(-.infinity), .nanoseconds(1)),
            (.share(.nan), .nanoseconds(1)),
            (.upTo(Double.nan), .nanoseconds(1)), (.upTo(.infinity), .seconds(1)),
        ] {
            fires.removeAll()
            let from = time.now
            let token = every(.seconds(1), jitter)
            time.advance(by: .seconds(200) + .milliseconds(999))
            engine.cancel(token)
            #expect(fires.count >= 199)
            for (index, fire) in fires.all.enumerated() {
                let delay = (from + .seconds(index + 1)).duration(to: fire.deadline)
                #expect(delay >= .zero && delay < most)
            }
        }
    }

    @Test("A seed gives the same jitter each time; without one, each timer on virtual time has its own seed")
    func seeds() throws {
        func deadlines(_ jitter: Jitter?) throws -> [MonotonicInstant] {
            let time = ManualTime()
            let engine = try TimerEngine(.init(time: time.base))
            let fires = Recorder<MonotonicInstant>()
            for _ in 0..<2 {
                engine.schedule(after: 1, every: .seconds(1), jitter: jitter) { fires.append($0.deadline) }
            }
            time.advance(by: .seconds(20))
            return fires.all
        }
        let full = Jitter.share(1, seed: 7)
        #expect(try deadlines(full) == deadlines(full))
        #expect(try deadlines(full) != deadlines(.share(1, seed: 8)))
        // Two timers with the same seed and grid have the same deadlines.
        #expect(try Set(deadlines(full)).count * 2 == deadlines(full).count)
        #expect(try deadlines(.full) == deadlines(.full))
        #expect(try Set(deadlines(.full)).count == deadlines(.full).count)
    }

    @Test("A random phase spreads a thousand timers of one period over it, and each keeps its phase")
    func thousand() {
        for _ in 0..<1000 { every(.seconds(60), nil, phase: .random) }
        time.advance(by: .seconds(180))
        var tenths = [Int](repeating: 0, count: 10)
        var busiest: [MonotonicInstant: Int] = [:]
        for fire in fires.all where fire.deadline < start + .seconds(120) {
            tenths[Int((start + .seconds(60)).duration(to: fire.deadline) / .seconds(6))] += 1
            busiest[fire.deadline, default: 0] += 1
        }
        #expect(tenths.reduce(0, +) == 1000)
        #expect(tenths.allSatisfy { $0 > 60 && $0 < 140 })
        #expect(busiest.values.max() == 1)
        // Each keeps its phase.
        var fired: [TimerToken: [MonotonicInstant]] = [:]
        for fire in fires.all { fired[fire.token, default: []].append(fire.deadline) }
        for deadlines in fired.values {
            for (one, next) in zip(deadlines, deadlines.dropFirst()) { #expect(one.duration(to: next) == .seconds(60)) }
        }
    }

    @Test("Jitter keeps a thousand timers of one period from firing in the same second")
    func apart() {
        for _ in 0..<1000 { every(.seconds(60), .full) }
        time.advance(by: .seconds(181))
        var counts: [Int64: Int] = [:]
        for fire in fires.all { counts[fire.deadline.nanoseconds / 1_000_000_000, default: 0] += 1 }
        // Without jitter, all 1000 come in one second of sixty.
        #expect(counts.values.max() ?? .max < 50)
    }

    @Test("A seeded phase is the same each time, and never before the given deadline; a one-shot timer has none")
    func phases() throws {
        func first(_ phase: TimerPhase, every interval: Duration? = .seconds(60)) throws -> Duration {
            let time = ManualTime()
            let engine = try TimerEngine(.init(time: time.base))
            let given = time.now + .seconds(5)
            let token = engine.schedule(at: given, every: interval, jitter: interval == nil ? .full : nil, phase: phase)
            {
                _ in
            }
            return given.duration(to: engine.deadline(of: token) ?? .distantPast)
        }
        #expect(try first(.given) == .zero)
        #expect(try first(.seeded(1)) == first(.seeded(1)))
        #expect(try first(.seeded(1)) != first(.seeded(2)))
        for seed in 0..<100 as Range<UInt64> {
            let first = try first(.seeded(seed))
            #expect(first >= .zero && first < .seconds(60))
        }
        #expect(try first(.random, every: nil) == .zero)
    }

    @Test(
        "A moved timer keeps its jitter, fitted to a new interval; a cancelled timer leaves no jitter behind"
    )
    func moved() {
        let token = every(.seconds(60), .share(0.5))
        let moved = start + .seconds(1000)
        engine.reschedule(token, at: moved)
        let first = moved.duration(to: engine.deadline(of: token) ?? .distantPast)
        #expect(first > .zero && first < .seconds(30))
        engine.reschedule(token, at: moved, every: .seconds(2))
        let second = moved.duration(to: engine.deadline(of: token) ?? .distantPast)
        #expect(second > .zero && second < .seconds(1))
        time.advance(to: moved + .seconds(100))
        #expect(fires.count == 50 || fires.count == 51)
        for (index, fire) in fires.all.enumerated() {
            let delay = (moved + .seconds(2 * index)).duration(to: fire.deadline)
            #expect(delay >= .zero && delay < .seconds(1))
        }
        engine.cancel(token)
        let once = every(.seconds(1), .full)
        engine.reschedule(once, at: time.now, every: nil)
        time.advance(by: .seconds(1))
        #expect(engine.liveTimers == 0)
        // The next timer in that slot has no jitter.
        let plain = engine.schedule(after: 1, every: .seconds(1)) { _ in }
        #expect(engine.deadline(of: plain) == time.now + .seconds(1))
    }

    @Test("A jittered call that is withdrawn during its spin comes at its own deadline, and the grid goes on")
    func withdrawn() throws {
        let engine = try TimerEngine(.init(precision: .precise, time: time.base))
        let fires = Recorder<MonotonicInstant>()
        let token = engine.schedule(after: 1, every: .seconds(1), jitter: .share(0.5, seed: 3)) {
            fires.append($0.deadline)
        }
        let twin = try TimerEngine(.init(time: time.base))
        let wanted = Recorder<MonotonicInstant>()
        twin.schedule(after: 1, every: .seconds(1), jitter: .share(0.5, seed: 3)) { wanted.append($0.deadline) }
        let deadline = try #require(engine.deadline(of: token))
        time.advance(to: deadline - .microseconds(10))
        // Arming an earlier timer withdraws the prepared callback.
        engine.schedule(at: deadline - .microseconds(5)) { _ in }
        time.advance(by: .seconds(20))
        #expect(fires.all == wanted.all && fires.count > 18)
    }

    @Test(
        "Under each policy a tick whose jittered deadline has not come does not count as missed",
        arguments: MissedTickPolicy.allCases
    )
    func model(_ policy: MissedTickPolicy) {
        var random = SeededRandom.fromEnvironment()
        for _ in 0..<200 {
            let interval_ns = Int64.random(in: 2...50, using: &random)
            let recurrence = Recurrence(every: .nanoseconds(interval_ns), policy: policy)
            let jitter = TickJitter(.share(.random(in: 0...1, using: &random)), random: random.next())
            var schedule = TimerSchedule(recurrence, GridPosition(deadline_ns: 1000))
            schedule.jitter = jitter
            var model = JitterModel(recurrence: recurrence, jitter: jitter)
            var now_ns: Int64 = 900
            for _ in 0..<50 {
                #expect(schedule.deadline_ns == model.deadline_ns)
                now_ns = max(now_ns, schedule.deadline_ns) + Int64.random(in: 0...3 * interval_ns, using: &random)
                let unreported = schedule.position.unreported
                switch schedule.begin(now_ns: now_ns) {
                case .leftOut(let missed):
                    #expect(model.begin(now_ns) == nil)
                    #expect(model.unreported == unreported + missed)
                case .call(let missed, let following):
                    #expect(model.begin(now_ns) == missed)
                    now_ns += Int64.random(in: 0...2 * interval_ns, using: &random)
                    schedule.end(following, now_ns: now_ns)
                    model.end(now_ns)
                }
                #expect(schedule.position.unreported == model.unreported)
            }
        }
    }
}

/// A model of jittered ticks that counts them one by one.
private struct JitterModel {
    let recurrence: Recurrence
    let jitter: TickJitter
    var nominal_ns: Int64 = 1000
    var unreported = 0

    private func due_ns(_ nominal_ns: Int64) -> Int64 {
        jitter.deadline_ns(nominal_ns, recurrence)
    }

    var deadline_ns: Int64 { due_ns(nominal_ns) }
    private var interval_ns: Int64 { recurrence.interval.whole_ns }
    private var policy: MissedTickPolicy { recurrence.policy }

    private mutating func pass(_ now_ns: Int64) -> Int {
        var passed = 0
        while due_ns(nominal_ns) <= now_ns {
            nominal_ns += interval_ns
            passed += 1
        }
        return passed
    }

    mutating func begin(_ now_ns: Int64) -> Int? {
        let before = unreported
        unreported = 0
        switch policy {
        case .delay: return before
        case .burst:
            nominal_ns += interval_ns
            return before
        case .merge, .mergeToGrid: return before + pass(now_ns) - 1
        case .skip:
            let passed = pass(now_ns)
            if passed == 1 { return before }
            unreported = before + passed
            return nil
        }
    }

    mutating func end(_ now_ns: Int64) {
        if policy == .delay { nominal_ns = now_ns + interval_ns }
        if policy == .mergeToGrid { unreported += pass(now_ns) }
    }
}
