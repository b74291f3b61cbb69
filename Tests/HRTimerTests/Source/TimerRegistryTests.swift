// SPDX-License-Identifier: Apache-2.0
import Dispatch
import HRTimer
import HRTimerTesting
import TestSupport
import Testing

/// Tests of named tasks, on frozen time.
@Suite struct TimerRegistryTests {
    let time = ManualTime()
    let registry: TimerRegistry
    let calls = Recorder<String>()

    init() throws {
        registry = TimerRegistry(engine: try TimerEngine(.init(time: time.base)))
    }

    @Test("A task starts after its delay, repeats, and ends when it is cancelled; its key is stale then")
    func repeating() throws {
        let key = try registry.execute(name: "a", start: .seconds(2), interval: .seconds(1)) { [calls] in
            calls.append("a")
        }
        #expect(registry.isRunning(key))
        #expect(registry.count == 1)
        time.advance(by: .seconds(4))
        #expect(calls.count == 3)
        #expect(registry.cancel(key))
        #expect(!registry.cancel(key))
        #expect(!registry.isRunning(key))
        time.advance(by: .seconds(4))
        #expect(calls.count == 3)
    }

    @Test("A task that does not repeat runs once, and has already ended when it runs")
    func once() throws {
        let canaries = Canaries()
        let key = try registry.execute(name: "once", start: .seconds(1), repeats: false) {
            [calls, registry, canary = canaries.make()] in
            withExtendedLifetime(canary) {}
            calls.append("\(registry.count)")
        }
        time.advance(by: .seconds(3))
        #expect(calls.all == ["0"])
        #expect(!registry.isRunning(key))
        #expect(canaries.count == 0)
    }

    @Test("Keys are never reused, and tasks with equal names are different tasks")
    func keys() throws {
        var seen: Set<TimerRegistry.Key> = []
        for _ in 0..<100 {
            let key = try registry.execute(name: "same", interval: .seconds(1)) {}
            #expect(seen.insert(key).inserted)
            registry.cancel(key)
        }
        let many = try (0..<20).map { _ in try registry.execute(name: "same", interval: .seconds(1)) {} }
        #expect(registry.keys(named: "same") == many)
        #expect(registry.keys(named: "other").isEmpty)
    }

    @Test("Wrong arguments throw an error with the argument's name and its accepted values")
    func wrongArguments() {
        func message(_ body: () throws -> Void) -> String {
            do {
                try body()
                return "nothing"
            } catch {
                return "\(error)"
            }
        }
        #expect(
            message { try registry.execute(name: "", interval: .seconds(1)) {} }.contains(
                "`name` takes at least one character"
            )
        )
        #expect(
            message { try registry.execute(name: "a", start: .seconds(-1), interval: .seconds(1)) {} }.contains(
                "`start` takes zero or more, not -1.0 seconds"
            )
        )
        #expect(
            message { try registry.execute(name: "a", interval: .zero) {} }.contains(
                "`interval` of a task that repeats takes more than zero"
            )
        )
        #expect(
            message { try registry.execute(name: "a", start: .nan, interval: .seconds(1)) {} }.contains(
                "`start` takes zero or more, not NaN"
            )
        )
        #expect(
            message { try registry.execute(name: "a", interval: .nan) {} }.contains(
                "`interval` of a task that repeats takes more than zero, not NaN"
            )
        )
        #expect(registry.count == 0)
    }

    @Test("No task runs while paused, not even a new one; on resume each makes one call for all that it missed")
    func pausing() throws {
        try registry.execute(name: "a", start: .seconds(1), interval: .seconds(1)) { [calls] in calls.append("a") }
        registry.suspendAll()
        registry.suspendAll()
        try registry.execute(name: "b", start: .seconds(1), interval: .seconds(1)) { [calls] in calls.append("b") }
        time.advance(by: .milliseconds(3500))
        #expect(calls.count == 0)
        registry.resumeAll()
        registry.resumeAll()
        time.advance(by: .zero)
        #expect(calls.all == ["a", "b"] || calls.all == ["b", "a"])
        time.advance(by: .milliseconds(500))
        #expect(calls.count == 4)
    }

    @Test("One resume is enough after two suspends, and what was missed is one call")
    func pausedTwice() throws {
        try registry.execute(name: "a", start: .seconds(1), interval: .seconds(1)) { [calls] in calls.append("a") }
        registry.suspendAll()
        registry.suspendAll()
        time.advance(by: .seconds(3))
        registry.resumeAll()
        time.advance(by: .zero)
        #expect(calls.count == 1)
        // Surplus resumes do not count for later suspends either.
        registry.resumeAll()
        registry.suspendAll()
        time.advance(by: .seconds(3))
        #expect(calls.count == 1)
    }

    @Test("A task's policy decides what becomes of its missed ticks", arguments: MissedTickPolicy.allCases)
    func policy(_ policy: MissedTickPolicy) throws {
        try registry.execute(name: "a", start: .seconds(1), interval: .seconds(1), policy: policy) { [calls] in
            calls.append("a")
        }
        registry.suspendAll()
        time.advance(by: .milliseconds(4500))
        registry.resumeAll()
        time.advance(by: .zero)
        let late = [MissedTickPolicy.burst: 4, .skip: 0]
        #expect(calls.count == late[policy] ?? 1)
        time.advance(by: .milliseconds(500))
        #expect(calls.count == (late[policy] ?? 1) + (policy == .delay ? 0 : 1))
    }

    @Test("cancelAll ends all tasks, also while they are paused, and new ones may be started")
    func cancelAll() throws {
        let canaries = Canaries()
        let keys = try (0..<3).map { _ in
            try registry.execute(name: "a", start: .seconds(1), interval: .seconds(1)) {
                [calls, canary = canaries.make()] in
                withExtendedLifetime(canary) { calls.append("a") }
            }
        }
        registry.suspendAll()
        registry.cancelAll()
        #expect(canaries.count == 0)
        #expect(registry.count == 0 && registry.keys(named: "a").isEmpty)
        #expect(!keys.contains { registry.isRunning($0) || registry.cancel($0) })
        registry.resumeAll()
        time.advance(by: .seconds(3))
        #expect(calls.count == 0)
        try registry.execute(name: "b", repeats: false) { [calls] in calls.append("b") }
        #expect(registry.count == 1)
        time.advance(by: .zero)
        #expect(calls.all == ["b"])
    }

    @Test("A registry that is released ends its tasks, and frees what they captured")
    func lifetime() throws {
        let canaries = Canaries()
        do {
            let own = TimerRegistry(engine: try TimerEngine(.init(time: time.base)))
            for _ in 0..<40 {
                try own.execute(name: "a", interval: .seconds(1)) { [canary = canaries.make()] in
                    withExtendedLifetime(canary) {}
                }
            }
            #expect(canaries.count == 40)
        }
        #expect(canaries.count == 0)
    }

    @Test("Tasks run on their queue")
    func queue() throws {
        let queue = DispatchQueue(label: "tasks")
        let key = DispatchSpecificKey<Int>()
        queue.setSpecific(key: key, value: 1)
        try registry.execute(name: "q", interval: .seconds(1), queue: queue) { [calls] in
            calls.append("\(DispatchQueue.getSpecific(key: key) ?? 0)")
        }
        time.advance(by: .seconds(1))
        queue.sync {}
        #expect(calls.all.first == "1")
    }
}
