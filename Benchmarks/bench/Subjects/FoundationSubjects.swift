// SPDX-License-Identifier: Apache-2.0
import CBench
import Foundation

extension Subject {
    /// Foundation's timers, on a run loop of the measuring thread.
    static let foundation: [Subject] = [
        Subject("foundation.timer", "Timer on a RunLoop, tolerance 0, repeating") { measureTimer($0, tolerance: 0) },
        Subject("foundation.timer-tolerance", "the same with a tolerance of a tenth of the interval", isDefault: false)
        {
            measureTimer($0, tolerance: 0.1)
        },
        Subject("foundation.thread-sleep", "Thread.sleep(until:), one call for each deadline") {
            let dates = DateGrid()
            $0.fill(bySleeping: { Thread.sleep(until: dates.date(at: $0)) })
        },
        Subject("foundation.run-until", "RunLoop.run(until:), one call for each deadline", isDefault: false) {
            let dates = DateGrid()
            let loop = RunLoop.current
            // A loop without timers and sources does not wait.
            let never = Timer(fire: .distantFuture, interval: 0, repeats: false) { _ in }
            loop.add(never, forMode: .default)
            defer { never.invalidate() }
            $0.fill(bySleeping: { loop.run(until: dates.date(at: $0)) })
        },
    ]

    /// `tolerance` is a fraction of the interval.
    private static func measureTimer(_ recorder: BlockRecorder, tolerance: Double) {
        let dates = DateGrid()
        let loop = RunLoop.current
        let first = dates.date(at: recorder.begin())
        let timer = Timer(fire: first, interval: Double(recorder.interval_ns) / 1e9, repeats: true) { timer in
            let woke_ns = cbench_now_ns()
            // Without timers the mode is empty, which ends the loop.
            if !recorder.fire(woke_ns) { timer.invalidate() }
        }
        timer.tolerance = tolerance * timer.timeInterval
        loop.add(timer, forMode: .default)
        while timer.isValid, loop.run(mode: .default, before: .distantFuture) {}
    }
}

/// Converts instants of `CLOCK_MONOTONIC` to dates, which count on the wall clock.
struct DateGrid {
    /// Wall clock minus monotonic clock.
    private let offset_ns: Int64

    init() {
        let (wall_ns, now_ns) = readTogether { cbench_wall_ns() }
        offset_ns = wall_ns - now_ns
    }

    /// Returns the first date that is not before the instant; dates of this century are 119 ns apart.
    func date(at instant_ns: Int64) -> Date {
        let reference_ns = Int64(Date.timeIntervalBetween1970AndReferenceDate) * 1_000_000_000
        let interval_ns = instant_ns + offset_ns - reference_ns
        return Date(timeIntervalSinceReferenceDate: (Double(interval_ns) / 1e9).nextUp)
    }
}

/// Reads another clock, and `CLOCK_MONOTONIC` right before it: of several readings the one with the least time between the
/// two. Any error makes instants of the other clock later, so that it cannot make a subject look early.
func readTogether<Instant>(_ otherClock: () -> Instant) -> (Instant, now_ns: Int64) {
    var best: (gap_ns: Int64, instant: Instant, now_ns: Int64)?
    for _ in 0..<16 {
        let before_ns = cbench_now_ns()
        let instant = otherClock()
        let gap_ns = cbench_now_ns() - before_ns
        if gap_ns < best?.gap_ns ?? .max { best = (gap_ns, instant, before_ns) }
    }
    return (best!.instant, best!.now_ns)
}
