import CBench
import CHRTimer

/// Short measurements, compared with what the settings promise.
enum MeasuredChecks {
    static func findings(_ files: SystemFiles) -> [Finding] {
        let before = MachineLoad.now()
        let lateness_ns = sleeps()
        let gap_ns = cbench_longest_gap_ns(100_000_000)
        let disturbance = MachineLoad.now().since(before)
        return [
            reading(readingCost_ns()),
            sleep(lateness_ns, slack_ns: Int64(clamping: hrt_thread_timer_slack_ns())),
            gap(gap_ns),
            steal(disturbance),
        ]
    }

    static func reading(_ cost_ns: Double) -> Finding {
        Finding(
            "measured.clock-reading",
            timeText(cost_ns),
            cost_ns < 100 ? .ok : cost_ns < 2000 ? .warn : .bad,
            why: "Each stamp costs one reading, and is late by it; above 100 ns it is a system call.",
            fix: "see clock.source"
        )
    }

    /// Checks fifty waits of 1 ms for absolute deadlines, on an ordinary thread.
    static func sleep(_ lateness_ns: [Int64], slack_ns: Int64) -> Finding {
        let why = "The simplest exact wait there is: everything else here is later than this."
        guard !lateness_ns.isEmpty else {
            return Finding("measured.sleep", "no wait of 1 ms came back", .bad, why: why, fix: "look at dmesg")
        }
        let sorted = lateness_ns.sorted()
        let middle_ns = sorted[sorted.count / 2]
        let limit_ns = slack_ns + 100_000
        let most_ns = sorted[sorted.count - 1]
        let text = "median \(timeText(middle_ns)) late, at most \(timeText(most_ns)), slack \(timeText(slack_ns))"
        return Finding(
            "measured.sleep",
            sorted[0] < 0 ? "early by \(timeText(-sorted[0]))" : text,
            sorted[0] < 0 ? .bad : middle_ns > limit_ns ? .warn : .ok,
            why: why,
            fix: sorted[0] < 0
                ? "the clock is broken: change the clock source" : "more than slack and 100 µs: see load and idle"
        )
    }

    static func gap(_ gap_ns: Int64) -> Finding {
        Finding(
            "measured.longest-gap",
            "\(timeText(gap_ns)) away in 100 ms of spinning",
            gap_ns > 1_000_000 ? .warn : .ok,
            why: "The floor under every worst case: a thread that never sleeps was away for this long.",
            fix: "end what else runs; in a guest, its host is busy"
        )
    }

    static func steal(_ disturbance: Disturbance) -> Finding {
        Finding(
            "measured.steal",
            disturbance.steal_ns == 0 ? "none" : timeText(disturbance.steal_ns),
            disturbance.steal_ns > 0 ? .warn : .ok,
            why: "Time in which the hypervisor ran someone else: a deadline in it is met when it is over.",
            fix: "use a host that is not shared, or dedicated processors"
        )
    }

    private static func sleeps() -> [Int64] {
        let fires = try? onFreshThread { () -> [Fire] in
            let recorder = BlockRecorder(fires: 50, interval_ns: 1_000_000, phase_ns: 0)
            try recorder.fill(cbench_clock_nanosleep_abs)
            return recorder.fires
        }
        return (fires ?? []).map(\.lateness_ns)
    }
}
