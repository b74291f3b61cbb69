import HRTimerCore

/// What a program reads: schema 1. Members may be added to it; those that are here keep their meaning.
struct JSONReport {
    /// One, or one for each interval of a sweep.
    let sessions: [Session]
    let host: HostReport
    let command: [String]

    init(sessions: [Session], host: HostReport, command: [String]) {
        precondition(!sessions.isEmpty, "a report needs a session")
        self.sessions = sessions
        self.host = host
        self.command = command
    }

    var text: String { value.text() + "\n" }

    var value: JSONValue {
        [
            "schema": .integer(1),
            "build": .string(buildName),
            "command": .array(command.map { .string($0) }),
            "seed": JSONValue(seed: sessions[0].plan.seed),
            "interrupted": .bool(sessions.contains(where: \.wasInterrupted)),
            "host": host.json,
            "noise_floor": noiseFloor(sessions[0]),
            "noise_floors": .array(sessions.map(noiseFloor)),
            "left_behind": [
                "timers": JSONValue(sessions.reduce(0) { $0 + $1.leftBehind.timers }),
                "descriptors": JSONValue(sessions.reduce(0) { $0 + $1.leftBehind.descriptors }),
            ],
            "results": .array(sessions.flatMap { $0.results.map(result) }),
            "operations": .array([]),
        ]
    }

    private func noiseFloor(_ session: Session) -> JSONValue {
        guard let floor = session.noiseFloor else { return .null }
        return [
            "id": .string(floor.id),
            "interval_ns": JSONValue(session.plan.interval_ns),
            "p50_ns": JSONValue(floor.p50_ns),
            "p99_ns": JSONValue(floor.p99_ns),
            "cpu_ns_per_fire": JSONValue(floor.cpuPerFire_ns),
        ]
    }

    private func result(_ result: SubjectResult) -> JSONValue {
        [
            "id": .string(result.subject.id),
            "interval_ns": JSONValue(result.interval_ns),
            "settled_fires": JSONValue(result.settling),
            "n": JSONValue(result.lateness.count),
            "early": JSONValue(result.lateness.earlyCount),
            "missed": JSONValue(result.missed),
            "skipped_because": JSONValue(result.skippedBecause),
            "lateness_ns": lateness(result),
            "drift_ppm": JSONValue(result.drift_ppm),
            "cpu_ns_per_fire": JSONValue(result.usage.cpuPerFire_ns),
            "context_switches_per_fire": JSONValue(result.usage.switchesPerFire),
            "wakeups_per_fire": JSONValue(result.usage.wakeupsPerFire),
            "blocks": .array(result.blocks.map(block)),
            "histogram": .array(
                result.lateness.buckets_ns.map { .array([JSONValue($0.low_ns), .integer(Int64(clamping: $0.count))]) }
            ),
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
