// SPDX-License-Identifier: Apache-2.0
/// What a reader should know about a subject before reading its figures: a row of the table of explanations.
struct Explanation: Sendable {
    /// The subjects, as a shell pattern.
    let pattern: String
    /// The call, or the calls, that wait.
    let call: String
    /// The manual page or document that describes it.
    let manual: String
    private(set) var traps: [Trap] = []

    init(_ pattern: String, _ call: String, _ manual: String) {
        self.pattern = pattern
        self.call = call
        self.manual = manual
    }

    // A row is followed by its traps.

    func traps(_ more: Trap...) -> Explanation {
        var row = self
        row.traps += more
        return row
    }

    func says(_ text: String) -> Explanation { traps(Trap(text)) }

    func against(
        _ rival: String,
        every interval_ns: Int64 = 1_000_000,
        fires: Int = 200,
        _ text: String
    ) -> Explanation {
        traps(.against(rival, every: interval_ns, fires: fires, text))
    }

    /// Returns the explanation of a subject; every subject has one. The first row whose pattern matches holds for it. A
    /// primitive with the least slack is explained as without, unless it has a row of its own.
    static func of(_ subject: Subject) -> Explanation? {
        let id = subject.id
        return rows.first { id.matches($0.pattern) } ?? rows.first { id.withoutSlack.matches($0.pattern) }
    }

    private static let rows = kernelWaits + kernelTimers + libraries + runtimes + own
}

extension String {
    /// A primitive's id without the suffix that says that its thread has the least slack.
    var withoutSlack: String { hasSuffix(".slack-1") ? String(dropLast(8)) : self }
}

/// A behaviour of a call that its caller may not expect, and what shows it.
struct Trap: Sendable {
    let text: String
    /// What is measured beside the subject; nil if words are enough.
    let shown: Demonstration?

    init(_ text: String, shownBy shown: Demonstration? = nil) {
        self.text = text
        self.shown = shown
    }

    /// Another subject shows it: by its lateness, or by its processor time.
    static func against(
        _ rival: String,
        every interval_ns: Int64 = 1_000_000,
        fires: Int = 200,
        _ text: String
    ) -> Trap {
        Trap(text, shownBy: Demonstration(rival: rival, interval_ns: interval_ns, fires: fires))
    }

    static let slack = Trap(
        "Timer slack: the kernel may wake an ordinary thread up to 50 us late, to share wake-ups (prctl(2), "
            + "PR_SET_TIMERSLACK). It is per thread and inherited; real-time threads have none.",
        shownBy: Demonstration(rival: nil, rivalSlack_ns: 1)
    )

    static let pollRule = Trap(
        "The 0.1 % rule: timeouts of the poll family may end late by a thousandth of their length, at most 100 ms "
            + "(fs/select.c, select_estimate_accuracy; 0.5 % for a nice thread). A slack of 1 ns does not help.",
        shownBy: Demonstration(
            rival: Subject.referenceID,
            interval_ns: 200_000_000,
            fires: 5,
            slack_ns: 1,
            rivalSlack_ns: 1
        )
    )

    static let wholeMilliseconds = against(
        Subject.referenceID,
        every: 2_500_000,
        fires: 60,
        "The timeout is in whole milliseconds. Rounded up it is late by up to one, rounded down the caller spins."
    )

    static let relative = Trap(
        "It takes how long, not until when: what passes between reading the clock and the call is added, and a loop that "
            + "waits for its interval again and again drifts. The bench computes what remains right before each call; so "
            + "must any code that uses it."
    )

    static let wallClock = Trap(
        "Its deadline is on the wall clock (CLOCK_REALTIME): when that is set, or slowed down by NTP, it ends early or late. "
            + "The call with clock in its name takes CLOCK_MONOTONIC."
    )

    static let exempt = "No timer slack: timerfd and POSIX timers are exact whatever the thread's slack is."
    static let noSlack = against(Subject.referenceID, exempt)
}
