// SPDX-License-Identifier: Apache-2.0
import CHRTimer
import Glibc
import TestSupport
import Testing

/// A model of the queue: an array of armed timers by deadline, equal ones in order of arming.
private struct SortedTimers {
    private(set) var timers: [hrt_due] = []

    mutating func disarm(_ token: hrt_token) {
        if let index = timers.firstIndex(where: { $0.token == token }) { timers.remove(at: index) }
    }

    mutating func arm(_ token: hrt_token, at deadline: Int64) {
        disarm(token)
        let index = timers.firstIndex { $0.deadline_ns > deadline } ?? timers.count
        timers.insert(hrt_due(deadline_ns: deadline, token: token, sequence: 0), at: index)
    }

    mutating func takeDue(at now: Int64) -> [hrt_due] {
        let due = timers.prefix { $0.deadline_ns <= now }
        timers.removeFirst(due.count)
        return Array(due)
    }
}

@Suite("Timer queue against a sorted array")
struct HRTQueueModelTests {
    /// HRTIMER_MODEL_OPERATIONS sets the number of operations, HRTIMER_SEED the random seed.
    @Test("300,000 random operations on the queue agree with a sorted array")
    func randomOperations() {
        let operations = getenv("HRTIMER_MODEL_OPERATIONS").flatMap { Int(String(cString: $0)) } ?? 300_000
        var random = SeededRandom.fromEnvironment()
        let timers = TimerQueue()
        var model = SortedTimers()
        var tokens = (0..<48).map { _ in timers.add() }
        var now: Int64 = 0
        for operation in 0..<operations {
            let chosen = Int.random(in: tokens.indices, using: &random)
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<4:
                let reach = Int64(1) << Int64.random(in: 0..<45, using: &random)
                let deadline = now + Int64.random(in: -1000...reach, using: &random)
                let tolerance = Bool.random(using: &random) ? 0 : Int64.random(in: 0...reach, using: &random)
                timers.arm(tokens[chosen], at: deadline, tolerance: tolerance)
                model.arm(tokens[chosen], at: deadline)
            case 4:
                timers.disarm(tokens[chosen])
                model.disarm(tokens[chosen])
            case 5:
                hrt_queue_remove(timers.queue, tokens[chosen])
                model.disarm(tokens[chosen])
                tokens[chosen] = timers.add()
            case 6:
                guard timers.next <= model.timers.first?.deadline_ns ?? .max, timers.nextWake >= timers.next else {
                    Issue.record("operation \(operation): the next deadline or wake-up is wrong")
                    return
                }
            default:
                now += Int64(1) << Int64.random(in: 0..<34, using: &random)
                let due = timers.takeDue(at: now, capacity: 7)
                let expected = model.takeDue(at: now)
                guard due.elementsEqual(expected, by: { $0.deadline_ns == $1.deadline_ns && $0.token == $1.token })
                else {
                    Issue.record("operation \(operation): fired \(due), expected \(expected)")
                    return
                }
            }
        }
    }
}
