#if os(Linux)
import HRTimerCore
import Synchronization

/// The clocks on which a point in time had already passed when a timer was given it. Such a point counts as the instant at
/// which the timer is added to a loop; a point that passes later keeps its grid.
///
/// A timer does not know which loop it will be added to. So the kernel's clock is asked, and each virtual time that a loop is
/// on or that the caller is in. On a virtual time that did not exist yet nothing had passed.
struct PassedOn: Sendable {
    /// Not stored in the timers themselves: nearly all of them share one of two values.
    private let clocks: [TimeID]

    static let none = PassedOn(clocks: [])
    private static let kernel = PassedOn(clocks: [TimeBase.kernel.id])

    private init(clocks: [TimeID]) {
        self.clocks = clocks
    }

    /// Asks on which clocks the point has passed. `deadline_ns` returns the point on the monotonic clock of a time.
    init(_ deadline_ns: (TimeBase) -> Int64) {
        let time = TimeBase.kernel
        let onKernel = deadline_ns(time) < time.now_ns ? PassedOn.kernel : .none
        let others = LoopTimes.all
        self = others.isEmpty ? onKernel : onKernel.adding(others, deadline_ns)
    }

    private func adding(_ others: [TimeBase], _ deadline_ns: (TimeBase) -> Int64) -> PassedOn {
        PassedOn(clocks: clocks + others.filter { deadline_ns($0) < $0.now_ns }.map(\.id))
    }

    func contains(_ time: TimeBase) -> Bool { clocks.contains(time.id) }
}

/// The virtual times that loops are on. A program that has none reads one word to find that out. A time leaves with its last
/// loop: a program may keep any number of times that it no longer uses.
enum LoopTimes {
    private static let count = Atomic<Int>(0)
    private static let entries = Locked<[TimeID: (time: WeakTimeBase, loops: Int)]>([:])

    /// Notes that a loop is on a time. A virtual time is held weakly; the kernel's is not noted.
    static func add(_ time: TimeBase) {
        guard let weak = time.weakly else { return }
        entries.withLock { entries in
            entries[time.id, default: (weak, 0)].loops += 1
            count.store(entries.count, ordering: .relaxed)
        }
    }

    /// Notes that a loop on a time is gone, which held the time.
    static func remove(_ time: TimeBase) {
        if time.weakly == nil { return }
        entries.withLock { entries in
            entries[time.id]?.loops -= 1
            if entries[time.id]?.loops == 0 { entries[time.id] = nil }
            count.store(entries.count, ordering: .relaxed)
        }
    }

    /// The virtual times that loops are on, and the one that the caller is in.
    static var all: [TimeBase] {
        let current = TimeBase.current.on(.monotonic)
        return current.isSame(as: .kernel) && count.load(ordering: .relaxed) == 0 ? [] : all(with: current)
    }

    private static func all(with current: TimeBase) -> [TimeBase] {
        let times =
            entries.withLock { $0.values.compactMap(\.time.time) }.filter { !$0.isSame(as: current) } + [current]
        return times.filter { !$0.isSame(as: .kernel) }
    }
}
#endif
