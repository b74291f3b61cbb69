// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import HRTimerCore

/// The rules by which elements of a debounce or a throttle pass, and when. The gate reads no clock: its owner passes in the
/// time.
///
/// Its owner calls `receive` for each element, and `expire` at `wake_ns` or later. An element that comes at the end of a
/// period or after it, but before the owner calls `expire`, ends the period itself.
///
/// Dropped elements go to the caller, which frees them without a lock.
struct BurstGate<Element: Sendable>: Sendable {
    enum Rule: Sendable {
        /// A new period begins with each element.
        case debounce
        /// A period begins with an element that passes, or that waits as the first one.
        case throttle
    }

    private enum State: Sendable {
        /// There is no period: the next element is the first one of a burst.
        case quiet
        /// There is a period, and no element waits for its end.
        case period(end_ns: Int64)
        /// This element waits for the end of the period.
        case waiting(Element, end_ns: Int64)
    }

    private let rule: Rule
    private let edges: BurstEdges
    private let period_ns: Int64
    private var state = State.quiet

    init(_ rule: Rule, _ edges: BurstEdges, period_ns: Int64) {
        self.rule = rule
        self.edges = edges
        self.period_ns = period_ns
    }

    /// When the element that waits passes; `Int64.max` if none waits. The end of a period alone needs no wake-up.
    var wake_ns: Int64 {
        guard case .waiting(_, let end_ns) = state else { return .max }
        return end_ns
    }

    /// Returns the end of a period that begins at `now_ns`. One that ends beyond time is not the absence of one.
    private func end_ns(from now_ns: Int64) -> Int64 { min(now_ns.addingSaturating(period_ns), .max - 1) }

    /// Takes an element. Appends the elements that pass now to `passed`, in order.
    mutating func receive(_ element: Element, at now_ns: Int64, _ passed: inout [Element], dropped: inout Element?) {
        // Without a period everything passes.
        if period_ns <= 0 { return passed.append(element) }
        endPeriod(at: now_ns, &passed, &dropped)
        let next_ns = end_ns(from: now_ns)
        switch state {
        case .quiet where edges.hasLeading:
            passed.append(element)
            state = .period(end_ns: next_ns)
        case .quiet:
            state = .waiting(element, end_ns: next_ns)
        case .period(let end_ns), .waiting(_, let end_ns):
            if case .waiting(let former, _) = state { dropped = former }
            let end_ns = rule == .debounce ? next_ns : end_ns
            if edges.hasTrailing {
                state = .waiting(element, end_ns: end_ns)
            } else {
                dropped = element
                state = .period(end_ns: end_ns)
            }
        }
    }

    /// Ends the period if it is over: a new element has come after it, before `expire` was called.
    private mutating func endPeriod(at now_ns: Int64, _ passed: inout [Element], _ dropped: inout Element?) {
        switch state {
        case .period(let end_ns) where end_ns <= now_ns:
            state = .quiet
        case .waiting(let late, let end_ns) where end_ns <= now_ns:
            // If two elements could pass within one period of a throttle, the new one does.
            if rule == .throttle, edges.hasLeading { dropped = late } else { passed.append(late) }
            state = .quiet
        default: break
        }
    }

    /// Returns the element that passes because its period is over; nil if there is none.
    mutating func expire(at now_ns: Int64) -> Element? { wake_ns <= now_ns ? flush(at: now_ns) : nil }

    /// Returns the element that waits, before its time; nil if none waits.
    mutating func flush(at now_ns: Int64) -> Element? {
        // Without one the period goes on.
        guard case .waiting(let element, _) = state else { return nil }
        // The next element of a throttle must not pass at once.
        state = rule == .throttle ? .period(end_ns: end_ns(from: now_ns)) : .quiet
        return element
    }

    /// Returns the element that waits, to be dropped, and ends the period.
    mutating func reset() -> Element? {
        defer { state = .quiet }
        guard case .waiting(let element, _) = state else { return nil }
        return element
    }

    /// Whether the element that waits passes at once when the elements end: after the last one there is nothing to wait for.
    /// That of a throttle still waits, since elements must never pass faster.
    var passesAtEnd: Bool { rule == .debounce }
}
#endif
