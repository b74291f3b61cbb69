// SPDX-License-Identifier: Apache-2.0
import HRTimer

/// The timers of a soak, and their distribution over the faces.
struct SoakPlan: Sendable {
    /// A face, and its share of the timers in thousandths.
    struct Face: Sendable {
        let id: String
        let share: Int
        let make: @Sendable () throws -> any Crowd

        init(_ id: String, _ share: Int, _ make: @escaping @Sendable () throws -> any Crowd) {
            self.id = id
            self.share = share
            self.make = make
        }
    }

    /// Most of a server's timers are timeouts of its engine; tasks are few, because each has its own stack.
    static let faces: [Face] = [
        Face("hrtimer.engine.repeating", 700) { try EngineCrowd(.normal) },
        Face("hrtimer.engine.one-shot", 120) { try OneShotCrowd() },
        Face("hrtimer.source.normal", 80) { try SourceCrowd(.normal) },
        Face("hrtimer.source.precise", 5) { try SourceCrowd(.precise) },
        Face("hrtimer.source.coalesced", 20) { try SourceCrowd(.coalesced) },
        Face("hrtimer.source.dispatch-queue", 10) { try SourceCrowd(.normal, onQueue: true) },
        Face("hrtimer.loop-timer", 45) { LoopTimerCrowd(.normal) },
        Face("hrtimer.clock-sleep", 10) { try TaskCrowd.monotonicClock(onExecutor: false) },
        Face("hrtimer.executor-sleep", 10) { try TaskCrowd.monotonicClock(onExecutor: true) },
    ]

    let timers: Int
    /// The fires per second of all timers together.
    let rate: Double
    let duration_ns: Int64
    /// A fire later than this counts as late.
    let lateBound_ns: Int64
    let seed: UInt64

    /// The interval of each timer.
    var interval_ns: Int64 { max(1_000_000, Int64((Double(timers) / rate * 1e9).rounded())) }

    /// The number of timers of each face: at least one, and in total the requested number, if that is large enough.
    var timersByFace: [Int] {
        var counts = Self.faces.map { max(1, timers * $0.share / 1000) }
        counts[0] = max(1, timers - counts.dropFirst().reduce(0, +))
        return counts
    }

    /// Returns how much the resident memory may grow and still count as flat: by a hundredth, or by 4 MiB if that is more.
    static func allowedGrowth(of bytes: Int) -> Int { max(bytes / 100, 4 << 20) }

    /// Returns how much the resident memory grew: the difference between the medians of the last and the second quarter of
    /// the samples. The first quarter, in which pools fill, is left out. Returns nil for fewer than eight samples.
    static func growth(_ samples: [Int]) -> Int? {
        guard samples.count >= 8 else { return nil }
        let quarter = samples.count / 4
        func middle(_ part: ArraySlice<Int>) -> Int { part.sorted()[part.count / 2] }
        return middle(samples.suffix(quarter)) - middle(samples[quarter..<2 * quarter])
    }
}
