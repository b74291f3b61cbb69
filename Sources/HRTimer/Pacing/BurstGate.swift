#if os(Linux)
import HRTimerCore

/// The rules by which elements of a debounce or a throttle pass, and when. The gate reads no clock: its owner passes in the
/// time.
///
/// Its owner calls `receive` for each element, and `expire` at `wake_ns` or later. An element that comes at the end of a
/// period or after it, but before the owner calls `expire`, ends the period itself.
///
/// Dropped elements go to the caller, which frees them without a lock.
struct BurstGate<Element> {
    enum Rule: Sendable {
        /// A new period begins with each element.
        case debounce
        /// A period begins with an element that passes, or that waits as the first one.
        case throttle
    }

    private let rule: Rule
    private let edges: BurstEdges
    private let period_ns: Int64
    /// The end of the present period; `Int64.max` if there is none.
    private var end_ns = Int64.max
    private var waiting: Element?

    init(_ rule: Rule, _ edges: BurstEdges, period_ns: Int64) {
        self.rule = rule
        self.edges = edges
        self.period_ns = period_ns
    }

    /// When the element that waits passes; `Int64.max` if none waits. The end of a period alone needs no wake-up.
    var wake_ns: Int64 { waiting == nil ? .max : end_ns }

    /// Begins a period. One that ends beyond time is not the absence of one.
    private mutating func begin(at now_ns: Int64) { end_ns = min(now_ns.addingSaturating(period_ns), .max - 1) }

    /// Takes an element. Appends the elements that pass now to `passed`, in order.
    mutating func receive(_ element: Element, at now_ns: Int64, _ passed: inout [Element], dropped: inout Element?) {
        // Without a period everything passes.
        if period_ns <= 0 { return passed.append(element) }
        if end_ns <= now_ns { endPeriod(&passed, &dropped) }
        if end_ns < .max {
            if rule == .debounce { begin(at: now_ns) }
            wait(with: element, &dropped)
        } else {
            begin(at: now_ns)
            if edges.hasLeading { passed.append(element) } else { wait(with: element, &dropped) }
        }
    }

    /// Ends the period: a new element has come after it, before `expire` was called.
    private mutating func endPeriod(_ passed: inout [Element], _ dropped: inout Element?) {
        end_ns = .max
        guard let late = waiting.take() else { return }
        // If two elements could pass within one period of a throttle, the new one does.
        if rule == .throttle, edges.hasLeading { dropped = late } else { passed.append(late) }
    }

    private mutating func wait(with element: Element, _ dropped: inout Element?) {
        guard edges.hasTrailing else { return dropped = element }
        dropped = waiting
        waiting = element
    }

    /// Returns the element that passes because its period is over; nil if there is none.
    mutating func expire(at now_ns: Int64) -> Element? {
        guard wake_ns <= now_ns else { return nil }
        return flush(at: now_ns)
    }

    /// Returns the element that waits, before its time; nil if none waits.
    mutating func flush(at now_ns: Int64) -> Element? {
        // Without one the period goes on.
        guard let element = waiting.take() else { return nil }
        end_ns = .max
        // The next element must not pass at once.
        if rule == .throttle { begin(at: now_ns) }
        return element
    }

    /// Returns the element that waits, to be dropped, and ends the period.
    mutating func reset() -> Element? {
        end_ns = .max
        return waiting.take()
    }

    /// Whether the element that waits passes at once when the elements end: after the last one there is nothing to wait for.
    /// That of a throttle still waits, since elements must never pass faster.
    var passesAtEnd: Bool { rule == .debounce }
}

extension BurstGate: Sendable where Element: Sendable {}
#endif
