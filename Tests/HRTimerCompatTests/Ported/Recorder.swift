// SPDX-License-Identifier: Apache-2.0
import Foundation

/// The values that handlers recorded, in order.
final class Recorder<Element: Sendable>: @unchecked Sendable {
    // Sendable: the elements are used only with the lock held.
    private let lock = NSLock()
    private var elements: [Element] = []

    func append(_ element: Element) { lock.withLock { elements.append(element) } }
    var all: [Element] { lock.withLock { elements } }
    var count: Int { all.count }
}
