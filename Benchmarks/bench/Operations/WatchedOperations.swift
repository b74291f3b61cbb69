// SPDX-License-Identifier: Apache-2.0
import CBench
import HRTimer

/// The cost of watching an engine, `onLate(beyond:)`, for a fire: not watched, watched and in time, watched and late.
enum WatchedOperations {
    static let comparisons = [
        OperationComparison(
            operation: "watched",
            explanation:
                "a fire of a thousand at one instant: of an engine that nobody watches, watched and in time, watched and late",
            timers: 1000,
            baseID: "hrtimer.engine",
            rivals: [
                OperationRival(id: "hrtimer.engine") { _ in try fires { _ in } },
                OperationRival(id: "hrtimer.engine.watched") { _ in
                    try fires { $0.onLate(beyond: .seconds(3600)) { _ in } }
                },
                OperationRival(id: "hrtimer.engine.recorded") { _ in
                    try fires {
                        $0.flightRecorder = FlightRecorder(lateBeyond: .seconds(3600))
                        $0.onLate(beyond: .seconds(3600)) { _ in }
                    }
                },
                OperationRival(id: "hrtimer.engine.late") { _ in try fires { $0.onLate(beyond: .zero) { _ in } } },
            ]
        ),
        OperationComparison(
            operation: "watched-wake",
            explanation:
                "a fire of its own wake-up, each 200 us: with what a watch reads when the thread goes to sleep",
            baseID: "hrtimer.engine",
            rivals: [
                OperationRival(id: "hrtimer.engine") { _ in try wakes(isWatched: false) },
                OperationRival(id: "hrtimer.engine.watched") { _ in try wakes(isWatched: true) },
            ]
        ),
    ]

    private static func fires(_ watch: (TimerEngine) -> Void) throws -> OperationSample {
        try FireOperations.fireAll(1000) {
            let crowd = try EngineCrowd()
            watch(crowd.engine)
            return crowd
        }
    }

    /// Returns the processor time per fire of the engine's thread.
    private static func wakes(isWatched: Bool) throws -> OperationSample {
        let engine = try TimerEngine(.init(name: "bench-watched"))
        defer { engine.shutdown() }
        if isWatched { engine.onLate(beyond: .seconds(3600)) { _ in } }
        let count = CrowdCount(goal: 500)
        engine.schedule(after: .milliseconds(5), every: .microseconds(200)) { _ in count.addOne() }
        guard let (first, last) = count.waitForGoal() else { throw BenchError("500 fires took more than 10 seconds") }
        let cpu_ns = Double(last.usage.thread_cpu_ns - first.usage.thread_cpu_ns) / 499
        return OperationSample(nsPerOp: cpu_ns, cpuPerOp_ns: cpu_ns)
    }
}
