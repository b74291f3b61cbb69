// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Glibc
import HRTimer
import HRTimerCore
import Seeded
import Synchronization
import TestSupport
import TestTraits
import Testing

/// Calls to sources that race with their fires: 10,000 rounds in most tests, which Thread Sanitizer watches too.
@Suite(.serialized, .hangLimit) struct SourceRaceTests {
    private static let rounds = 10_000

    private let engine: TimerEngine
    private let queue = DispatchQueue(label: "races")

    init() throws {
        engine = try TimerEngine()
    }

    private final class Count: Sendable {
        private let value = Atomic(0)
        func add() { value.add(1, ordering: .sequentiallyConsistent) }
        var current: Int { value.load(ordering: .sequentiallyConsistent) }
    }

    private final class Flag: Sendable {
        private let value = Atomic(false)
        var isSet: Bool { value.load(ordering: .sequentiallyConsistent) }
        func set(_ isSet: Bool = true) { value.store(isSet, ordering: .sequentiallyConsistent) }
    }

    private func source(onQueue: Bool) -> TimerSource {
        onQueue ? TimerSource(engine: engine, queue: queue) : TimerSource(engine: engine)
    }

    /// Polls until the condition holds, or until the test's own time limit.
    private func wait(until isSo: () -> Bool) {
        while !isSo() { pause(.microseconds(50)) }
    }

    @Test(
        "A source whose cancel races with its fire calls its cancel handler once, and no event handler after it",
        arguments: [false, true]
    )
    func cancelAgainstFire(onQueue: Bool) {
        var random = SeededRandom(seed: 1)
        let (late, cancelled) = (Count(), Count())
        for _ in 0..<Self.rounds {
            let isOver = Flag()
            let source = source(onQueue: onQueue)
            source.setEventHandler { if isOver.isSet { late.add() } }
            source.setCancelHandler {
                isOver.set()
                cancelled.add()
            }
            source.schedule(
                after: .nanoseconds(Int.random(in: 0..<20_000, using: &random)),
                repeating: .microseconds(5)
            )
            source.activate()
            source.cancel()
        }
        wait { cancelled.current == Self.rounds }
        #expect(late.current == 0)
        // A source leaves the engine after its cancel handler.
        wait { engine.liveTimers == 0 }
    }

    @Test(
        "After cancelAndWait by another thread no handler of the source runs, and none comes later",
        arguments: [false, true]
    )
    func cancelAndWait(onQueue: Bool) {
        var random = SeededRandom(seed: 2)
        let late = Count()
        for _ in 0..<Self.rounds {
            let (isRunning, isOver) = (Flag(), Flag())
            let source = source(onQueue: onQueue)
            source.setEventHandler {
                isRunning.set()
                if isOver.isSet { late.add() }
                isRunning.set(false)
            }
            source.schedule(
                after: .nanoseconds(Int.random(in: 0..<20_000, using: &random)),
                repeating: .microseconds(5)
            )
            source.activate()
            source.cancelAndWait()
            isOver.set()
            if isRunning.isSet { late.add() }
        }
        queue.sync {}
        #expect(late.current == 0)
    }

    @Test("A source whose last reference goes in its own handler stops, and all is freed", arguments: [false, true])
    func dropInHandler(onQueue: Bool) {
        let canaries = Canaries()
        for _ in 0..<Self.rounds {
            let source = source(onQueue: onQueue)
            let box = Locked<TimerSource?>(source)
            let shared = Shared(box)
            source.setEventHandler { [canary = canaries.make()] in
                withExtendedLifetime(canary) {}
                shared.drop()
            }
            source.schedule(deadline: .now, repeating: .microseconds(5))
            source.activate()
        }
        wait { canaries.count == 0 }
        wait { engine.liveTimers == 0 }
    }

    private final class Shared: Sendable {
        private let box: Locked<TimerSource?>

        init(_ box: consuming Locked<TimerSource?>) {
            self.box = box
        }

        func drop() {
            let source = box.withLock { $0.take() }
            withExtendedLifetime(source) {}
        }
    }

    @Test(
        "A source that three threads resume, suspend and cancel calls its cancel handler once",
        arguments: [false, true]
    )
    func verbsAgainstEachOther(onQueue: Bool) throws {
        let cancelled = Count()
        let sources = (0..<Self.rounds).map { _ in
            let source = source(onQueue: onQueue)
            source.setEventHandler {}
            source.setCancelHandler { cancelled.add() }
            source.schedule(deadline: .now, repeating: .microseconds(50))
            return source
        }
        let verbs: [@Sendable (TimerSource) -> Void] = [
            {
                $0.activate(); $0.resume()
            },
            {
                $0.suspend(); $0.resume()
            },
            {
                $0.suspend(); $0.cancel()
            },
        ]
        let threads = try verbs.map { verb in try startThread { sources.forEach(verb) } }
        threads.forEach(join)
        wait { cancelled.current == Self.rounds && engine.liveTimers == 0 }
    }

    @Test("A source rescheduled as it fires obeys the last schedule, and is called", arguments: [false, true])
    func scheduleAgainstFire(onQueue: Bool) {
        var random = SeededRandom(seed: 3)
        let source = source(onQueue: onQueue)
        let early = Count()
        let calls = Count()
        let due = Due()
        source.setEventHandler {
            // Read before the clock, because the deadline moves on for the next round.
            let earliest = due.earliest
            if MonotonicInstant.now < earliest { early.add() }
            calls.add()
        }
        source.activate()
        for _ in 0..<Self.rounds {
            let before = calls.current
            let first = MonotonicInstant.now
            due.earliest = first
            source.schedule(deadline: first.advanced(by: .nanoseconds(Int.random(in: 0..<5000, using: &random))))
            source.schedule(deadline: first.advanced(by: .nanoseconds(Int.random(in: 0..<5000, using: &random))))
            wait { calls.current > before }
        }
        #expect(early.current == 0)
        source.cancelAndWait()
    }

    private final class Due: Sendable {
        private let nanoseconds = Atomic<Int64>(0)
        var earliest: MonotonicInstant {
            get { MonotonicInstant(nanoseconds: nanoseconds.load(ordering: .sequentiallyConsistent)) }
            set { nanoseconds.store(newValue.nanoseconds, ordering: .sequentiallyConsistent) }
        }
    }

    @Test("If a source's target changes as it fires, calls never overlap, and go on")
    func targetAgainstFire() {
        let source = TimerSource(engine: engine)
        let (isRunning, overlapping, calls) = (Flag(), Count(), Count())
        source.setEventHandler {
            if isRunning.isSet { overlapping.add() }
            isRunning.set()
            calls.add()
            isRunning.set(false)
        }
        source.schedule(deadline: .now, repeating: .microseconds(5))
        source.activate()
        for round in 0..<Self.rounds { source.setTarget(queue: round % 3 == 0 ? nil : queue) }
        let before = calls.current
        wait { calls.current > before + 10 }
        #expect(overlapping.current == 0)
        source.cancelAndWait()
    }

    @Test(
        "A shutdown that races with other calls never hangs, ends all events, and calls the earlier cancel handler",
        arguments: [false, true]
    )
    func shutdownAgainstAll(onQueue: Bool) throws {
        let late = Count()
        let queue = queue
        for round in 0..<Self.rounds / 10 {
            let engine = try TimerEngine()
            let isOver = Flag()
            let cancelled = Count()
            let sources = (0..<10).map { index in
                let source = onQueue ? TimerSource(engine: engine, queue: queue) : TimerSource(engine: engine)
                source.setEventHandler { if isOver.isSet { late.add() } }
                source.setCancelHandler { cancelled.add() }
                source.schedule(deadline: .now, repeating: .microseconds(5))
                source.activate()
                if index == 0 { source.cancel() }
                return source
            }
            let other = try startThread {
                for source in sources.dropFirst() {
                    source.schedule(deadline: .now)
                    source.suspend()
                    source.resume()
                    source.cancel()
                }
            }
            if round % 2 == 0 { pause(.microseconds(20)) }
            engine.shutdown()
            // A call that had begun on the queue may still run.
            queue.sync {}
            isOver.set()
            join(other)
            queue.sync {}
            #expect(cancelled.current >= 1)
            #expect(engine.liveTimers == 0)
        }
        #expect(late.current == 0)
    }
}
