// SPDX-License-Identifier: Apache-2.0
import HRTimerCore
import HRTimerTesting
import Testing

/// How a group spreads timers over its engines.
@Suite struct TimerEngineGroupTests {
    @Test("next returns the engines in turn, and equal keys get the same engine", arguments: [1, 2, 3, 7])
    func spread(count: Int) throws {
        let time = ManualTime()
        let group = try TimerEngineGroup(count: count, .init(time: time.base))
        #expect(group.engines.count == count)
        var given = [ObjectIdentifier: Int]()
        for _ in 0..<count * 100 { given[ObjectIdentifier(group.next), default: 0] += 1 }
        #expect(given.values.allSatisfy { $0 == 100 })
        for key in 0..<100 { #expect(group.engine(for: key) === group.engine(for: key)) }
        let used = Set((0..<1000).map { ObjectIdentifier(group.engine(for: "key \($0)")) })
        #expect(used.count == count)
    }

    @Test("A group has at least one engine, counts the timers of its engines, and shuts them down")
    func atLeastOne() throws {
        let time = ManualTime()
        let group = try TimerEngineGroup(count: 0, .init(time: time.base))
        #expect(group.engines.count == 1)
        for _ in 0..<10 { group.next.schedule(after: .seconds(1)) { _ in } }
        #expect(group.liveTimers == 10)
        group.shutdown()
        #expect(group.liveTimers == 0)
        #expect(group.next.schedule(after: .seconds(1)) { _ in } == group.next.schedule(after: .seconds(2)) { _ in })
    }
}
