// SPDX-License-Identifier: Apache-2.0
import HRTimer
import HRTimerTesting
import Synchronization
import TestSupport
import Testing

/// Timers on the wall clock, while that is set back between two of the library's own readings. In manual time.
@Suite struct FollowedClockStepTests {
    enum Face: String, CaseIterable, Sendable { case engine, source, loop }

    @Test(
        "A wall-clock timer is not lost, and fires once, whichever reading of the clock a step back comes before",
        arguments: Face.allCases
    )
    func stepBack(_ face: Face) throws {
        for reading in 1...12 {
            let manual = ManualTime()
            let time = SteppingTime(manual, start: manual.wallNow.advanced(by: .seconds(5)), reading: reading)
            let base = TimeBase(virtual: time)
            let deadline = manual.wallNow.advanced(by: .seconds(5))
            let calls = Recorder<MonotonicInstant>()
            let loop = TimerLoop(time: base)
            let engine = try WallTimerEngine(.init(time: base))
            let monotonic = try TimerEngine(.init(time: base))
            let source = TimerSource(engine: monotonic)
            switch face {
            case .engine: engine.schedule(at: deadline) { [manual] _ in calls.append(manual.now) }
            case .source:
                source.setEventHandler { calls.append(manual.now) }
                source.schedule(deadline: deadline)
                source.activate()
            case .loop: loop.add(LoopTimer(fireAt: deadline) { _ in calls.append(manual.now) }, forMode: .default)
            }
            loop.isKeptAlive = true
            loop.run(until: manual.now.advanced(by: .seconds(20)))
            #expect(time.hasStepped || reading > 3, "before reading \(reading)")
            #expect(calls.count == 1, "a step before reading \(reading)")
            source.cancel()
            engine.shutdown()
            monotonic.shutdown()
            loop.stop()
        }
    }
}

/// A manual time whose wall clock goes back by three seconds, for good, before one of its readings from an instant on.
private final class SteppingTime: VirtualTime {
    private let manual: ManualTime
    private let start_ns: Int64
    private let readingsLeft: Atomic<Int>

    init(_ manual: ManualTime, start: WallInstant, reading: Int) {
        self.manual = manual
        start_ns = start.nanoseconds
        readingsLeft = Atomic(reading)
    }

    var hasStepped: Bool { readingsLeft.load(ordering: .relaxed) <= 0 }
    var now_ns: Int64 { manual.now_ns }

    func offset_ns(of clock: TimerClock) -> Int64 {
        let offset_ns = manual.offset_ns(of: clock)
        guard clock == .wall else { return offset_ns }
        if !hasStepped, manual.now_ns + offset_ns >= start_ns { readingsLeft.subtract(1, ordering: .relaxed) }
        return hasStepped ? offset_ns - 3_000_000_000 : offset_ns
    }

    func attach(_ participant: any VirtualTimeParticipant) { manual.attach(participant) }

    func wait(until instant_ns: Int64, for deadline_ns: Int64, _ waiter: any VirtualWaiter) -> VirtualWait {
        manual.wait(until: instant_ns, for: deadline_ns, waiter)
    }

    func own(_ key: ObjectIdentifier, _ make: () -> any AnyObject & Sendable) -> (any AnyObject & Sendable)? {
        manual.own(key, make)
    }
}
