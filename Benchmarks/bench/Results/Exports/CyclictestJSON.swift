/// The JSON that cyclictest 2 writes with --json, for dashboards that read it. Each subject is a thread; its histogram has
/// whole µs, rounded down. The colons inside two of the keys are cyclictest's.
enum CyclictestJSON {
    static func text(_ file: ResultFile) -> String {
        let rows = file.rows.filter { $0.fires > 0 }
        let value: JSONValue = [
            "file_version": .integer(1),
            "cmdline:": .string(file.command.joined(separator: " ")),
            "rt_test_version:": .string("bench"),
            "return_code": .integer(file.isInterrupted ? 130 : 0),
            "sysinfo": [
                "sysname": .string("Linux"),
                "release": .string(
                    file.host.texts["kernel"]?.split(separator: " ").dropFirst().first.map(String.init) ?? ""
                ),
                "machine": .string(file.host.texts["cpu"] ?? ""),
                "realtime": .integer(
                    file.host.findings.contains { $0.id == "kernel.real-time" && $0.verdict == "ok" } ? 1 : 0
                ),
            ],
            "num_threads": JSONValue(rows.count),
            "resolution_in_ns": .integer(0),
            "thread": .object(
                rows.enumerated().map { JSONValue.Member(key: "\($0)", value: thread($1)) }
            ),
        ]
        return value.text() + "\n"
    }

    private static func thread(_ row: ResultRow) -> JSONValue {
        var counts: [Int64: Int64] = [:]
        for bucket in row.distribution.buckets { counts[microseconds(bucket.low_ns), default: 0] += bucket.count }
        return [
            "histogram": .object(
                counts.sorted { $0.key < $1.key }.map { JSONValue.Member(key: "\($0.key)", value: .integer($0.value)) }
            ),
            "cycles": JSONValue(row.fires),
            "min": .integer(microseconds(row.lateness.min ?? 0)),
            "max": .integer(microseconds(row.lateness.max ?? 0)),
            "avg": .number(((row.lateness.mean ?? 0) / 10).rounded() / 100),
            "name": .string(row.name),
        ]
    }

    /// Converts to µs, rounded down, also below zero.
    private static func microseconds(_ time_ns: Int64) -> Int64 {
        time_ns >= 0 ? time_ns / 1000 : (time_ns - 999) / 1000
    }
}
