// SPDX-License-Identifier: Apache-2.0
import HRTimerTesting
import TestSupport
import Testing

@testable import HRTimerCore

/// Alarms: deadlines on another clock than their owner's. On frozen time.
@Suite struct ClockAlarmTests {
    let time = ManualTime()
    let calls = Recorder<Int64>()

    private func alarm(on clock: TimerClock) -> ClockAlarm {
        ClockAlarm(on: time.base.on(clock)) { [calls] alarm in calls.append(alarm.time.now_ns) }
    }

    @Test("An alarm calls once for each deadline, when its clock reaches it", arguments: TimerClock.allCases)
    func expires(_ clock: TimerClock) {
        let alarm = alarm(on: clock)
        let start_ns = alarm.time.now_ns
        time.advance(by: .seconds(1))
        #expect(calls.count == 0)
        alarm.set(deadline_ns: start_ns + 3_000_000_000)
        alarm.set(deadline_ns: start_ns + 2_000_000_000)
        time.advance(by: .seconds(5))
        #expect(calls.all == [start_ns + 2_000_000_000])
        alarm.set(deadline_ns: start_ns + 7_000_000_000)
        alarm.set(deadline_ns: .max)
        time.advance(by: .seconds(5))
        alarm.set(deadline_ns: start_ns + 12_000_000_000)
        time.advance(by: .seconds(5))
        #expect(calls.all == [2, 12].map { start_ns + $0 * 1_000_000_000 })
        alarm.cancel()
    }

    @Test("A step of the wall clock moves the calls of alarms on that clock only")
    func steps() {
        let (wall, boot) = (alarm(on: .wall), alarm(on: .bootTime))
        let (wall_ns, boot_ns) = (wall.time.now_ns, boot.time.now_ns)
        wall.set(deadline_ns: wall_ns + 3_000_000_000)
        boot.set(deadline_ns: boot_ns + 3_000_000_000)
        time.setWall(to: time.wallNow - .seconds(10))
        time.advance(by: .seconds(5))
        #expect(calls.all == [boot_ns + 3_000_000_000])
        time.setWall(to: time.wallNow + .seconds(20))
        #expect(calls.count == 2)
        wall.cancel()
        boot.cancel()
    }

    @Test("A cancelled or freed alarm calls no more, and releases its closure", arguments: [false, true])
    func cancelled(_ isGone: Bool) {
        let canaries = Canaries()
        var alarm: ClockAlarm?
        do {
            let canary = canaries.make()
            alarm = ClockAlarm(on: time.base.on(.wall)) { [calls] _ in
                calls.append(0)
                withExtendedLifetime(canary) {}
            }
        }
        alarm?.set(deadline_ns: time.wallNow.nanoseconds + 1_000_000_000)
        if !isGone { alarm?.cancel() }
        alarm = nil
        time.advance(by: .seconds(5))
        #expect(calls.count == 0)
        #expect(canaries.count == 0)
    }

    @Test("isOn distinguishes clocks, the kernel's from virtual ones, and one virtual time from another")
    func isOn() {
        let alarm = alarm(on: .wall)
        #expect(alarm.isOn(time.base.on(.wall)))
        #expect(!alarm.isOn(time.base.on(.bootTime)))
        #expect(!alarm.isOn(TimeBase.kernel.on(.wall)))
        #expect(!alarm.isOn(ManualTime().base.on(.wall)))
        alarm.cancel()
    }

    @Test("All alarms on a kernel clock share one engine, which drops cancelled and freed ones")
    func shared() {
        let engines: [(TimerClock, AnyTimerEngine)] = [
            (.monotonic, TimerEngine.shared), (.bootTime, BootTimeTimerEngine.shared), (.wall, WallTimerEngine.shared),
        ]
        for (clock, engine) in engines {
            let before = engine.liveTimers
            var alarms = (0..<2000).map { _ in ClockAlarm(on: TimeBase.kernel.on(clock)) { _ in } }
            #expect(engine.liveTimers > before + 1500)
            alarms[..<1000].forEach { $0.cancel() }
            #expect(engine.liveTimers < before + 1500)
            alarms = []
            #expect(engine.liveTimers < before + 500)
        }
    }
}
