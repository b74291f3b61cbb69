import CBench
import Glibc
import HRTimer

/// The timers of one rated crowd, and the lateness that each fire reported.
///
/// Unchecked: the members are C structures behind a pointer, each modified only by its timer's handler, one call at a time;
/// the tally is atomic.
final class Fleet: @unchecked Sendable {
    /// One timer, for its handler.
    struct Member: @unchecked Sendable {
        // Safe as long as its fleet lives, which the crowd ensures.
        fileprivate let pointer: UnsafeMutablePointer<cbench_member>

        /// Records a fire. Called by the handler. Returns the next deadline.
        @inline(__always)
        @discardableResult
        func fire() -> Int64 { cbench_member_fire(pointer) }

        /// Sets the deadline of the next fire, for a timer that reports it.
        func skip(to deadline_ns: Int64) { cbench_member_skip_to(pointer, deadline_ns) }

        var next_ns: Int64 { pointer.pointee.next_ns }
    }

    let timers: [CrowdTimer]
    /// The time that arming all timers may take.
    let armingLimit: Duration
    /// For crowds in C.
    let members: UnsafeMutablePointer<cbench_member>
    let tally: UnsafeMutablePointer<cbench_tally>

    init(_ timers: [CrowdTimer], armingLimit: Duration = .seconds(10)) throws {
        guard let tally = cbench_tally_create() else { throw BenchError(String(cString: strerror(ENOMEM))) }
        self.tally = tally
        self.timers = timers
        self.armingLimit = armingLimit
        members = .allocate(capacity: max(1, timers.count))
        for (index, timer) in timers.enumerated() {
            let member = cbench_member(
                tally: tally,
                next_ns: timer.first_ns,
                interval_ns: timer.interval_ns ?? 0,
                skipped_ns: 0,
                skipped_in: 0
            )
            (members + index).initialize(to: member)
        }
    }

    deinit {
        members.deallocate()
        cbench_tally_destroy(tally)
    }

    /// Returns the number of deadlines up to the instant for which no fire has come.
    func overdue(at instant_ns: Int64) -> Int {
        Int(clamping: cbench_members_overdue(members, timers.count, instant_ns))
    }

    func member(_ index: Int) -> Member { Member(pointer: members + index) }
}

/// Many timers of one kind, each with a handler that reports its lateness.
protocol RatedCrowd: AnyObject {
    /// Arms all timers of the fleet. Called on the measuring thread.
    func arm(_ fleet: Fleet) throws
    /// Lets the timers fire until then. Called on the measuring thread, which also runs the loop of timers that need one.
    func run(until instant_ns: Int64)
    /// Ends all timers. No handler runs after it has returned.
    func clear()
}

extension RatedCrowd {
    func run(until instant_ns: Int64) {
        while cbench_now_ns() < instant_ns {
            usleep(UInt32(clamping: min(500_000, (instant_ns - cbench_now_ns()) / 1000 + 1)))
        }
    }
}

/// A kind of crowd that can be measured.
struct CrowdRival: Sendable {
    /// Stable, because scripts use it.
    let id: String
    let takesTolerance: Bool
    let make: @Sendable () throws -> any RatedCrowd

    init(_ id: String, takesTolerance: Bool = false, _ make: @escaping @Sendable () throws -> any RatedCrowd) {
        self.id = id
        self.takesTolerance = takesTolerance
        self.make = make
    }

    static let all: [CrowdRival] =
        [
            CrowdRival("hrtimer.engine.normal") { try EngineFleet(.normal) },
            CrowdRival("hrtimer.engine.precise") { try EngineFleet(.precise) },
            CrowdRival("hrtimer.engine.coalesced", takesTolerance: true) { try EngineFleet(.coalesced) },
            CrowdRival("hrtimer.source.normal") { try SourceFleet(.normal) },
            CrowdRival("hrtimer.source.coalesced", takesTolerance: true) { try SourceFleet(.coalesced) },
            CrowdRival("hrtimer.source.dispatch-queue.normal") { try SourceFleet(.normal, onQueue: true) },
            CrowdRival("hrtimer.loop-timer.normal") { LoopFleet(.normal) },
            CrowdRival("hrtimer.loop-timer.coalesced", takesTolerance: true) { LoopFleet(.coalesced) },
            CrowdRival("hrtimer.clock-sleep.normal") { try SleepFleet(onExecutor: false) },
            CrowdRival("hrtimer.executor-sleep.normal") { try SleepFleet(onExecutor: true) },
            CrowdRival("limit.sorted-closures", takesTolerance: true) { LimitFleet() },
            CrowdRival("dispatch.source", takesTolerance: true) { DispatchFleet() },
            CrowdRival("swift.task-sleep", takesTolerance: true) { TaskSleepFleet() },
            CrowdRival("foundation.timer", takesTolerance: true) { FoundationFleet() },
            CrowdRival("libevent.timer") { CFleet(cbench_libevent_crowd) },
            CrowdRival("kernel.timerfd-epoll") { CFleet(cbench_timerfd_crowd) },
        ] + nioFleets
}

/// A crowd in C: crowds.c.
final class CFleet: RatedCrowd {
    private let make: (UnsafeMutablePointer<cbench_member>, Int) -> OpaquePointer?
    private var handle: OpaquePointer?

    init(_ make: @escaping (UnsafeMutablePointer<cbench_member>, Int) -> OpaquePointer?) {
        self.make = make
    }

    func arm(_ fleet: Fleet) throws {
        handle = make(fleet.members, fleet.timers.count)
        if handle == nil { throw BenchError(String(cString: strerror(errno))) }
    }

    func run(until instant_ns: Int64) {
        if let handle { cbench_crowd_run(handle, instant_ns) }
    }

    func clear() {
        if let handle { cbench_crowd_destroy(handle) }
        handle = nil
    }
}
