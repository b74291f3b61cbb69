import HRTimerCore
import HRTimerTesting
import Testing

/// How timers are spread over engines.
@Suite struct TimerEngineGroupTests {
    @Test("Engines take turns, and equal keys get the same one", arguments: [1, 2, 3, 7])
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

    @Test("There is at least one engine, and its timers are counted and ended with the group")
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
