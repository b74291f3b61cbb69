/// A behaviour of a call that its caller may not expect, explained in words and shown by a short measurement.
struct Trap: Sendable {
    let text: String
    let demonstration: Demonstration?

    init(_ text: String, shownBy demonstration: Demonstration? = nil) {
        self.text = text
        self.demonstration = demonstration
    }
}

/// A few blocks of some subjects side by side, and what their figures mean.
struct Demonstration: Sendable {
    struct Row: Sendable {
        let label: String
        let subjectID: String
        /// The timer slack of the measuring thread; nil for the inherited one.
        let slack_ns: UInt64?

        init(_ label: String, _ subjectID: String, slack_ns: UInt64? = nil) {
            self.label = label
            self.subjectID = subjectID
            self.slack_ns = slack_ns
        }
    }

    /// The figures of one row.
    struct Figures: Sendable, Equatable {
        let p50_ns: Int64
        let max_ns: Int64
        let cpuPerFire_ns: Double
        let pageFaultsPerFire: Double
    }

    let interval_ns: Int64
    let fires: Int
    let rows: [Row]
    /// Returns the meaning of the rows' figures, in one sentence.
    let says: @Sendable ([Figures]) -> String
}

// Traps that several calls have in common. `id` is the explained subject.
extension Trap {
    static func slack(_ id: String) -> Trap {
        Trap(
            "Timer slack: the kernel may wake an ordinary thread up to 50 us late, to share wake-ups (prctl(2), "
                + "PR_SET_TIMERSLACK). It is per thread and inherited; real-time threads have none.",
            shownBy: Demonstration(
                interval_ns: 1_000_000,
                fires: 200,
                rows: [Row("as the thread is", id), Row("slack 1 ns", id, slack_ns: 1)]
            ) { figures in
                "half of the waits were more than \(timeText(figures[0].p50_ns)) late, and with a slack of 1 ns more than "
                    + "\(timeText(figures[1].p50_ns)): the difference is the slack"
            }
        )
    }

    static func pollRule(_ id: String) -> Trap {
        let interval_ns: Int64 = 200_000_000
        return Trap(
            "The 0.1 % rule: timeouts of the poll family may end late by a thousandth of their length, at most 100 ms "
                + "(fs/select.c, select_estimate_accuracy; 0.5 % for a nice thread). A slack of 1 ns does not help.",
            shownBy: Demonstration(
                interval_ns: interval_ns,
                fires: 5,
                rows: [
                    Row("\(id), slack 1 ns", id, slack_ns: 1),
                    Row("an absolute sleep, slack 1 ns", Subject.referenceID, slack_ns: 1),
                ]
            ) { figures in
                "a thousandth of \(timeText(interval_ns)) is \(timeText(interval_ns / 1000)): half of the timeouts were more "
                    + "than \(timeText(figures[0].p50_ns)) late, half of the sleeps more than \(timeText(figures[1].p50_ns))"
            }
        )
    }

    static func wholeMilliseconds(_ id: String) -> Trap {
        Trap(
            "The timeout is in whole milliseconds. Rounded up it is late by up to one, rounded down the caller spins.",
            shownBy: Demonstration(
                interval_ns: 2_500_000,
                fires: 60,
                rows: [Row(id, id), Row("an absolute sleep", Subject.referenceID)]
            ) { figures in
                "of deadlines every 2.5 ms half were met more than \(timeText(figures[0].p50_ns)) late, and by an absolute "
                    + "sleep more than \(timeText(figures[1].p50_ns))"
            }
        )
    }

    static let relative = Trap(
        "It takes how long, not until when: what passes between reading the clock and the call is added, and a loop that "
            + "waits for its interval again and again drifts. The bench computes what remains right before each call; so "
            + "must any code that uses it."
    )

    static let wallClock = Trap(
        "Its deadline is on the wall clock (CLOCK_REALTIME): when that is set, or slowed down by NTP, it ends early or late. "
            + "The call with clock in its name takes CLOCK_MONOTONIC."
    )

    static let exemptFromSlack = "No timer slack: timerfd and POSIX timers are exact whatever the thread's slack is."

    static func against(
        _ rivalID: String,
        _ id: String,
        every interval_ns: Int64 = 1_000_000,
        fires: Int = 200,
        _ text: String,
        by quantity: Quantity = .lateness
    ) -> Trap {
        Trap(
            text,
            shownBy: Demonstration(interval_ns: interval_ns, fires: fires, rows: [Row(id, id), Row(rivalID, rivalID)]) {
                quantity.comparison($0[0], $0[1], rivalID)
            }
        )
    }

    private typealias Row = Demonstration.Row

    /// The quantity by which two rows are compared.
    enum Quantity: Sendable {
        case lateness, processorTime

        func comparison(_ own: Demonstration.Figures, _ other: Demonstration.Figures, _ rivalID: String) -> String {
            switch self {
            case .lateness:
                "half of the fires were more than \(timeText(own.p50_ns)) late, and of \(rivalID) more than "
                    + timeText(other.p50_ns)
            case .processorTime:
                "a fire cost \(timeText(own.cpuPerFire_ns)) of processor time, and of \(rivalID) "
                    + timeText(other.cpuPerFire_ns)
            }
        }
    }
}
