// SPDX-License-Identifier: Apache-2.0
import HRTimer
import Synchronization

/// Why steps were late: the library's lateness reports, with the worst of them and their sums by cause.
final class Explanation: Sendable {
    private let reports = Mutex<[LatenessReport]>([])
    static let bound = Duration.microseconds(200)

    /// Notes a report. Called on the engine's thread, after the late handler.
    func note(_ report: LatenessReport) { reports.withLock { $0.append(report) } }

    func print(_ engine: TimerEngine, steps: Int) {
        let statistics = engine.statistics
        let reports = reports.withLock { $0 }
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
        Swift.print("  \(reports.count) of \(steps) fires were later than \(Self.bound), by their main cause:")
        for cause in LatenessCause.allCases {
            let count = reports.count { $0.mainCause == cause }
            if count > 0 { Swift.print("    \(count) \(cause.rawValue)") }
        }
        Swift.print("  the latest of them:")
        for report in reports.sorted(by: { $0.lateness > $1.lateness }).prefix(5) { Swift.print("    \(report)") }
    }
}
