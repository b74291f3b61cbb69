// SPDX-License-Identifier: Apache-2.0
import HRTimerCore
import TestSupport
import Testing

@testable import HRTimer

/// Synthetic traces: samples of a process's clocks, with all times in milliseconds.
@Suite struct AbsenceDetectorTests {
    /// A detector with a heartbeat every 50 ms, a bound of 50 ms and two processors.
    private func detector() -> AbsenceDetector {
        AbsenceDetector(heartbeat_ns: ms(50), bound_ns: ms(50), processors: 2, first: sample(0))
    }

    private func ms(_ count: Int64) -> Int64 { count * 1_000_000 }

    private func sample(_ at: Int64, suspended: Int64 = 0, used: Int64 = 0, waited: Int64? = 0, wall: Int64? = nil)
        -> PresenceSample
    {
        PresenceSample(
            monotonic_ns: ms(at),
            suspended_ns: ms(suspended),
            used_ns: ms(used),
            waited_ns: waited.map { ms($0) },
            wallAhead_ns: wall.map { ms($0) }
        )
    }

    @Test("Heartbeats that are late by less than the bound are no absence")
    func present() {
        var detector = detector()
        for at in [50, 100, 199, 298, 300] as [Int64] { #expect(detector.absence(at: sample(at)) == nil) }
    }

    @Test("A process that is late without running or waiting was stopped, for the lateness or up to a heartbeat longer")
    func stopped() throws {
        var detector = detector()
        let found = detector.absence(at: sample(350, used: 40, waited: 3))
        let absence = try #require(found)
        #expect(absence.cause == .processStopped)
        #expect(absence.duration == .milliseconds(300))
        #expect(absence.uncertainty == .milliseconds(50))
        #expect(absence.suspended == .zero)
        #expect(absence.noticedAt.nanoseconds == ms(350))
        #expect(detector.absence(at: sample(400)) == nil)
    }

    @Test("Lateness of exactly the bound is an absence, and a nanosecond less is none")
    func bound() {
        var exact = detector()
        var less = detector()
        var sample = sample(100)
        #expect(exact.absence(at: sample)?.duration == .milliseconds(50))
        sample.monotonic_ns -= 1
        #expect(less.absence(at: sample) == nil)
    }

    @Test("Lateness during which the thread waited for a processor half of the time is an overload")
    func waited() {
        var detector = detector()
        #expect(detector.absence(at: sample(350, waited: 150))?.cause == .overloaded)
        #expect(detector.absence(at: sample(700, waited: 299))?.cause == .processStopped)
    }

    @Test("Without the scheduler's wait times, processor time that must fall into the absence shows an overload")
    func used() {
        var busy = detector()
        var stopped = detector()
        // Up to 50 ms on each of the two processors may have been used before the absence began.
        #expect(stopped.absence(at: sample(350, used: 100, waited: nil))?.cause == .processStopped)
        #expect(busy.absence(at: sample(350, used: 101, waited: nil))?.cause == .overloaded)
    }

    @Test("A suspension of the system is reported exactly, whether the heartbeat is late or not")
    func suspended() throws {
        var detector = detector()
        let found = detector.absence(at: sample(50, suspended: 3_600_000))
        let foundNext = detector.absence(at: sample(200, suspended: 3_601_000))
        let (punctual, late) = (try #require(found), try #require(foundNext))
        #expect(punctual.cause == .systemSuspended)
        #expect(punctual.duration == .seconds(3600))
        #expect(punctual.suspended == .seconds(3600))
        #expect(punctual.uncertainty == .zero)
        #expect(late.cause == .systemSuspended)
        #expect(late.duration == .milliseconds(1100))
        #expect(late.suspended == .seconds(1))
    }

    @Test("Suspensions too short to be reported add up until they are long enough, and are then reported once")
    func shortSuspensions() {
        var detector = detector()
        #expect(detector.absence(at: sample(50, suspended: 30)) == nil)
        #expect(detector.absence(at: sample(100, suspended: 49)) == nil)
        #expect(detector.absence(at: sample(150, suspended: 70))?.suspended == .milliseconds(70))
        #expect(detector.absence(at: sample(200, suspended: 70)) == nil)
    }

    @Test("Clocks that go back are no absence, and extreme values do not overflow")
    func extremes() {
        var detector = detector()
        #expect(detector.absence(at: sample(-1000, suspended: -1000)) == nil)
        var sample = sample(-1000)
        sample.suspended_ns = .min
        #expect(detector.absence(at: sample) == nil)
        sample.monotonic_ns = .max
        sample.used_ns = .max
        #expect(detector.absence(at: sample)?.cause == .overloaded)
    }

    @Test("Without a heartbeat a stop is not reported, but a suspension of the system is")
    func noHeartbeat() {
        var detector = AbsenceDetector(heartbeat_ns: .max, bound_ns: ms(50), processors: 2, first: sample(0))
        #expect(detector.absence(at: sample(100_000)) == nil)
        #expect(detector.absence(at: sample(100_000, suspended: 50))?.cause == .systemSuspended)
    }

    @Test("Restored with both clocks an hour ahead: the process was stopped for an hour, and no step is reported")
    func restoredWithBothClocks() throws {
        var detector = detector()
        _ = detector.absence(at: sample(50, wall: 1000))
        let found = detector.absence(at: sample(100 + 3_600_000, wall: 1000))
        let absence = try #require(found)
        #expect(absence.cause == .processStopped)
        #expect(absence.duration == .seconds(3600))
        #expect(absence.wallClockStep == .zero && absence.suspended == .zero)
        #expect(detector.absence(at: sample(150 + 3_600_000, wall: 1000)) == nil)
    }

    @Test(
        "Restored with a monotonic clock that stood still, the wall clock corrected by an hour: the step is told, once"
    )
    func restoredWithTheWallClockAlone() throws {
        var detector = detector()
        _ = detector.absence(at: sample(50, wall: 1000))
        let found = detector.absence(at: sample(100, wall: 1000 + 3_600_000))
        let absence = try #require(found)
        #expect(absence.cause == .wallClockStepped)
        #expect(absence.duration == .seconds(3600) && absence.wallClockStep == .seconds(3600))
        #expect(absence.suspended == .zero && absence.uncertainty == .zero)
        #expect(detector.absence(at: sample(150, wall: 1000 + 3_600_000)) == nil)
    }

    @Test("A stop and a step in one absence: its cause is the longer of the two, and its duration is their sum")
    func stoppedAndStepped() throws {
        var detector = detector()
        _ = detector.absence(at: sample(50, wall: 0))
        let foundStep = detector.absence(at: sample(200, wall: 300))
        let stepped = try #require(foundStep)
        #expect(stepped.cause == .wallClockStepped && stepped.duration == .milliseconds(400))
        let foundStop = detector.absence(at: sample(1250, wall: 500))
        let stopped = try #require(foundStop)
        #expect(stopped.cause == .processStopped && stopped.duration == .milliseconds(1200))
    }

    @Test("A wall clock that is set back, slewed, or set ahead by less than the bound is no absence")
    func noStep() {
        var detector = detector()
        _ = detector.absence(at: sample(50, wall: 1000))
        #expect(detector.absence(at: sample(100, wall: 1049)) == nil)
        #expect(detector.absence(at: sample(150, wall: -3_600_000)) == nil)
        // A slew of 500 ppm, sampled once in ten minutes.
        var patient = AbsenceDetector(heartbeat_ns: .max, bound_ns: ms(50), processors: 2, first: sample(0, wall: 0))
        #expect(patient.absence(at: sample(600_000, wall: 300)) == nil)
        #expect(patient.absence(at: sample(1_200_000, wall: 300 + 650))?.cause == .wallClockStepped)
    }
}
