// SPDX-License-Identifier: Apache-2.0
import HRTimerCore
import HRTimerTesting
import TestSupport
import TestTraits
import Testing

/// Engines on the boot-time and the wall clock: the effects of steps and suspensions, with exact counts. On frozen time.
@Suite struct ClockTimerEngineTests {
    let time = ManualTime(
        start: MonotonicInstant(nanoseconds: 1000),
        wallStart: WallInstant(nanoseconds: 1_000_000)
    )
    let wall: WallTimerEngine
    let boot: BootTimeTimerEngine
    let monotonic: TimerEngine
    let fires = Recorder<WallTimerEngine.Fire>()
    let bootFires = Recorder<BootTimeTimerEngine.Fire>()
    let monotonicFires = Recorder<TimerFire>()

    init() throws {
        wall = try WallTimerEngine(.init(time: time.base))
        boot = try BootTimeTimerEngine(.init(time: time.base))
        monotonic = try TimerEngine(.init(time: time.base))
    }

    private func at(_ ns: Int64) -> WallInstant { WallInstant(nanoseconds: ns) }

    @Test("All three clocks advance together, each from its own zero")
    func together() {
        time.advance(by: .nanoseconds(500))
        #expect(monotonic.now == MonotonicInstant(nanoseconds: 1500))
        #expect(boot.now == BootTimeInstant(nanoseconds: 1500))
        #expect(wall.now == at(1_000_500))
        #expect((time.now, time.bootTimeNow, time.wallNow) == (monotonic.now, boot.now, wall.now))
    }

    @Test("A wall timer fires at its instant of the wall clock, and not a nanosecond before")
    func oneShot() {
        wall.schedule(at: at(1_000_500), handler: fires.append)
        time.advance(by: .nanoseconds(499))
        #expect(fires.count == 0)
        time.advance(by: .nanoseconds(1))
        #expect(fires.all.map(\.deadline) == [at(1_000_500)])
        #expect(fires.all.map(\.firedAt) == [at(1_000_500)])
        #expect(wall.liveTimers == 0)
    }

    @Test("A step forward fires the timers it passes at once, in order, and no others")
    func stepForward() {
        for ns in [3_000_000, 1_500_000, 2_000_000, 2_000_001] as [Int64] {
            wall.schedule(at: at(ns), handler: fires.append)
        }
        monotonic.schedule(at: MonotonicInstant(nanoseconds: 1001), handler: monotonicFires.append)
        time.setWall(to: at(2_000_000))
        #expect(fires.all.map(\.deadline) == [at(1_500_000), at(2_000_000)])
        #expect(fires.all.map(\.firedAt) == [at(2_000_000), at(2_000_000)])
        #expect(fires.all.map(\.lateness) == [.nanoseconds(500_000), .zero])
        #expect(monotonicFires.count == 0)
        #expect(wall.liveTimers == 2)
        time.advance(by: .nanoseconds(1))
        #expect(fires.count == 3)
        #expect(monotonicFires.count == 1)
    }

    @Test("A step back delays pending timers until the clock reaches their deadlines again")
    func stepBack() {
        wall.schedule(at: at(1_000_500), handler: fires.append)
        time.advance(by: .nanoseconds(499))
        time.setWall(to: at(0))
        time.advance(by: .nanoseconds(1_000_499))
        #expect(fires.count == 0)
        time.advance(by: .nanoseconds(1))
        #expect(fires.all.map(\.firedAt) == [at(1_000_500)])
    }

    @Test("After a step back, new deadlines that the clock had passed before fire in order, and none early")
    func armedAfterStepBack() {
        for ns in [1_500_000, 900_000_000, 70_000_000_000] as [Int64] {
            wall.schedule(at: at(ns), handler: fires.append)
        }
        time.advance(by: .seconds(60))
        #expect(fires.count == 2)
        time.setWall(to: at(0))
        // More deadlines than the queue keeps in one sorted run, shuffled.
        let deadlines = (0..<500).map { at(Int64($0 * 7919 % 500) * 100_000_000) }
        for deadline in deadlines { wall.schedule(at: deadline, handler: fires.append) }
        time.advance(by: .seconds(80))
        #expect(fires.all.dropFirst(2).map(\.deadline) == deadlines.sorted() + [at(70_000_000_000)])
        #expect(fires.all.dropFirst(2).allSatisfy { $0.firedAt == $0.deadline })
    }

    @Test("A repeating wall timer keeps its grid: a step forward gives one call with a count, a step back a pause")
    func grid() {
        wall.schedule(at: at(1_000_100), every: .nanoseconds(100), handler: fires.append)
        time.advance(by: .nanoseconds(150))
        time.setWall(to: at(1_000_550))
        time.advance(by: .nanoseconds(100))
        time.setWall(to: at(1_000_000))
        time.advance(by: .nanoseconds(699))
        #expect(fires.all.map(\.deadline) == [at(1_000_100), at(1_000_200), at(1_000_600)])
        #expect(fires.all.map(\.missedTicks) == [0, 3, 0])
        time.advance(by: .nanoseconds(1))
        #expect(fires.all.last?.deadline == at(1_000_700))
    }

    @Test("When a handler sets the clock back, the timer's next ticks wait until the clock reaches them again")
    func stepInHandler() {
        let (wall, time, fires) = (wall, time, fires)
        wall.schedule(at: at(1_000_100), every: .nanoseconds(100)) { fire in
            fires.append(fire)
            if fires.count == 2 { time.setWall(to: WallInstant(nanoseconds: 1_000_000)) }
            if fires.count == 3 { wall.cancel(fire.token) }
        }
        time.advance(by: .nanoseconds(200))
        #expect(fires.count == 2)
        time.advance(by: .nanoseconds(299))
        #expect(fires.count == 2)
        time.advance(by: .nanoseconds(1))
        #expect(fires.all.map(\.deadline) == [at(1_000_100), at(1_000_200), at(1_000_300)])
    }

    @Test("Boot time and the wall clock go on while the system is suspended; the monotonic clock does not")
    func suspended() {
        boot.schedule(at: BootTimeInstant(nanoseconds: 5000), every: .nanoseconds(1000), handler: bootFires.append)
        wall.schedule(at: at(1_004_000), handler: fires.append)
        monotonic.schedule(at: MonotonicInstant(nanoseconds: 5000), handler: monotonicFires.append)
        time.suspendSystem(for: .nanoseconds(6500))
        #expect(bootFires.all.map(\.missedTicks) == [2])
        #expect(bootFires.all.map(\.firedAt) == [BootTimeInstant(nanoseconds: 7500)])
        #expect(fires.all.map(\.firedAt) == [at(1_006_500)])
        #expect(monotonicFires.count == 0)
        #expect(monotonic.now == MonotonicInstant(nanoseconds: 1000))
        time.suspendSystem(for: .nanoseconds(-1))
        #expect(boot.now == BootTimeInstant(nanoseconds: 7500))
        time.advance(to: MonotonicInstant(nanoseconds: 5000))
        #expect(monotonicFires.count == 1)
    }

    @Test("Setting the wall clock moves neither of the other clocks")
    func othersStandStill() {
        boot.schedule(at: BootTimeInstant(nanoseconds: 1001), handler: bootFires.append)
        for ns in [Int64.max, .min, 0, .max - 1] { time.setWall(to: at(ns)) }
        #expect(bootFires.count == 0)
        #expect(boot.now == BootTimeInstant(nanoseconds: 1000))
    }

    @Test("Every deadline is safe on a wall clock that was set to any instant", .hangLimit)
    func anyValue() {
        for step in [Int64.min, -1, 0, 1_000_000, .max - 1, .max] {
            time.setWall(to: at(step))
            for deadline in [Int64.min, -1, 0, step, .max - 1, .max] {
                let token = wall.schedule(at: at(deadline), every: .seconds(3600), handler: fires.append)
                time.advance(by: .nanoseconds(1))
                wall.cancel(token)
            }
        }
        #expect(wall.liveTimers == 0)
        #expect(fires.all.allSatisfy { $0.lateness >= .zero })
    }

    @Test("Wall timers are moved, cancelled and shut down as on the monotonic clock")
    func lifecycle() {
        let canaries = Canaries()
        let canary = canaries.make()
        let token = wall.schedule(at: .distantFuture) { _ in withExtendedLifetime(canary) {} }
        let other = wall.schedule(at: at(1_000_001), handler: fires.append)
        #expect(wall.reschedule(other, at: at(1_000_300)))
        #expect(wall.cancelAndWait(other))
        #expect(!wall.reschedule(other, at: .now))
        time.advance(by: .seconds(1))
        #expect(fires.count == 0)
        #expect(wall.liveTimers == 1)
        wall.shutdown()
        #expect(!wall.cancel(token))
        #expect(wall.statistics.fires == 0)
        #expect(wall.lateness.count == 0)
    }

    @Test("Wall and boot-time instants saturate, and their descriptions are in seconds")
    func instants() {
        #expect(WallInstant.distantFuture.advanced(by: .seconds(-1)) == .distantFuture)
        #expect(WallInstant(nanoseconds: .max - 1).advanced(by: .seconds(1)) == .distantFuture)
        #expect(BootTimeInstant(nanoseconds: 5).duration(to: BootTimeInstant(nanoseconds: 3)) == .nanoseconds(-2))
        #expect("\(BootTimeInstant(nanoseconds: 1_500_000_000))" == "1.500000000 s")
        #expect("\(WallInstant.distantPast)" == "distantPast")
        #expect(WallInstant.now > WallInstant(nanoseconds: 1_700_000_000_000_000_000))
    }

    @Test("Engines wait by futex by default; on boot time, which the futex lacks, requesting it throws")
    func ways() throws {
        #expect(TimerEngine.Configuration().parkStrategy == .futex)
        #expect(TimerEngine.Configuration(parkStrategy: .timerfd).parkStrategy == .timerfd)
        _ = try BootTimeTimerEngine()
        #expect(throws: TimerError.self) { try BootTimeTimerEngine(.init(parkStrategy: .futex)) }
        do {
            _ = try BootTimeTimerEngine(.init(parkStrategy: .futex))
        } catch {
            #expect(
                "\(error)" == "cannot make a park strategy (futex, on the clock bootTime): Operation not supported"
            )
        }
    }

    /// What a handler arms at ten seconds, after it has set the wall clock.
    enum Arming: String, CaseIterable, Sendable {
        case schedule, scheduleTolerant, schedulePrecise, rescheduleItself, rescheduleAnother, fixedDelay
    }

    @Test(
        "After a handler has set the wall clock back, what it arms for ten seconds later comes ten seconds later",
        arguments: Arming.allCases,
        TimerPrecision.allCases
    )
    func setBackInHandler(_ arming: Arming, _ precision: TimerPrecision) throws {
        let engine = try WallTimerEngine(.init(precision: precision, time: time.base))
        let fires = fires
        let another = engine.schedule(at: .distantFuture, handler: fires.append)
        let policy = arming == .fixedDelay ? MissedTickPolicy.delay : .merge
        let interval = arming == .fixedDelay ? Duration.seconds(10) : nil
        time.advance(by: .seconds(7200))
        let isSetBack = Recorder<Bool>()
        engine.schedule(at: time.wallNow + .seconds(1), every: interval, policy: policy) { [time] fire in
            guard isSetBack.count == 0 else { return fires.append(fire) }
            isSetBack.append(true)
            time.setWall(to: time.wallNow - .seconds(3600))
            let deadline = time.wallNow + .seconds(10)
            switch arming {
            case .schedule: engine.schedule(at: deadline, handler: fires.append)
            case .scheduleTolerant: engine.schedule(at: deadline, tolerance: .nanoseconds(1), handler: fires.append)
            case .schedulePrecise: engine.schedule(at: deadline, precision: .precise, handler: fires.append)
            case .rescheduleItself: engine.reschedule(fire.token, at: deadline)
            case .rescheduleAnother: engine.reschedule(another, at: deadline)
            case .fixedDelay: break
            }
        }
        time.advance(by: .seconds(1))
        let armed = time.wallNow
        time.advance(by: .nanoseconds(9_999_999_999))
        #expect(fires.count == 0)
        // A tolerance of 1 ns may be used.
        time.advance(by: .nanoseconds(2))
        #expect(fires.all.map(\.deadline) == [armed + .seconds(10)])
        engine.shutdown()
    }
}
