import Foundation

/// What handlers saw, in order.
final class Recorder<Element: Sendable>: @unchecked Sendable {
    // Sendable: the elements are touched with the lock held alone.
    private let lock = NSLock()
    private var elements: [Element] = []

    func append(_ element: Element) { lock.withLock { elements.append(element) } }
    var all: [Element] { lock.withLock { elements } }
    var count: Int { all.count }
}
