// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import CBench
import Glibc
import HRTimer

/// The process of `--load timers:N`: N timers of one engine, each at `LoadKind.loadRate_hz`, evenly spread. It runs until
/// it is killed.
struct LoadTimersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "load-timers", shouldDisplay: false)

    @Argument(transform: whole(1...10_000_000)) var timers: Int

    func run() throws {
        let crowd = try EngineCrowd()
        let plan = CrowdPlan(
            timers: timers,
            interval_ns: 1_000_000_000 / Int64(LoadKind.loadRate_hz),
            tolerance_ns: 0,
            phases: .evenlySpread
        )
        let fleet = try Fleet(plan.timers(from: cbench_now_ns(), seed: 0), countedBy: CrowdCount())
        try crowd.arm(fleet)
        withExtendedLifetime(fleet) { while true { pause() } }
    }
}
