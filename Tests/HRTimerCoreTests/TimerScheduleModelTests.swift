import CHRTimer
import HRTimerCore
import TestSupport
import Testing

/// Random operations against a sorted array that is obviously right.
@Suite struct TimerScheduleModelTests {
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
        var timers = TimerSchedule(precision: .normal)
        var model = Model()
        var live: [TimerToken] = []
        var stale: [TimerToken] = []
        var now_ns: Int64 = 0
        for _ in 0..<20_000 {
            switch Int.random(in: 0..<10, using: &random) {
            case 0...2:
                let token = timers.add()
                live.append(token)
                let deadline_ns = now_ns + Int64.random(in: -10...1000, using: &random)
                let isLive = timers.isLive(token)
                #expect(isLive)
                timers.arm(token, deadline_ns)
                model.arm(token, deadline_ns)
            case 3...5:
                guard let token = live.randomElement(using: &random) else { continue }
                let deadline_ns = now_ns + Int64.random(in: -10...1000, using: &random)
                let isLive = timers.isLive(token)
                #expect(isLive)
                timers.arm(token, deadline_ns)
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
                let next_ns = timers.exactWake().at_ns
                #expect(next_ns == model.armed.map(\.deadline_ns).min() ?? .max)
            }
            let count = timers.count
            #expect(count == live.count)
        }
    }

    private func taken(_ timers: inout TimerSchedule, _ now_ns: Int64) -> [TimerToken] {
        var all: [TimerToken] = []
        timers.beginTurn()
        while true {
            switch timers.next(now_ns: now_ns) {
            case .due(let due):
                #expect(due.deadline_ns <= now_ns)
                all.append(timers.token(due))
                timers.endCall(timers.token(due))
            case .more: continue
            case .none: return all
            }
        }
    }

    @Test("What was put off has its turn, though a timer arms itself for each instant that comes")
    func putOffIsNotStarved() {
        var timers = TimerSchedule(precision: .normal)
        let restless = timers.add(deadline_ns: 10)
        var late: TimerToken?
        var called: [TimerToken] = []
        timers.beginTurn()
        for now_ns: Int64 in 10..<20 {
            switch timers.next(now_ns: now_ns) {
            case .due(let due):
                let token = timers.token(due)
                called.append(token)
                timers.endCall(token)
                if token == restless { timers.arm(restless, now_ns + 1) }
            case .more: continue
            case .none: timers.beginTurn()
            }
            // For an instant that the turn has passed.
            if late == nil { late = timers.add(deadline_ns: 5) }
        }
        #expect(called.dropFirst(2).prefix(2).contains { $0 == late })
        #expect(called.count { $0 == restless } >= 4)
    }

    @Test("The end makes every token stale and leaves nothing armed")
    func end() {
        var timers = TimerSchedule(precision: .normal)
        let tokens = (0..<1000).map { timers.add(deadline_ns: Int64($0)) }
        timers.end()
        let live = tokens.count { timers.isLive($0) }
        let left = (count: timers.count, next_ns: timers.nextWake.at_ns)
        #expect(live == 0 && left == (0, .max))
    }
}
