// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing

@testable import HRTimerCore

/// Random operations on a core, compared with a sorted array that is obviously right. HRTIMER_MODEL_OPERATIONS sets how many,
/// HRTIMER_SEED which.
@Suite struct FiringOrderModelTests {
    private static let operations = environment("HRTIMER_MODEL_OPERATIONS").flatMap { Int($0) } ?? 20_000
    /// The model searches from end to end.
    private static let mostTimers = 5000

    private struct Model {
        var armed: [(deadline_ns: Int64, armedAs: Int, token: TimerToken)] = []
        var armings = 0

        mutating func disarm(_ token: TimerToken) -> Bool {
            guard let index = armed.firstIndex(where: { $0.token == token }) else { return false }
            armed.remove(at: index)
            return true
        }

        mutating func arm(_ token: TimerToken, _ deadline_ns: Int64) {
            _ = disarm(token)
            armed.append((deadline_ns, armings, token))
            armings += 1
        }

        mutating func takeDue(_ now_ns: Int64) -> [TimerToken] {
            armed.sort { ($0.deadline_ns, $0.armedAs) < ($1.deadline_ns, $1.armedAs) }
            let due = armed.prefix { $0.deadline_ns <= now_ns }.map(\.token)
            armed.removeFirst(due.count)
            return due
        }
    }

    @Test("Arm, move, disarm, remove and take agree with a sorted array")
    func agreesWithModel() {
        var random = SeededRandom.fromEnvironment()
        var timers = FiringCore(precision: .normal)
        var model = Model()
        var live: [TimerToken] = []
        var stale: [TimerToken] = []
        var now_ns: Int64 = 0
        for _ in 0..<Self.operations {
            switch Int.random(in: 0..<10, using: &random) {
            case 0...2 where live.count < Self.mostTimers:
                let token = timers.add(deadline_ns: .max)
                live.append(token)
                let deadline_ns = now_ns + Int64.random(in: -10...1000, using: &random)
                let isLive = timers.isLive(token)
                #expect(isLive)
                timers.place(token, deadline_ns)
                model.arm(token, deadline_ns)
            case 3...5:
                guard let token = live.randomElement(using: &random) else { continue }
                let deadline_ns = now_ns + Int64.random(in: -10...1000, using: &random)
                let isLive = timers.isLive(token)
                #expect(isLive)
                timers.place(token, deadline_ns)
                model.arm(token, deadline_ns)
            case 6:
                guard let token = live.randomElement(using: &random) else { continue }
                let wasArmed = timers.isArmed(token)
                timers.disarm(token)
                let isArmed = timers.isArmed(token)
                #expect(!isArmed)
                #expect(wasArmed == model.disarm(token))
            case 7:
                guard let index = live.indices.randomElement(using: &random) else { continue }
                let token = live.remove(at: index)
                let wasLive = timers.remove(token)
                #expect(wasLive)
                _ = model.disarm(token)
                stale.append(token)
            case 8:
                guard let token = stale.randomElement(using: &random) else { continue }
                let wasLive = timers.remove(token)
                #expect(!wasLive)
                let isLive = timers.isLive(token) || timers.isArmed(token)
                #expect(!isLive)
            default:
                now_ns += Int64.random(in: 0...300, using: &random)
                let expected = model.takeDue(now_ns)
                let taken = taken(&timers, now_ns)
                #expect(taken == expected)
                let next_ns = timers.exactPark().until_ns
                #expect(next_ns == model.armed.map(\.deadline_ns).min() ?? .max)
            }
            let count = timers.count
            #expect(count == live.count)
        }
    }

    private func taken(_ timers: inout FiringCore, _ now_ns: Int64) -> [TimerToken] {
        var all: [TimerToken] = []
        while true {
            switch timers.next(upTo: now_ns) {
            case .expired(let entry):
                #expect(entry.place_ns <= now_ns)
                all.append(entry.token)
            case .more: continue
            case .none: return all
            }
        }
    }

    @Test("A timer armed for the past is called although another timer re-arms itself for each next instant")
    func pastIsNotStarved() {
        var timers = FiringCore(precision: .normal)
        func add(_ deadline_ns: Int64) -> TimerToken {
            var request = TimerRequest()
            request.deadline_ns = deadline_ns
            request.isOwned = true
            return timers.add(.handler { _ in }, request)
        }
        let restless = add(10)
        var late: TimerToken?
        var called: [TimerToken] = []
        var fire = Fire()
        for now_ns: Int64 in 10..<20 {
            guard case .fire = timers.poll(now_ns, horizon_ns: .min, limit_ns: .max, &fire) else { continue }
            called.append(fire.token)
            if fire.token == restless { timers.place(restless, now_ns + 1) }
            // Armed for an instant that the thread has already passed.
            if late == nil { late = add(5) }
            if timers.finish(&fire, now_ns, wasCalled: true) { fire.letGo() }
        }
        #expect(called.prefix(2).contains { $0 == late })
        #expect(called.count { $0 == restless } >= 4)
    }

    @Test("Ending a core makes every token stale and leaves nothing armed")
    func end() {
        var timers = FiringCore(precision: .normal)
        let tokens = (0..<1000).map { timers.add(deadline_ns: Int64($0)) }
        _ = timers.end()
        let live = tokens.count { timers.isLive($0) }
        let left = (count: timers.count, next_ns: timers.nextPark.until_ns)
        #expect(live == 0 && left == (0, .max))
    }
}
