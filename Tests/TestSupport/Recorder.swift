import HRTimerCore

/// What handlers saw, in order; any thread.
public final class Recorder<Element: Sendable>: Sendable {
    private let elements = Locked<[Element]>([])

    /// An empty record.
    public init() {}

    /// Adds `element` at the end.
    public func append(_ element: Element) {
        elements.withLock { $0.append(element) }
    }

    /// Forgets everything.
    public func removeAll() {
        let gone = elements.withLock { elements in
            defer { elements = [] }
            return elements
        }
        withExtendedLifetime(gone) {}
    }

    /// Everything so far.
    public var all: [Element] { elements.withLock { $0 } }

    /// How many so far.
    public var count: Int { elements.withLock { $0.count } }
}
