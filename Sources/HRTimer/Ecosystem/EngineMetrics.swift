// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
#if Metrics
public import HRTimerCore
import Metrics

/// Reports what an engine does to the metrics system of the program (swift-metrics). Only with the package's trait `Metrics`. Any
/// thread.
///
///     var configuration = TimerEngine.Configuration()
///     configuration.recordLateness(label: "timers.lateness")
///     let engine = try TimerEngine(configuration)
///     let metrics = EngineMetrics(of: engine, label: "timers", every: .seconds(10))
public final class EngineMetrics: Sendable {
    private let engine: TimerEngine
    private let token: TimerToken

    /// Makes the engine, at that interval, add the increase of its counts to the counters LABEL.fires, .missed-ticks,
    /// .wakeups and .wakes-sent, and set the meter LABEL.timers to the number of its live timers. Where somebody watches the
    /// engine (`onLate(beyond:_:)`), it also adds to LABEL.late-fires, and to LABEL.lateness-ns for each `cause`, its
    /// dimension. The timer that does this is on the engine, which counts it too, until the last reference to this object
    /// goes.
    public init(of engine: TimerEngine, label: String, every interval: Duration = .seconds(10)) {
        self.engine = engine
        let report = EngineReport(label, engine.core)
        token = engine.schedule(after: interval, every: interval) { _ in report.reportChanges() }
    }

    deinit {
        engine.cancel(token)
    }
}

extension TimerEngine.Configuration {
    /// Makes the engine record each fire's lateness, in nanoseconds, in the metrics timer of that label: one call of the
    /// metrics system for each fire, on the engine's thread.
    public mutating func recordLateness(label: String) {
        let timer = Metrics.Timer(label: label)
        latenessWatch = .init(bound: .nanoseconds(-1)) { fire in
            timer.recordNanoseconds(fire.firedAt.nanoseconds.subtractingSaturating(fire.deadline.nanoseconds))
        }
    }
}

/// The counters of one engine, and the counts that were reported to them.
private final class EngineReport: Sendable {
    private let core: EngineCore
    private let fires: Counter
    private let missedTicks: Counter
    private let wakeups: Counter
    private let wakesSent: Counter
    private let lateFires: Counter
    private let causes: [LatenessCause: Counter]
    private let timers: Meter
    private let reported: Locked<TimerStatistics>

    init(_ label: String, _ core: EngineCore) {
        self.core = core
        fires = Counter(label: label + ".fires")
        missedTicks = Counter(label: label + ".missed-ticks")
        wakeups = Counter(label: label + ".wakeups")
        wakesSent = Counter(label: label + ".wakes-sent")
        lateFires = Counter(label: label + ".late-fires")
        let made = LatenessCause.allCases.map { cause in
            (cause, Counter(label: label + ".lateness-ns", dimensions: [("cause", cause.rawValue)]))
        }
        causes = Dictionary(uniqueKeysWithValues: made)
        timers = Meter(label: label + ".timers")
        reported = Locked(core.statistics)
    }

    func reportChanges() {
        let now = core.statistics
        let before = reported.withLock { reported in
            defer { reported = now }
            return reported
        }
        fires.increment(by: now.fires - before.fires)
        missedTicks.increment(by: now.missedTicks - before.missedTicks)
        wakeups.increment(by: now.wakeups - before.wakeups)
        wakesSent.increment(by: now.wakesSent - before.wakesSent)
        lateFires.increment(by: now.lateness.lateFires - before.lateness.lateFires)
        let causesBefore = before.lateness.byCause
        for (cause, time) in now.lateness.byCause {
            causes[cause]?.increment(by: (time - (causesBefore[cause] ?? .zero)).nanosecondsRoundedUp)
        }
        timers.set(core.liveTimers)
    }
}
#endif
#endif
