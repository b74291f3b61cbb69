// SPDX-License-Identifier: Apache-2.0
import CBench
import Dispatch
import Glibc

/// Many timers of one package.
protocol Crowd: AnyObject {
    /// Arms all timers of the fleet. Called on the measuring thread.
    func arm(_ fleet: Fleet) throws
    /// Lets the timers fire until then. Called on the measuring thread, which also runs the loop of timers that need one.
    func run(until instant_ns: Int64)
    /// Ends all timers. No handler runs after it has returned.
    func clear()
    /// How often a thread of ours has returned from a wait so far; nil if that is not counted.
    var wakeups: UInt64? { get }
}

extension Crowd {
    func run(until instant_ns: Int64) {
        while cbench_now_ns() < instant_ns {
            usleep(UInt32(clamping: min(500_000, (instant_ns - cbench_now_ns()) / 1000 + 1)))
        }
    }

    var wakeups: UInt64? { nil }
}

/// The deadline and grid of one timer of a crowd, in ns of `CLOCK_MONOTONIC`.
struct CrowdTimer: Sendable, Equatable {
    var first_ns: Int64
    /// Nil for a timer that fires once.
    var interval_ns: Int64?
    var tolerance_ns: Int64 = 0
}

/// The timers of one crowd, and what their handlers do: report the lateness of each fire, or only count.
///
/// Unchecked: the members are C structures behind a pointer, each modified only by its timer's handler, one call at a time;
/// the tally is atomic.
final class Fleet: @unchecked Sendable {
    /// The handler's part of one timer. Unchecked and unowned: safe as long as its fleet lives, which the crowd ensures.
    enum Member: @unchecked Sendable {
        case rated(UnsafeMutablePointer<cbench_member>)
        case counted(Unmanaged<CrowdCount>)

        /// Records a fire. Called by the handler. Returns the next deadline of a rated timer.
        @inline(__always)
        @discardableResult
        func fire() -> Int64 {
            switch self {
            case .rated(let member): return cbench_member_fire(member)
            case .counted(let count):
                // Without a reference count, which would be a part of each fire.
                count._withUnsafeGuaranteedRef { $0.addOne() }
                return 0
            }
        }

        /// Sets the deadline of the next fire, for a rated timer that reports it.
        func skip(to deadline_ns: Int64) {
            if case .rated(let member) = self { cbench_member_skip_to(member, deadline_ns) }
        }

        var next_ns: Int64 {
            if case .rated(let member) = self { member.pointee.next_ns } else { 0 }
        }
    }

    let timers: [CrowdTimer]
    /// For crowds in C.
    let members: UnsafeMutablePointer<cbench_member>
    let tally: UnsafeMutablePointer<cbench_tally>
    private let armingLimit: Duration
    private let count: CrowdCount?

    /// `armingLimit` is the time that arming all timers may take. With a `count`, their fires are only counted there.
    init(_ timers: [CrowdTimer], armingLimit: Duration = .seconds(10), countedBy count: CrowdCount? = nil) throws {
        guard let tally = cbench_tally_create() else { throw BenchError(String(cString: strerror(ENOMEM))) }
        self.tally = tally
        self.timers = timers
        self.armingLimit = armingLimit
        self.count = count
        members = .allocate(capacity: max(1, timers.count))
        guard count == nil else { return }
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

    func member(_ index: Int) -> Member {
        if let count { .counted(.passUnretained(count)) } else { .rated(members + index) }
    }

    var fires: Int { count?.soFar ?? Int(clamping: cbench_tally_fires(tally)) }

    /// Arms the timers one after the other.
    func armEach(_ arm: (CrowdTimer, Member) -> Void) throws {
        try armPending(timers.count, within: armingLimit) { arm(timers[$0], member($0)) }
    }

    /// Returns the number of deadlines up to the instant for which no fire has come.
    func overdue(at instant_ns: Int64) -> Int {
        Int(clamping: cbench_members_overdue(members, timers.count, instant_ns))
    }
}
