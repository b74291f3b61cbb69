#if os(Linux)
import HRTimerCore
import Synchronization

/// On which clocks a point in time had passed when a timer was given it: what had passed counts as when the timer is added to
/// a loop, what passes later keeps its grid.
///
/// A timer does not know which loop it will be added to: the kernel's clock is asked, and each virtual one that a loop is on or
/// that the caller is in. Of a virtual time that there was not yet nothing had passed.
struct PassedOn: Sendable {
    /// Kept apart from the timers: nearly all have one of two values.
    private let clocks: [TimeID]

    static let none = PassedOn(clocks: [])
    private static let kernel = PassedOn(clocks: [TimeBase.kernel.id])

    private init(clocks: [TimeID]) {
        self.clocks = clocks
    }

    /// `deadline_ns` gives the point on a clock's monotonic time.
    @inline(__always)
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

/// The virtual times that loops are on. In a program that has none, one look at a word.
enum LoopTimes {
    private static let count = Atomic<Int>(0)
    private static let entries = Locked<[WeakTimeBase]>([])

    /// A loop is on that time. A virtual one is held weakly; of the kernel's no note is taken.
    static func add(_ time: TimeBase) {
        guard let weak = time.weakly else { return }
        entries.withLock { entries in
            entries.removeAll { $0.time == nil }
            if !entries.contains(where: { $0.time?.id == time.id }) { entries.append(weak) }
            count.store(entries.count, ordering: .relaxed)
        }
    }

    /// Those, and the one that the caller is in.
    @inline(__always)
    static var all: [TimeBase] {
        let current = TimeBase.current.on(.monotonic)
        return current.isSame(as: .kernel) && count.load(ordering: .relaxed) == 0 ? [] : all(with: current)
    }

    @inline(never)
    private static func all(with current: TimeBase) -> [TimeBase] {
        let times = entries.withLock { $0.compactMap(\.time) }.filter { !$0.isSame(as: current) } + [current]
        return times.filter { !$0.isSame(as: .kernel) }
    }
}
#endif
