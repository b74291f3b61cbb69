// SPDX-License-Identifier: Apache-2.0
import CHRTimer
import Dispatch
import Foundation
import HRTimer
import Synchronization

/// Prints what a 1 ms timer does in 300 ms on a clock that may tick only once a millisecond: "calls wake-ups spun_us cpu_us
/// early warnings". The arguments name the timer's face and its precision.
@MainActor func coarseClock(_ arguments: [String]) {
    guard arguments.count == 2, let precision = TimerPrecision.allCases.first(where: { "\($0)" == arguments[1] }) else {
        print(
            "coarse-clock (futex, timerfd, libevent, loop, loop-with-source, served-loop, wait-futex, wait-libevent) precision"
        )
        exit(2)
    }
    let warnings = Atomic<Int>(0)
    UsageWarning.handler = { if $0.kind == .coarseClock { warnings.wrappingAdd(1, ordering: .relaxed) } }
    let counts = Counts()
    let cpu_ns = hrt_clock_process_cpu_ns()
    do {
        let (wakeups, spun) =
            if arguments[0] == "wait" {
                try waits(counts)
            } else if let way = ParkStrategy.allCases.first(where: { "\($0)" == arguments[0] }) {
                try onEngine(way, precision, counts)
            } else {
                try onLoop(arguments[0], precision, counts)
            }
        let cpu_us = (hrt_clock_process_cpu_ns() - cpu_ns) / 1000
        print(counts.calls, wakeups, spun / .microseconds(1), cpu_us, counts.early, warnings.load(ordering: .relaxed))
    } catch {
        print(error)
    }
}

private final class Counts: Sendable {
    private let called = Atomic<Int>(0)
    private let calledEarly = Atomic<Int>(0)

    var calls: Int { called.load(ordering: .relaxed) }
    var early: Int { calledEarly.load(ordering: .relaxed) }

    func call(_ deadline: MonotonicInstant) {
        called.wrappingAdd(1, ordering: .relaxed)
        if MonotonicInstant.now < deadline { calledEarly.wrappingAdd(1, ordering: .relaxed) }
    }
}

private let runFor = Duration.milliseconds(300)
/// The first deadline, which is not where a millisecond begins.
private var first: MonotonicInstant { .now.advanced(by: .microseconds(1370)) }

private func onEngine(
    _ way: ParkStrategy,
    _ precision: TimerPrecision,
    _ counts: Counts
) throws -> (wakeups: UInt64, spun: Duration) {
    let engine = try TimerEngine(.init(parkStrategy: way, precision: precision))
    engine.schedule(at: first, every: .milliseconds(1)) { counts.call($0.deadline) }
    Thread.sleep(forTimeInterval: runFor / .seconds(1))
    engine.shutdown()
    return (engine.statistics.wakeups, engine.statistics.spinTime)
}

/// Makes bare waits, without an engine that would look at the clock again.
private func waits(_ counts: Counts) throws -> (wakeups: UInt64, spun: Duration) {
    let waiter = try Waiter(.futex)
    for number in 0..<60 as Range<Int64> {
        let deadline = MonotonicInstant.now.advanced(by: .microseconds(3370 + 17 * number))
        waiter.wait(until: deadline.nanoseconds)
        counts.call(deadline)
    }
    return (0, .zero)
}

private func onLoop(
    _ face: String,
    _ precision: TimerPrecision,
    _ counts: Counts
) throws -> (wakeups: UInt64, spun: Duration) {
    let loop = TimerLoop()
    loop.precision = precision
    var ends: [Int32] = [0, 0]
    pipe(&ends)
    if face == "loop-with-source" { try loop.add(LoopSource(descriptor: ends[0]) { _, _ in }, forMode: .default) }
    let timer = LoopTimer(fireAt: first, interval: .milliseconds(1), repeats: true) { counts.call($0.fireInstant) }
    loop.add(timer, forMode: .default)
    if face == "served-loop" {
        try loop.serve(on: DispatchQueue(label: "served"))
        Thread.sleep(forTimeInterval: runFor / .seconds(1))
    } else {
        loop.run(for: runFor)
    }
    return (loop.statistics.wakeups, loop.statistics.spinTime)
}
