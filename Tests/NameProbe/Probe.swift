// SPDX-License-Identifier: Apache-2.0
// A client that imports everything a user may have beside us. It does not compile if one of our names makes a system's name
// ambiguous, or takes its place. Nothing here needs to run.
import Dispatch
import Foundation
import HRTimer
import Synchronization
import Testing

private struct Probe {
    var timer: Timer?
    var loop: RunLoop?
    var mode: RunLoop.Mode?
    var thread: Thread?
    var process: Process?
    var date: Date?
    var interval: TimeInterval?
    var source: (any DispatchSourceTimer)?
    var time: DispatchTime?
    var duration: Duration?
    var continuous: ContinuousClock.Instant?
    var suspending: SuspendingClock.Instant?
    var executor: (any Executor)?
    var specification: timespec?
    var ours: (TimerEngine, TimerSource, MonotonicClock, MonotonicInstant, MissedTickPolicy, TimerToken, TimerFire)?
    var faces: (LoopTimer, TimerLoop, TimerLoop.Mode, DisplayLink, FrameRate)?
    var displays: (VsyncSource, FrameRateRange, WakeLead, FrameRateMeter, FrameCoalescer<Int>)?
    var more: (LatencyHistogram, TimerStatistics, TimerPrecision, TimeBase)?
    var lives: (SuspensionMonitor, BackgroundGrace, LoopWorker)?
    var tasks: (IdleTimeout, TimerTicks<MonotonicInstant>, TimerTick<MonotonicInstant>)?
    var error: TimerError?
}

/// Conforms to Swift's protocol, not to one of ours.
private struct StillAClock: Clock {
    var now: ContinuousClock.Instant { .now }
    var minimumResolution: Duration { .zero }
    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {}
}

@Test("The system's names mean the system's types in a file that imports HRTimer")
func names() {
    #expect(Probe().timer == nil)
    #expect(ObjectIdentifier(Timer.self) == ObjectIdentifier(Foundation.Timer.self))
    #expect(ObjectIdentifier(RunLoop.self) == ObjectIdentifier(Foundation.RunLoop.self))
    #expect(ObjectIdentifier(Duration.self) == ObjectIdentifier(Swift.Duration.self))
    #expect(StillAClock().minimumResolution == .zero)
}
