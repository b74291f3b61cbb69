// SPDX-License-Identifier: Apache-2.0
import HRTimerCore

/// The values that handlers recorded, in order. Any thread may use it.
public final class Recorder<Element: Sendable>: Sendable {
    private let elements = Locked<[Element]>([])

    /// Creates an empty record.
    public init() {}

    /// Adds `element` at the end.
    public func append(_ element: Element) {
        elements.withLock { $0.append(element) }
    }

    /// Removes all elements.
    public func removeAll() {
        let gone = elements.withLock { elements in
            defer { elements = [] }
            return elements
        }
        withExtendedLifetime(gone) {}
    }

    /// All elements so far.
    public var all: [Element] { elements.withLock { $0 } }

    /// The number of elements so far.
    public var count: Int { elements.withLock { $0.count } }
}
