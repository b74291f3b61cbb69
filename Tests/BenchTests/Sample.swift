// SPDX-License-Identifier: Apache-2.0
import CBench
import Foundation
import HRTimerCore

@testable import bench

/// An invented result, which is the same on every machine.
enum Sample {
    static let json = JSONReport(sessions: [session], host: host, command: ["bench", "--seed", "5"]).text

    static func file() throws -> ResultFile {
        try ResultFile.parse(Data(json.utf8), name: "sample")
    }

    private static let host = HostReport(
        facts: [
            ("kernel", .string("Linux 6.18.0 #1 SMP")), ("cpu", .string("a processor")), ("cores", .string("2")),
        ],
        doctor: Doctor(findings: [
            Finding("clock.resolution", "1 ns", .ok, why: "It matters."),
            Finding("load.average", "3.00 on 2 processors", .warn, why: "It matters.", fix: "end what else runs"),
        ])
    )

    /// Five blocks of 400 fires for each subject, except for the last subject, which cannot run.
    private static var session: Session {
        let ids = [
            Subject.referenceID, "kernel.spin-clock", "foundation.timer", "dispatch.source-strict", "swift.task-sleep",
            "hrtimer.loop-timer.normal", "hrtimer.source.dispatch-queue.precise", "libevent.default",
        ]
        let subjects = ids.map { id in Subject(id, "a subject") { _ in } }
        let plan = Plan(
            subjects: subjects,
            interval: .milliseconds(1),
            blocks: 5,
            block_ns: 400_000_000,
            seed: 5
        )
        let session = Session(plan)
        for (number, result) in (session.results + session.controls).enumerated() {
            guard number != 7 else {
                result.skippedBecause = "No such device, as far as this machine can tell"
                continue
            }
            for round in 0..<5 {
                add(
                    round,
                    base_ns: [50_000, 90, 60_000, 65_000, 80_000, 55_000, 800, 0, 52_000, 820, 66_000][number],
                    to: result
                )
            }
        }
        return session
    }

    private static func add(_ round: Int, base_ns: Int64, to result: SubjectResult) {
        let fires = (0..<400).map { tick -> cbench_fire in
            let deadline_ns = Int64(round * 1_000_000_000 + tick * 1_000_000)
            // Most fires are within a third of the base, and one in 100 is ten times as late. One subject's first fire is early.
            let spread_ns = base_ns / 3 * Int64(tick % 40) / 40
            let tail_ns = tick % 100 == 99 ? base_ns * 10 : 0
            let early_ns: Int64 = base_ns == 800 && tick == 0 && round == 0 ? -900 : 0
            return Fire(
                deadline_ns: deadline_ns,
                woke_ns: deadline_ns + base_ns + spread_ns + tail_ns + early_ns,
                processor: Int64(tick / 200)
            )
        }
        let usage = Usage(
            fires: 399,
            processCPU_ns: 399 * 30_000,
            threadCPU_ns: 399 * 25_000,
            voluntarySwitches: 399,
            involuntarySwitches: 1
        )
        let disturbance = Disturbance(wall_ns: 400_000_000, steal_ns: round == 3 ? 10_000_000 : 0)
        result.add(
            BlockResult(round: round, fires: fires, interval_ns: 1_000_000, usage: usage, disturbance: disturbance),
            fires: fires
        )
    }
}
