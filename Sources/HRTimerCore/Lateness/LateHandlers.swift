#if os(Linux)
import Synchronization

/// Who is told of the late fires of an engine, a loop, a source, a link or a sequence of ticks, and what those were late by so
/// far. Any thread.
package final class LateHandlers: Sendable {
    private let entries = Locked(Entries())
    private let bound_ns = Atomic(Int64.max)

    private struct Entries: Sendable {
        var all: [Entry] = []
        var nextID: UInt64 = 0
        var statistics = LatenessStatistics()
    }

    private struct Entry: Sendable {
        let id: UInt64
        let bound_ns: Int64
        let handler: @Sendable (LatenessReport) -> Void
    }

    package init() {}

    /// The least bound, also of handlers that were removed.
    package var leastBound_ns: Int64 { bound_ns.load(ordering: .relaxed) }

    package func isLate(_ lateness_ns: Int64) -> Bool { lateness_ns > leastBound_ns }

    package func lowerBound(to bound_ns: Int64) { self.bound_ns.min(max(0, bound_ns), ordering: .relaxed) }

    package func add(
        beyond bound_ns: Int64,
        _ handler: @escaping @Sendable (LatenessReport) -> Void
    ) -> LatenessSubscription {
        let id = entries.withLock { entries in
            entries.nextID += 1
            entries.all.append(Entry(id: entries.nextID, bound_ns: max(0, bound_ns), handler: handler))
            return entries.nextID
        }
        lowerBound(to: bound_ns)
        return LatenessSubscription { [weak self] in self?.remove(id) }
    }

    private func remove(_ id: UInt64) {
        // What it captured is freed without the lock.
        let removed = entries.withLock { entries -> Entry? in
            guard let index = entries.all.firstIndex(where: { $0.id == id }) else { return nil }
            return entries.all.remove(at: index)
        }
        withExtendedLifetime(removed) {}
    }

    /// Of the fires later than the least bound.
    package var statistics: LatenessStatistics { entries.withLock { $0.statistics } }

    /// Counts a fire that is late beyond the least bound, and calls those whose bound it exceeds; the report is made only for
    /// them.
    package func call(_ parts: LatenessParts, _ report: () -> LatenessReport) {
        let lateness_ns = parts.lateness_ns
        guard isLate(lateness_ns) else { return }
        let late = entries.withLock { entries in
            entries.statistics.add(parts)
            return entries.all.filter { lateness_ns > $0.bound_ns }
        }
        if late.isEmpty { return }
        let report = report()
        for entry in late { entry.handler(report) }
    }
}

/// Somebody who is told of late fires.
public final class LatenessSubscription: Sendable {
    private let end: @Sendable () -> Void

    package init(_ end: @escaping @Sendable () -> Void) { self.end = end }

    /// The handler is not called for fires from now on, but for one that is being reported. Idempotent; any thread. To drop the
    /// subscription does nothing.
    public func cancel() { end() }
}
#endif
