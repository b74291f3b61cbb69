// SPDX-License-Identifier: Apache-2.0
import HRTimer
import HRTimerTesting
import Seeded

/// A clock that stands still, and deadlines on it that are the same in each run.
struct FrozenWorld {
    /// Later than any machine has been up: a loop's timer notes whether its instant has passed on the kernel's clock too, and that
    /// costs more.
    private let start = MonotonicInstant(nanoseconds: 1_000_000_000_000_000_000)
    private let time: ManualTime

    init() {
        time = ManualTime(start: start)
    }

    /// So many timers are due at one instant: a move of `ManualTime`, which is no part of a fire, costs as much as some.
    static let batch = 50

    func makeEngine() throws -> TimerEngine { try TimerEngine(.init(name: "counted", time: time.base)) }

    /// Returns a loop that moves the clock when it would sleep.
    func makeLoop() -> TimerLoop { TimerLoop(time: time.base) }

    /// Moves the clock, and calls what falls due.
    func advance(to instant: MonotonicInstant) { time.advance(to: instant) }

    /// Returns a deadline for each operation, at random in the second hour from the start and `delay` later.
    func deadlines(later delay: Duration = .zero) -> [MonotonicInstant] {
        var random = SeededRandom(seed: 1)
        let zero = start.advanced(by: .seconds(3600) + delay)
        return (0..<CountedOperation.most).map { _ in
            zero.advanced(by: .nanoseconds(Int64.random(in: 0..<3_600_000_000_000, using: &random)))
        }
    }

    /// Returns the deadline of the timer with that index if timers fire batch by batch, 1 ms apart.
    func batchDeadline(_ index: Int) -> MonotonicInstant {
        start.advanced(by: .milliseconds(index / Self.batch + 1))
    }

    /// Fires the first timers of those batches.
    func fire(first count: Int) { advance(to: batchDeadline(count - 1)) }

    /// Traps if other calls were made than those that are counted.
    func check(_ statistics: TimerStatistics, fires count: Int) {
        precondition(statistics.fires == UInt64(count), "\(statistics.fires) fires, not \(count)")
    }
}
