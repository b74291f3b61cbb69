// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
/// Why a fire was late: its instants, and its lateness split among causes, whose times add up to it.
///
///     TimerEngine.shared.onLate(beyond: .microseconds(200)) { report in print(report) }
///
/// Instants are on `CLOCK_MONOTONIC`. Those of an engine on another clock are converted by the present difference of the two
/// clocks.
public struct LatenessReport: Sendable {
    /// The name of the engine or loop; for a source, link or sequence of ticks, what it is and on what it runs.
    public let name: String
    /// The timer, if it has a token; a loop's own timers have none that a user could use.
    public let timer: TimerToken?
    /// The deadline that it was called for.
    public let deadline: MonotonicInstant
    /// When it was armed for that deadline; nil if that was not seen, for example before anybody watched.
    public let armed: MonotonicInstant?
    /// When its thread last woke before the call; nil if it has not slept since somebody began to watch.
    public let woken: MonotonicInstant?
    /// When its handler was called, or when its tick was left out.
    public let called: MonotonicInstant
    /// The number of ticks that had no call of their own: those that the call reports, or those that were left out.
    public let missedTicks: Int
    /// Whether there was no call: a tick that is late by an interval or more is left out by the policy `.skip`.
    public let isLeftOut: Bool
    /// `called` minus `deadline`.
    public let lateness: Duration
    /// How much of the lateness each cause accounts for.
    ///
    /// Causes without a part are left out; the parts add up to the lateness.
    public let byCause: [LatenessCause: Duration]
    /// The longest handler call that ran while the fire was due, if there is a `handlerBefore` or a `pageFault` part: its timer,
    /// nil for a consumer's own work, and the instants at which it began and ended.
    public let handlerBefore: (timer: TimerToken?, began: MonotonicInstant, until: MonotonicInstant)?
    /// Whether the quota of the thread's cgroup kept it from running meanwhile.
    ///
    /// That time is the `runQueue` part, or in it.
    public let isThrottled: Bool

    /// The cause of the longest part of the lateness.
    public var mainCause: LatenessCause { longestFirst.first?.cause ?? .unexplained }

    /// The causes, the longest part first; equal parts in the causes' own order.
    private var longestFirst: [(cause: LatenessCause, duration: Duration)] {
        LatenessCause.allCases
            .compactMap { cause in byCause[cause].map { (cause, $0) } }
            .sorted { $0.duration > $1.duration }
    }

    package init(_ call: LateCall) {
        let explanation = call.explanation
        name = call.name
        timer = call.timer == .stale ? nil : call.timer
        deadline = MonotonicInstant(nanoseconds: call.called_ns - explanation.parts.lateness_ns)
        armed = call.armed_ns.map(MonotonicInstant.init(nanoseconds:))
        woken = explanation.woken_ns.map(MonotonicInstant.init(nanoseconds:))
        called = MonotonicInstant(nanoseconds: call.called_ns)
        missedTicks = call.missedTicks
        isLeftOut = call.isLeftOut
        lateness = .nanoseconds(explanation.parts.lateness_ns)
        byCause = LatenessCause.durations(ofParts_ns: explanation.parts.parts_ns)
        isThrottled = call.isThrottled
        let mayBeHandler = explanation.parts[.handlerBefore] > 0 || explanation.parts[.pageFault] > 0
        handlerBefore = mayBeHandler ? explanation.before.map(Self.handlerBefore) : nil
    }

    private static func handlerBefore(
        _ stretch: ThreadTimeline.Stretch
    ) -> (timer: TimerToken?, began: MonotonicInstant, until: MonotonicInstant) {
        (
            timer: stretch.timer == .stale ? nil : stretch.timer,
            began: MonotonicInstant(nanoseconds: stretch.begin_ns),
            until: MonotonicInstant(nanoseconds: stretch.end_ns)
        )
    }
}

/// A call that was late, or a tick that was left out, and why. Instants are on the monotonic clock.
package struct LateCall: Sendable {
    package var name: String
    package var timer = TimerToken.stale
    package var called_ns: Int64
    package var explanation: LatenessExplanation
    package var armed_ns: Int64?
    package var isThrottled = false
    package var missedTicks = 0
    package var isLeftOut = false

    package init(name: String, timer: TimerToken = .stale, called_ns: Int64, _ explanation: LatenessExplanation) {
        (self.name, self.timer) = (name, timer)
        (self.called_ns, self.explanation) = (called_ns, explanation)
    }
}

extension LatenessReport: CustomStringConvertible {
    /// One line for a log: "hrtimer: 812 µs late: 801 µs handlerBefore (…), 11 µs wakeup".
    public var description: String {
        let causes = longestFirst.map { cause, duration in
            let text = "\(duration.inWords) \(cause.rawValue)"
            switch cause {
            case .handlerBefore:
                guard let handlerBefore else { return text }
                let ran = handlerBefore.began.duration(to: handlerBefore.until)
                return text
                    + " (a call of \(ran.inWords)\(handlerBefore.timer.map { ", timer \($0.slot)" } ?? ""))"
            case .runQueue where isThrottled: return text + " (the quota of its cgroup)"
            default: return text
            }
        }
        let which = timer.map { " timer \($0.slot)" } ?? ""
        let leftOut = isLeftOut ? ", \(counted(missedTicks, "tick")) left out" : ""
        return "\(name)\(which): \(lateness.inWords) late\(leftOut): \(causes.joined(separator: ", "))"
    }
}
#endif
