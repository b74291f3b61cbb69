import HRTimer
import Synchronization

/// Why steps were late, from what the engine knows. Where a report of the library's own explains each late fire, it belongs here: in
/// `print`, after the histograms.
final class Explanation: Sendable {
    private struct Late: Sendable {
        var fire: TimerFire
        var afterHandler: Duration
    }

    /// What the handler before took, and what was later than the bound.
    private let state = Mutex<(handler: Duration, late: [Late])>((.zero, []))
    static let bound = Duration.microseconds(200)

    func noteHandler(took duration: Duration) { state.withLock { $0.handler = duration } }

    /// The engine's watch.
    func note(_ fire: TimerFire) {
        state.withLock { $0.late.append(Late(fire: fire, afterHandler: $0.handler)) }
    }

    func print(_ engine: TimerEngine, steps: Int) {
        let statistics = engine.statistics
        let late = state.withLock { $0.late }
        Swift.print("\nWhy late:")
        Swift.print("  lateness       \(engine.lateness)")
        Swift.print("  wake latency   \(engine.wakeLatency)")
        if let coverage = statistics.spinCoverage {
            let limit = statistics.spinLimit.map { ", more is kept back by: \($0)" } ?? ""
            let share = Double(Int(coverage * 1000)) / 10
            Swift.print(
                "  spin window    covered \(share) % of \(statistics.earlyWakes) early wake-ups\(limit); spun \(statistics.spinTime)"
            )
        }
        for result in engine.settingResults { Swift.print("  \(result)") }
        let byHandler = late.count { $0.afterHandler > Self.bound }
        let byWake = late.count - byHandler
        Swift.print(
            "  \(late.count) of \(steps) steps later than \(Self.bound), or after others that were left out: \(byHandler) behind a handler, \(byWake) by their wake-up"
        )
        for entry in late.sorted(by: { $0.fire.lateness > $1.fire.lateness }).prefix(5) {
            let cause =
                entry.afterHandler > Self.bound
                ? "the handler before took \(entry.afterHandler)" : "the thread woke late"
            Swift.print("    late by \(entry.fire.lateness), \(entry.fire.missedTicks) missed: \(cause)")
        }
    }
}
