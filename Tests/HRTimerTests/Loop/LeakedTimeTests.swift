// SPDX-License-Identifier: Apache-2.0
import HRTimer
import HRTimerTesting
import Synchronization
import TestSupport
import Testing

/// Virtual times that nobody frees: they must not make timers and loops of other times slower. Each test in a process of its own,
/// since timers that other tests make read the clocks of all virtual loops once.
@Suite struct LeakedTimeTests {
    @Test("Making, adding and moving timers reads no clock of a virtual time whose loops are gone")
    func loopsAreGone() async {
        await #expect(processExitsWith: .success) {
            let leaked = (0..<600).map { _ in CountingTime() }
            Self.runLoops(of: leaked)
            let before = leaked.map(\.readings)
            Self.useTimers()
            #expect(leaked.map(\.readings) == before)
        }
    }

    @Test("Moving timers that are in a loop reads no clock of another virtual time, even one that has a loop")
    func loopsExist() async {
        await #expect(processExitsWith: .success) {
            let leaked = (0..<600).map { _ in CountingTime() }
            let loops = leaked.map { TimerLoop(time: TimeBase(virtual: $0)) }
            let time = ManualTime()
            let loop = TimerLoop(time: time.base)
            let timer = LoopTimer(timeInterval: .seconds(1), repeats: true, time: time.base) { _ in }
            loop.add(timer, forMode: .default)
            let before = leaked.map(\.readings)
            timer.fireInstant = time.now.advanced(by: .seconds(5))
            timer.fireInstant = .distantPast
            #expect(leaked.map(\.readings) == before)
            timer.invalidate()
            withExtendedLifetime(loops) {}
        }
    }

    private static func runLoops(of times: [CountingTime]) {
        for time in times { TimerLoop(time: TimeBase(virtual: time)).run() }
    }

    private static func useTimers() {
        let time = ManualTime()
        let loop = TimerLoop(time: time.base)
        let timer = LoopTimer(fireAt: time.now.advanced(by: .seconds(1)), interval: .seconds(1), repeats: true) { _ in }
        timer.fireInstant = time.now.advanced(by: .seconds(2))
        loop.add(timer, forMode: .default)
        timer.fireInstant = time.now.advanced(by: .seconds(3))
        loop.run(until: time.now.advanced(by: .seconds(4)))
        timer.invalidate()
    }
}

/// A manual time that counts the readings of its monotonic clock.
private final class CountingTime: VirtualTime {
    private let manual = ManualTime()
    private let count = Atomic(0)

    var readings: Int { count.load(ordering: .relaxed) }
    var now_ns: Int64 {
        count.add(1, ordering: .relaxed)
        return manual.now_ns
    }

    func offset_ns(of clock: TimerClock) -> Int64 { manual.offset_ns(of: clock) }
    func attach(_ participant: any VirtualTimeParticipant) { manual.attach(participant) }

    func wait(until instant_ns: Int64, for deadline_ns: Int64, _ waiter: any VirtualWaiter) -> VirtualWait {
        manual.wait(until: instant_ns, for: deadline_ns, waiter)
    }
}
