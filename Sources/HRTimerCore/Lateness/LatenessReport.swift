#if os(Linux)
/// Why a fire was late: its instants, and its lateness split among causes whose times add up to it.
///
///     engine.onLate(beyond: .microseconds(200)) { report in print(report) }
///
/// Instants are on `CLOCK_MONOTONIC`; those of an engine on another clock are where they lie on this one by the present
/// difference of the two.
public struct LatenessReport: Sendable {
    /// The engine's or loop's name; of a source, link or sequence of ticks what it is, and on what.
    public let name: String
    /// The timer, where it has a token; a loop's own timers have none that anybody could use.
    public let timer: TimerToken?
    /// What it was called for.
    public let deadline: MonotonicInstant
    /// When it was armed for that; nil if that was not seen, as before anybody watched.
    public let armed: MonotonicInstant?
    /// When its thread woke last before the call; nil if it has not slept since somebody watches.
    public let woken: MonotonicInstant?
    /// When its handler was called.
    public let called: MonotonicInstant
    /// `called` minus `deadline`.
    public let lateness: Duration
    /// What the lateness is made of, the longest first, none of them zero. They add up to it.
    public let parts: [Part]
    /// The longest call of a handler that ran when the fire was due, if there is `handlerBefore` or `pageFault`.
    public let handlerBefore: HandlerBefore?
    /// Whether the quota of the thread's cgroup kept it from running meanwhile; it is the `runQueue` part then, or in it.
    public let isThrottled: Bool

    /// One cause, and how much of the lateness it is.
    public struct Part: Sendable, Hashable {
        /// The cause.
        public let cause: LatenessCause
        /// Its part of the lateness.
        public let duration: Duration
    }

    /// The call that another timer had to wait for.
    public struct HandlerBefore: Sendable, Hashable {
        /// Whose it was; nil for a consumer's own work.
        public let timer: TimerToken?
        /// When it began.
        public let began: MonotonicInstant
        /// Until when it ran.
        public let until: MonotonicInstant
    }

    /// How much of the lateness is that cause's.
    public subscript(cause: LatenessCause) -> Duration {
        parts.first { $0.cause == cause }?.duration ?? .zero
    }

    /// What most of the lateness is.
    public var mainCause: LatenessCause { parts.first?.cause ?? .unexplained }

    package init(_ call: LateCall, _ explanation: LatenessExplanation) {
        name = call.name
        timer = call.timer == .stale ? nil : call.timer
        deadline = MonotonicInstant(nanoseconds: call.called_ns - explanation.parts.lateness_ns)
        armed = call.armed_ns.map(MonotonicInstant.init(nanoseconds:))
        woken = explanation.woken_ns.map(MonotonicInstant.init(nanoseconds:))
        called = MonotonicInstant(nanoseconds: call.called_ns)
        lateness = .nanoseconds(explanation.parts.lateness_ns)
        parts = LatenessCause.allCases
            .map { Part(cause: $0, duration: .nanoseconds(explanation.parts[$0])) }
            .filter { $0.duration > .zero }
            .sorted { $0.duration > $1.duration }
        isThrottled = call.isThrottled
        let mayBeHandler = explanation.parts[.handlerBefore] > 0 || explanation.parts[.pageFault] > 0
        handlerBefore = mayBeHandler ? explanation.before.map(HandlerBefore.init) : nil
    }
}

/// Which call a report is about.
package struct LateCall {
    package var name: String
    package var timer = TimerToken.stale
    package var called_ns: Int64
    package var armed_ns: Int64?
    package var isThrottled = false

    package init(name: String, called_ns: Int64) {
        self.name = name
        self.called_ns = called_ns
    }
}

extension LatenessReport.HandlerBefore {
    fileprivate init(_ stretch: ThreadTimeline.Stretch) {
        timer = stretch.timer == .stale ? nil : stretch.timer
        began = MonotonicInstant(nanoseconds: stretch.begin_ns)
        until = MonotonicInstant(nanoseconds: stretch.end_ns)
    }
}

extension LatenessReport: CustomStringConvertible {
    /// One line for a log: "hrtimer: 812 µs late: 801 µs handlerBefore (…), 11 µs wakeup".
    public var description: String {
        let causes = parts.map { part in
            let text = "\(part.duration.inMicroseconds) \(part.cause.rawValue)"
            switch part.cause {
            case .handlerBefore:
                guard let handlerBefore else { return text }
                let ran = handlerBefore.began.duration(to: handlerBefore.until)
                return text
                    + " (a call of \(ran.inMicroseconds)\(handlerBefore.timer.map { ", timer \($0.slot)" } ?? ""))"
            case .runQueue where isThrottled: return text + " (the quota of its cgroup)"
            default: return text
            }
        }
        let which = timer.map { " timer \($0.slot)" } ?? ""
        return "\(name)\(which): \(lateness.inMicroseconds) late: \(causes.joined(separator: ", "))"
    }
}

extension Duration {
    /// Whole ones, but for those below ten.
    fileprivate var inMicroseconds: String {
        let nanoseconds = nanosecondsRoundedUp
        if nanoseconds >= 10_000 { return "\((nanoseconds + 500) / 1000) µs" }
        let tenths = (nanoseconds + 50) / 100
        return "\(tenths / 10).\(tenths % 10) µs"
    }
}
#endif
