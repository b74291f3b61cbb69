// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import Synchronization

/// The handlers that are told of the late fires of an engine, a loop, a source, a link or a sequence of ticks, and the causes
/// of these fires so far. Any thread.
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

    /// The least bound so far, also of handlers that were removed.
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
        // What the handler captured is freed without the lock.
        let removed = entries.withLock { entries -> Entry? in
            guard let index = entries.all.firstIndex(where: { $0.id == id }) else { return nil }
            return entries.all.remove(at: index)
        }
        withExtendedLifetime(removed) {}
    }

    /// Removes all handlers; the statistics stay.
    package func removeAll() {
        let removed = entries.withLock { entries in
            defer { entries.all = [] }
            return entries.all
        }
        withExtendedLifetime(removed) {}
    }

    /// The statistics of the fires that were later than the least bound.
    package var statistics: LatenessStatistics { entries.withLock { $0.statistics } }

    /// Counts a call that is late beyond the least bound, and calls the handlers whose bound it exceeds.
    package func call(_ call: LateCall) {
        let lateness_ns = call.explanation.parts.lateness_ns
        guard isLate(lateness_ns) else { return }
        let late = entries.withLock { entries in
            entries.statistics.add(call.explanation.parts)
            return entries.all.filter { lateness_ns > $0.bound_ns }
        }
        if late.isEmpty { return }
        let report = LatenessReport(call)
        for entry in late { entry.handler(report) }
    }
}

/// The registration of a handler that is told of late fires.
///
/// Any thread.
public final class LatenessSubscription: Sendable {
    private let end: @Sendable () -> Void

    package init(_ end: @escaping @Sendable () -> Void) { self.end = end }

    /// Ends the subscription: the handler is not called for later fires, but maybe for one that is being reported.
    ///
    /// Idempotent; any thread. Dropping the subscription does not end it.
    public func cancel() { end() }
}
#endif
