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
            isPinned: false,
            isExtra: false,
            rivals: [
                rival("hrtimer.engine", beyond: nil),
                rival("hrtimer.engine.watched", beyond: .seconds(3600)),
                rival("hrtimer.engine.recorded", beyond: .seconds(3600), isRecorded: true),
                rival("hrtimer.engine.late", beyond: .zero),
            ]
        ),
        OperationComparison(
            operation: "watched-wake",
            explanation:
                "a fire of its own wake-up, each 200 us: with what a watch reads when the thread goes to sleep",
            timers: 1,
            baseID: "hrtimer.engine",
            isPinned: false,
            isExtra: false,
            rivals: [
                OperationRival("hrtimer.engine") { _ in try wakes(isWatched: false) },
                OperationRival("hrtimer.engine.watched") { _ in try wakes(isWatched: true) },
            ]
        ),
    ]

    private static func rival(_ id: String, beyond bound: Duration?, isRecorded: Bool = false) -> OperationRival {
        OperationRival(id) { _ in
            try FireOperations.fireAll(1000) { count in
                let crowd = try EngineCrowd(count: count)
                if isRecorded { crowd.engine.flightRecorder = FlightRecorder(lateBeyond: .seconds(3600)) }
                if let bound { crowd.engine.onLate(beyond: bound) { _ in } }
                return crowd
            }
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
