// SPDX-License-Identifier: Apache-2.0
import HRTimer
import HRTimerTesting
import TestSupport
import Testing

/// Tests of sources and loop timers that cannot keep up, beside timers that must not wait for them. Handlers take time by
/// advancing the clock; the tests count the calls between a deadline and its call.
@Suite struct SourceBurstTests {
    private struct Call: Sendable {
        /// Negative for a timer that must not wait.
        let name: Int
        let at_ns: Int64
    }

    private let time = ManualTime()
    private let calls = Recorder<Call>()

    private func note(_ name: Int, cost_ns: Int64 = 0) {
        calls.append(Call(name: name, at_ns: time.now.nanoseconds))
        if cost_ns > 0 { time.advance(by: .nanoseconds(cost_ns)) }
    }

    /// Returns the most calls that any one overloaded timer gets between a deadline and the call for it.
    private func mostTicks(before name: Int, since deadline_ns: Int64) -> Int {
        let all = calls.all
        guard let place = all.firstIndex(where: { $0.name == name }) else { return .max }
        let before = all[..<place].filter { $0.name >= 0 && $0.at_ns >= deadline_ns }
        return Dictionary(grouping: before, by: \.name).values.map(\.count).max() ?? 0
    }

    @Test("Sources of every policy that cannot keep up delay other sources by at most one call each")
    func sources() throws {
        var random = SeededRandom.fromEnvironment()
        for _ in 0..<20 {
            let world = SourceBurstTests()
            let engine = try TimerEngine(.init(time: world.time.base))
            let start_ns = world.time.now.nanoseconds
            var sources: [TimerSource] = []
            for name in 0..<Int.random(in: 1...6, using: &random) {
                let source = TimerSource(engine: engine)
                source.policy = name == 0 ? .burst : MissedTickPolicy.allCases.randomElement(using: &random)!
                let cost_ns = Int64.random(in: 60...300, using: &random)
                source.setEventHandler { world.note(name, cost_ns: cost_ns) }
                let interval = Duration.nanoseconds(Int64.random(in: 1...50, using: &random))
                source.schedule(deadline: world.time.now.advanced(by: interval), repeating: interval)
                source.activate()
                sources.append(source)
            }
            var deadlines: [(name: Int, ns: Int64)] = []
            for index in 1...20 {
                let source = TimerSource(engine: engine)
                let deadline_ns = start_ns + Int64.random(in: 1...10_000, using: &random)
                deadlines.append((-index, deadline_ns))
                source.setEventHandler { world.note(-index) }
                source.schedule(deadline: MonotonicInstant(nanoseconds: deadline_ns))
                source.activate()
                sources.append(source)
            }
            while world.time.now.nanoseconds < start_ns + 20_000 { world.time.advance(by: .nanoseconds(50)) }
            for (name, deadline_ns) in deadlines {
                #expect(world.mostTicks(before: name, since: deadline_ns) <= 1)
            }
            sources.forEach { $0.cancel() }
        }
    }

    @Test("On a virtual time's shared engine a timer waits for at most one tick of a source that is far behind")
    func sharedEngine() async throws {
        try await withManualTime { time in
            let ticks = Recorder<UInt>()
            let source = TimerSource()
            source.policy = .burst
            source.setEventHandler { [weak source] in ticks.append(source?.data ?? 0) }
            source.schedule(deadline: .now.advanced(by: .nanoseconds(-200)), repeating: .nanoseconds(1))
            let before = Recorder<Int>()
            TimerEngine.shared.schedule(at: .now) { _ in before.append(ticks.count) }
            source.activate()
            await time.advance(by: .zero)
            #expect(before.all.allSatisfy { $0 <= 1 } && before.count == 1)
            #expect(ticks.all == Array(repeating: 1, count: 201))
            source.cancel()
        }
    }

    @Test("A loop's timer waits for at most two ticks of each burst: one in the running pass, and one in its own")
    func loop() {
        var random = SeededRandom.fromEnvironment()
        for _ in 0..<20 {
            let world = SourceBurstTests()
            let loop = TimerLoop(time: world.time.base)
            let start_ns = world.time.now.nanoseconds
            for name in 0..<Int.random(in: 1...6, using: &random) {
                let cost_ns = Int64.random(in: 60...300, using: &random)
                let interval = Duration.nanoseconds(Int64.random(in: 1...50, using: &random))
                let timer = LoopTimer(
                    fireAt: world.time.now.advanced(by: interval),
                    interval: interval,
                    repeats: true,
                    policy: .burst
                ) { _ in world.note(name, cost_ns: cost_ns) }
                loop.add(timer, forMode: .default)
            }
            var deadlines: [(name: Int, ns: Int64)] = []
            for index in 1...20 {
                let deadline_ns = start_ns + Int64.random(in: 1...10_000, using: &random)
                deadlines.append((-index, deadline_ns))
                let timer = LoopTimer(fireAt: MonotonicInstant(nanoseconds: deadline_ns)) { _ in world.note(-index) }
                loop.add(timer, forMode: .default)
            }
            loop.run(until: MonotonicInstant(nanoseconds: start_ns + 20_000))
            for (name, deadline_ns) in deadlines {
                #expect(world.mostTicks(before: name, since: deadline_ns) <= 2)
            }
        }
    }
}
