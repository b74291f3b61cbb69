import Synchronization

/// Counts the living among the objects it made: what a handler captured must be freed with it.
public final class Canaries: Sendable {
    private let living = Atomic<Int>(0)

    /// None yet.
    public init() {}

    /// How many live.
    public var count: Int { living.load(ordering: .acquiring) }

    /// One more, to be captured.
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
