// SPDX-License-Identifier: Apache-2.0
import CHRTimer
import Glibc
import HRTimer
import TestSupport
import TestTraits
import Testing

/// Every way of waiting, on each clock that it knows, on the real kernel. `make time-namespace` runs these tests where the
/// boot-time clock is days ahead of the monotonic one.
@Suite(.serialized) struct ClockContractTests {
    private func now(_ clock: TimerClock) -> Int64 { hrt_clock_now_ns(clock.c) }

    @Test("A futex cannot wait in boot time; all other ways can wait on every clock")
    func ways() {
        #expect(!ParkStrategy.available(on: .bootTime).contains(.futex))
        #expect(ParkStrategy.available(on: .wall) == ParkStrategy.available)
        #expect(ParkStrategy.available(on: .bootTime) == ParkStrategy.available.filter { $0 != .futex })
    }

    @Test("Sleeps on the shared clocks are real, and never short")
    func shared() async throws {
        let boot = BootTimeInstant.now.advanced(by: .milliseconds(1))
        try await Task.sleep(until: boot, clock: .bootTime)
        #expect(BootTimeInstant.now >= boot)
        let wall = WallInstant.now.advanced(by: .milliseconds(1))
        try await Task.sleep(until: wall, clock: .wall)
        #expect(WallInstant.now >= wall)
        #expect(WallClock().minimumResolution == .nanoseconds(1))
    }

    @Test(
        "A wait is never early on its clock, from a nanosecond to a hundredth of a second",
        arguments: WayOnClock.available
    )
    func neverEarly(_ pair: WayOnClock) throws {
        let waiter = try Waiter(pair.way, clock: pair.clock)
        for delay_ns in [1, 1000, 100_000, 1_000_000, 10_000_000] as [Int64] {
            for _ in 0..<(delay_ns < 1_000_000 ? 20 : 2) {
                let deadline_ns = now(pair.clock) + delay_ns
                #expect(!waiter.wait(until: deadline_ns))
                #expect(now(pair.clock) >= deadline_ns)
            }
        }
        for past_ns: Int64 in [.min, -1, 0, 1, now(pair.clock)] { #expect(!waiter.wait(until: past_ns)) }
    }

    @Test("A wake ends a wait on every clock, and none is lost", arguments: WayOnClock.available)
    func wake(_ pair: WayOnClock) throws {
        let waiter = try Waiter(pair.way, clock: pair.clock)
        for deadline_ns: Int64 in [.max, .max - 1, now(pair.clock) + 3_600_000_000_000] {
            let thread = try startThread {
                pause(.milliseconds(1))
                waiter.wake()
            }
            #expect(waiter.wait(until: deadline_ns))
            join(thread)
        }
    }

    @Test("Engines on the wall and boot-time clocks fire on time, precise ones too", arguments: TimerPrecision.allCases)
    func engines(_ precision: TimerPrecision) throws {
        func fire<Instant: TimerInstant>(_ type: Instant.Type) throws -> [Duration] {
            let engine = try ClockTimerEngine<Instant>(.init(precision: precision))
            let latenesses = Recorder<Duration>()
            engine.schedule(at: .now.advanced(by: .milliseconds(1)), every: .milliseconds(1)) { fire in
                latenesses.append(fire.deadline.duration(to: .now))
            }
            while latenesses.count < 50 { pause(.milliseconds(1)) }
            engine.shutdown()
            return latenesses.all
        }
        for latenesses in [try fire(WallInstant.self), try fire(BootTimeInstant.self)] {
            #expect(latenesses.allSatisfy { $0 >= .zero })
            #expect(latenesses.min()! < atBest(.milliseconds(1)))
        }
    }

    @Test(
        "A spin to a deadline that is far away, since the clock was set back, sleeps through most of the time",
        arguments: WayOnClock.available
    )
    func farSpin(_ pair: WayOnClock) throws {
        var wait: OpaquePointer?
        try check(hrt_wait_create(pair.way.kind, pair.clock.c, &wait), "make a park strategy")
        defer { hrt_wait_destroy(wait) }
        let window = SpinWindow(budget: SpinBudget(1, now_ns: now(.monotonic)))
        let deadline_ns = now(pair.clock) + 120_000_000
        var (read_ns, spun_ns): (Int64, Int64) = (0, 0)
        let outcome = hrt_wait_spin_until(wait, deadline_ns, window.c, &read_ns, &spun_ns)
        #expect(outcome == Int32(HRT_WAIT_TIMED_OUT))
        #expect(read_ns >= deadline_ns)
        // It spins for the last 20 ms, or for less if the machine let it sleep too long.
        #expect(spun_ns <= 60_000_000)
    }

    private static var mayStep: Bool { environment("HRTIMER_SET_CLOCK") != nil }

    @Test(
        "Setting the real wall clock forward fires the timers that it passes at once, setting it back delays them",
        .enabled(if: mayStep, "sets the system's clock for some ms, as root: make clock-steps"),
        .hangLimit
    )
    func realSteps() async {
        await #expect(processExitsWith: .success) {
            for way in ParkStrategy.available(on: .wall) {
                for precision in TimerPrecision.allCases { try RealSteps.run(way, precision) }
            }
        }
    }

    @Test(
        "Those who wait for dates learn of each step of the real wall clock, forward and back",
        .enabled(if: mayStep, "sets the system's clock for some ms, as root: make clock-steps"),
        .hangLimit
    )
    func realStepsReachListeners() async {
        await #expect(processExitsWith: .success) { try RealSteps.reachListeners() }
    }
}

/// Sets the wall clock 3 s forward, and back.
private enum RealSteps {
    /// Counts the steps that it learns of.
    private final class Listener: WallClockListener {
        let steps = Recorder<MonotonicInstant>()
        func wallClockWasSet() { steps.append(.now) }
    }

    /// Steps the clock twice, and waits until a listener has learnt of each step.
    static func reachListeners() throws {
        let start = (wall: WallInstant.now, monotonic: MonotonicInstant.now)
        defer { try? set(start, ahead: .zero) }
        let listener = Listener()
        WallClockSteps.notify(listener, in: .kernel)
        // The thread that waits for steps opens its descriptor when it begins: a step before that is not its.
        while listener.steps.count == 0 {
            try set(start, ahead: .seconds(3))
            pause(.milliseconds(5))
        }
        let before = listener.steps.count
        try set(start, ahead: .zero)
        while listener.steps.count == before { pause(.milliseconds(1)) }
    }

    private static func set(_ start: (wall: WallInstant, monotonic: MonotonicInstant), ahead: Duration) throws {
        let instant = start.wall.advanced(by: start.monotonic.duration(to: .now) + ahead)
        var spec = hrt_timespec_from_ns(instant.nanoseconds)
        try check(clock_settime(CLOCK_REALTIME, &spec) == 0 ? 0 : -errno, "set the clock")
    }

    /// Runs one engine while the clock is set.
    static func run(_ way: ParkStrategy, _ precision: TimerPrecision) throws {
        let engine = try WallTimerEngine(.init(parkStrategy: way, precision: precision))
        let fires = Recorder<(fire: WallTimerEngine.Fire, at: MonotonicInstant)>()
        let start = (wall: WallInstant.now, monotonic: MonotonicInstant.now)
        func wallShould(be offset: Duration) throws { try set(start, ahead: offset) }
        // Whatever happens, the clock is right afterwards.
        defer { try? wallShould(be: .zero) }
        for seconds in [2, 4] {
            engine.schedule(at: start.wall.advanced(by: .seconds(seconds))) { fires.append(($0, .now)) }
        }
        pause(.milliseconds(2))
        try wallShould(be: .seconds(3))
        let stepped = MonotonicInstant.now
        while fires.count == 0 { pause(.milliseconds(1)) }
        try wallShould(be: .zero)
        // The step passed the first deadline, whose timer fired soon. The second was still ahead, by a second of the set clock.
        try #require(fires.count == 1)
        #expect(stepped.duration(to: fires.all[0].at) < .seconds(1))
        #expect(fires.all[0].fire.firedAt >= fires.all[0].fire.deadline)
        // Ahead, and then 200 ms back: the clock must go through those 200 ms once more before the timer fires.
        try wallShould(be: .seconds(3))
        let delayed = engine.schedule(at: WallInstant.now.advanced(by: .milliseconds(10))) { fires.append(($0, .now)) }
        try wallShould(be: .milliseconds(-200) + .seconds(3))
        let steppedBack = MonotonicInstant.now
        while fires.count == 1 { pause(.milliseconds(1)) }
        try wallShould(be: .zero)
        #expect(fires.all[1].fire.token == delayed)
        #expect(steppedBack.duration(to: fires.all[1].at) > .milliseconds(150))
    }
}
