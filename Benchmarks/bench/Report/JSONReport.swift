// SPDX-License-Identifier: Apache-2.0
import Foundation
import HRTimerCore

/// The result for programs: schema 1. Members may be added; existing members keep their meaning.
struct JSONReport {
    /// One session, or one for each interval of a sweep.
    let sessions: [Session]
    let host: HostReport
    let command: [String]
    var load = LoadKind.none
    /// The settings that --tune and similar options requested.
    var grants: [Tuning.Grant] = []

    var text: String { value.text() + "\n" }

    /// Returns the text for people. It shows only what is in the JSON, so that `bench report` can show it again.
    func text(_ view: TextView) -> String {
        do {
            return ResultText(file: try ResultFile.parse(Data(text.utf8), name: "the result"), view: view).text
        } catch {
            // This program wrote the result: if it cannot read it, that is a bug of its own, but the result must not be
            // lost.
            return "bench: \(error)\n\(text)"
        }
    }

    var value: JSONValue {
        let first = sessions[0]
        let floors = sessions.flatMap(\.noiseFloors).map(noiseFloor)
        return .result(
            command,
            seed: first.plan.seed,
            isInterrupted: sessions.contains(where: \.wasInterrupted),
            host,
            results: sessions.flatMap { session in session.results.map { result($0, of: session) } },
            [
                "load": .string(load.text),
                "started_unix_ns": JSONValue(first.start.wall_ns),
                "grants": .array(grants.map { ["name": .string($0.name), "is_granted": .bool($0.error == 0)] }),
                "spin_budget": JSONValue(first.plan.spinBudget),
                "work_ns": JSONValue(first.plan.work_ns),
                "noise_floor": first.noiseFloors.first.map(noiseFloor) ?? .null,
                "noise_floors": .array(floors),
                "left_behind": [
                    "timers": JSONValue(sessions.reduce(0) { $0 + $1.leftBehind.timers }),
                    "descriptors": JSONValue(sessions.reduce(0) { $0 + $1.leftBehind.descriptors }),
                ],
            ]
        )
    }

    private func noiseFloor(_ floor: ResultFile.Floor) -> JSONValue {
        [
            "id": .string(floor.id),
            "kind": JSONValue(floor.kind?.rawValue),
            "interval_ns": JSONValue(floor.interval_ns),
            "p50_ns": JSONValue(floor.p50_ns),
            "p90_ns": JSONValue(floor.p90_ns),
            "p99_ns": JSONValue(floor.p99_ns),
            "within_1us_share": JSONValue(floor.exactShare),
            "cpu_ns_per_fire": JSONValue(floor.cpuPerFire_ns),
        ]
    }

    private func result(_ result: SubjectResult, of session: Session) -> JSONValue {
        let usage = result.usage
        return [
            "id": .string(result.subject.id),
            "interval_ns": JSONValue(result.interval_ns),
            "settled_fires": JSONValue(result.settling),
            "n": JSONValue(result.lateness.count),
            "early": JSONValue(result.lateness.earlyCount),
            "missed": JSONValue(result.missed),
            "skipped_because": JSONValue(result.skippedBecause),
            "lateness_ns": lateness(result),
            "confidence_95": confidence(result, of: session),
            "intended_ns": intended(result),
            "worst": .array(result.worst.entries.map { worst($0, of: session) }),
            "drift_ppm": JSONValue(result.drift_ppm),
            "user_cpu_ns_per_fire": JSONValue(usage.perFire(usage.userCPU_ns)),
            "system_cpu_ns_per_fire": JSONValue(usage.perFire(usage.systemCPU_ns)),
            "page_faults_per_fire": JSONValue(usage.perFire(usage.pageFaults)),
            "instructions_per_fire": JSONValue(usage.instructions.flatMap(usage.perFire)),
            "cycles_per_fire": JSONValue(usage.cycles.flatMap(usage.perFire)),
            "cache_misses_per_fire": JSONValue(usage.cacheMisses.flatMap(usage.perFire)),
            "cpu_ns_per_fire": JSONValue(usage.cpuPerFire_ns),
            "machine_cpu_ns_per_fire": JSONValue(result.machineCPUPerFire_ns),
            "interrupt_ns_per_fire": JSONValue(result.interruptsPerFire_ns),
            "energy_uj_per_fire": JSONValue(result.energyPerFire_uJ),
            "within_1us_share": JSONValue(result.exactShare),
            "processors": .members(
                result.processors.sorted { $0.key < $1.key }.map { ("\($0.key)", JSONValue($0.value)) }
            ),
            "migrations": JSONValue(result.migrations),
            "why": result.tail.map(why) ?? .null,
            "threads_without_realtime": JSONValue(result.blocks.map(\.threadsWithoutRealtime).max()),
            "context_switches_per_fire": JSONValue(usage.switchesPerFire),
            "wakeups_per_fire": JSONValue(usage.wakeupsPerFire),
            "blocks": .array(result.blocks.map(block)),
            "histogram": histogram(result.lateness),
            "intended_histogram": histogram(result.intended),
        ]
    }

    private func why(_ tail: WhyTail) -> JSONValue {
        let causes = LatenessCause.allCases.filter { tail.parts_ns[$0] != nil }
        return [
            "late": JSONValue(tail.late),
            "beyond_ns": JSONValue(tail.bound_ns),
            "share_by_cause": .members(causes.map { ($0.rawValue, JSONValue(tail.share(of: $0))) }),
        ]
    }

    private func histogram(_ histogram: LatencyHistogram) -> JSONValue {
        .array(histogram.buckets_ns.map { .array([JSONValue($0.low_ns), .integer(Int64(clamping: $0.count))]) })
    }

    /// Returns pairs of a lower and an upper end.
    private func confidence(_ result: SubjectResult, of session: Session) -> JSONValue {
        guard let confidence = result.confidence(seed: session.plan.seed) else { return .null }
        func pair(_ range: ClosedRange<Int64>?) -> JSONValue {
            range.map { .array([JSONValue($0.lowerBound), JSONValue($0.upperBound)]) } ?? .null
        }
        func pair(_ range: ClosedRange<Double>?) -> JSONValue {
            range.map { .array([JSONValue($0.lowerBound), JSONValue($0.upperBound)]) } ?? .null
        }
        return [
            "p50_ns": pair(confidence.p50_ns),
            "p90_ns": pair(confidence.p90_ns),
            "p99_ns": pair(confidence.p99_ns),
            "mean_ns": pair(confidence.mean_ns),
            "cpu_ns_per_fire": pair(confidence.cpuPerFire_ns),
            "resamples": JSONValue(Confidence.resamples),
        ]
    }

    private func intended(_ result: SubjectResult) -> JSONValue {
        let intended = result.intended
        return [
            "n": JSONValue(intended.count),
            "p50": JSONValue(intended.value_ns(at: .p50)),
            "p90": JSONValue(intended.value_ns(at: .p90)),
            "p99": JSONValue(intended.value_ns(at: .p99)),
            "p999": JSONValue(intended.value_ns(at: .p999)),
            "max": JSONValue(intended.max_ns),
            "mean": JSONValue(intended.mean_ns),
        ]
    }

    private func worst(_ fire: WorstFires.Entry, of session: Session) -> JSONValue {
        let since_ns = fire.woke_ns - session.start.monotonic_ns
        return [
            "lateness_ns": JSONValue(fire.lateness_ns),
            "monotonic_ns": JSONValue(fire.woke_ns),
            "unix_ns": JSONValue(session.start.wall_ns + since_ns),
            "since_start_ns": JSONValue(since_ns),
            "round": JSONValue(fire.round),
        ]
    }

    private func lateness(_ result: SubjectResult) -> JSONValue {
        let lateness = result.lateness
        return [
            "min": JSONValue(lateness.min_ns),
            "p50": JSONValue(lateness.value_ns(at: .p50)),
            "p90": JSONValue(lateness.value_ns(at: .p90)),
            "p95": JSONValue(lateness.value_ns(at: .p95)),
            "p99": JSONValue(lateness.value_ns(at: .p99)),
            "p999": JSONValue(lateness.value_ns(at: .p999)),
            "max": JSONValue(lateness.max_ns),
            "mean": JSONValue(lateness.mean_ns),
            "sd": JSONValue(result.standardDeviation_ns),
        ]
    }

    private func block(_ block: BlockResult) -> JSONValue {
        [
            "round": JSONValue(block.round),
            "n": JSONValue(block.fires),
            "early": JSONValue(block.early),
            "missed": JSONValue(block.missed),
            "p50_ns": JSONValue(block.median_ns),
            "p90_ns": JSONValue(block.p90_ns),
            "p99_ns": JSONValue(block.p99_ns),
            "within_1us": JSONValue(block.exact),
            "within_5us": JSONValue(block.fires(upTo: Pareto.bounds_ns[0])),
            "migrations": JSONValue(block.migrations),
            "max_ns": JSONValue(block.max_ns),
            "cpu_ns_per_fire": JSONValue(block.usage.cpuPerFire_ns),
            "thread_cpu_ns_per_fire": JSONValue(block.usage.threadCPUPerFire_ns),
            "voluntary_switches": JSONValue(block.usage.voluntarySwitches),
            "involuntary_switches": JSONValue(block.usage.involuntarySwitches),
            "steal_ns": JSONValue(block.disturbance.steal_ns),
            "throttled_ns": JSONValue(block.disturbance.throttled_ns),
            "foreign_cpu_ns": JSONValue(block.disturbance.foreignCPU_ns),
            "marked": .bool(block.disturbance.isMarked),
        ]
    }
}
