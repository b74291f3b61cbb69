import HRTimerCore
import Synchronization

/// On which clocks a point in time had passed when a timer was given it: what had passed counts as when the timer is added to
/// a loop, what passes later keeps its grid.
///
/// A timer does not know which loop it will be added to: the kernel's clock is asked, and each virtual one that a loop is on or
/// that the caller is in. Of a virtual time that there was not yet nothing had passed.
struct PassedOn: Sendable {
    /// Nil stands for the kernel's. Kept apart from the timers: nearly all have one of two values.
    private let clocks: [ObjectIdentifier?]

    static let none = PassedOn(clocks: [])
    private static let kernel = PassedOn(clocks: [nil])

    private init(clocks: [ObjectIdentifier?]) {
        self.clocks = clocks
    }

    /// `deadline_ns` gives the point on a clock's monotonic time.
    @inline(__always)
    init(_ deadline_ns: (TimeBase) -> Int64) {
        let time = TimeBase.kernel
        let onKernel = deadline_ns(time) < time.now_ns ? PassedOn.kernel : .none
        let virtuals = LoopTimes.all
        self = virtuals.isEmpty ? onKernel : onKernel.adding(virtuals, deadline_ns)
    }

    private func adding(_ virtuals: [any VirtualTime], _ deadline_ns: (TimeBase) -> Int64) -> PassedOn {
        let passed = virtuals.filter { virtual in
            let time = TimeBase(virtual: virtual)
            return deadline_ns(time) < time.now_ns
        }
        return PassedOn(clocks: clocks + passed.map { ObjectIdentifier($0) })
    }

    func contains(_ time: TimeBase) -> Bool {
        clocks.contains(time.virtual.map { ObjectIdentifier($0) })
    }
}

/// The virtual times that loops are on. In a program that has none, one look at a word.
enum LoopTimes {
    private struct Entry: Sendable {
        weak let virtual: (any VirtualTime)?
    }

    private static let count = Atomic<Int>(0)
    private static let entries = Locked<[Entry]>([])

    /// A loop is on that time. It is held weakly.
    static func add(_ virtual: any VirtualTime) {
        entries.withLock { entries in
            entries.removeAll { $0.virtual == nil }
            if !entries.contains(where: { $0.virtual === virtual }) { entries.append(Entry(virtual: virtual)) }
            count.store(entries.count, ordering: .relaxed)
        }
    }

    /// Those, and the one that the caller is in.
    @inline(__always)
    static var all: [any VirtualTime] {
        let current = CurrentTime.virtual
        return current == nil && count.load(ordering: .relaxed) == 0 ? [] : all(with: current)
    }

    @inline(never)
    private static func all(with current: (any VirtualTime)?) -> [any VirtualTime] {
        let others = entries.withLock { $0.compactMap(\.virtual) }.filter { $0 !== current }
        return others + (current.map { [$0] } ?? [])
    }
}
