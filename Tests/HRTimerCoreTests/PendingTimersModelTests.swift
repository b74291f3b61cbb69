import CHRTimer
import HRTimerCore
import TestSupport
import Testing

/// Random operations against a sorted array that is obviously right.
@Suite struct PendingTimersModelTests {
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
        var timers = PendingTimers<Int>()
        var model = Model()
        var live: [TimerToken] = []
        var stale: [TimerToken] = []
        var now_ns: Int64 = 0
        for step in 0..<20_000 {
            switch Int.random(in: 0..<10, using: &random) {
            case 0...2:
                let token = timers.add(step)
                live.append(token)
                let deadline_ns = now_ns + Int64.random(in: -10...1000, using: &random)
                let isLive = timers.arm(token, deadline_ns: deadline_ns)
                #expect(isLive)
                model.arm(token, deadline_ns)
            case 3...5:
                guard let token = live.randomElement(using: &random) else { continue }
                let deadline_ns = now_ns + Int64.random(in: -10...1000, using: &random)
                let isLive = timers.arm(token, deadline_ns: deadline_ns)
                #expect(isLive)
                model.arm(token, deadline_ns)
            case 6:
                guard let token = live.randomElement(using: &random) else { continue }
                let wasArmed = timers.disarm(token)
                #expect(wasArmed == model.disarm(token))
            case 7:
                guard let index = live.indices.randomElement(using: &random) else { continue }
                let token = live.remove(at: index)
                let record = timers.remove(token)
                #expect(record != nil)
                _ = model.disarm(token)
                stale.append(token)
            case 8:
                guard let token = stale.randomElement(using: &random) else { continue }
                let record = timers.remove(token)
                #expect(record == nil)
                let isLive = timers.isLive(token) || timers.arm(token, deadline_ns: 0)
                #expect(!isLive)
            default:
                now_ns += Int64.random(in: 0...300, using: &random)
                let expected = model.takeDue(now_ns)
                let taken = taken(&timers, now_ns)
                #expect(taken == expected)
                let next_ns = timers.next_ns
                #expect(next_ns > now_ns)
            }
            let counts = (armed: timers.armedCount, live: timers.count)
            #expect(counts.armed == model.armed.count)
            #expect(counts.live == live.count)
        }
    }

    private func taken(_ timers: inout PendingTimers<Int>, _ now_ns: Int64) -> [TimerToken] {
        var all: [TimerToken] = []
        withUnsafeTemporaryAllocation(of: hrt_due.self, capacity: 7) { batch in
            // The queue may give less than all at once; it has told all when the next deadline is not due.
            while timers.next_ns <= now_ns {
                let count = timers.takeDue(now_ns: now_ns, into: batch)
                for due in batch[..<count] {
                    #expect(due.deadline_ns <= now_ns)
                    all.append(TimerToken(due.token))
                }
            }
        }
        return all
    }

    @Test("The end gives all records back and makes every token stale")
    func end() {
        var timers = PendingTimers<Int>()
        let tokens = (0..<1000).map { timers.add($0) }
        let records = timers.end()
        #expect(records.sorted() == Array(0..<1000))
        let live = tokens.count { timers.isLive($0) }
        #expect(live == 0)
    }
}
