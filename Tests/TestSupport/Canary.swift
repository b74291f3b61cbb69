// SPDX-License-Identifier: Apache-2.0
import Synchronization

/// Counts the live objects among those that it made. An object that a handler captures must be freed with the handler.
public final class Canaries: Sendable {
    private let living = Atomic<Int>(0)

    /// Creates a count of zero objects.
    public init() {}

    /// The number of live objects.
    public var count: Int { living.load(ordering: .acquiring) }

    /// Returns a new object for a handler to capture.
    public func make() -> any AnyObject & Sendable { Canary(self) }

    private final class Canary: Sendable {
        let flock: Canaries

        init(_ flock: Canaries) {
            self.flock = flock
            flock.living.add(1, ordering: .acquiringAndReleasing)
        }

        deinit {
            flock.living.subtract(1, ordering: .acquiringAndReleasing)
        }
    }
}
