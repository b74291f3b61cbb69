import HRTimerCore
import Synchronization

/// The calls that one timer makes for a link. One that was prepared before its refresh takes no lock when that has come.
///
/// The loop's thread prepares it with the link's lock (`LinkState.prepareCall`) and begins it without. What it reports
/// is the link's from then on, and the thread that takes the lock next commits it to the state
/// (`LinkState.commitReported`). A change of the link meanwhile moves its timer, so that the loop withdraws the call,
/// or comes too late for a call that has begun.
final class LinkCall: CallCompanion, @unchecked Sendable {
    // Sendable: `stay` is set before the loop has the timer. All else but `hasBegun` is touched by the thread of the
    // timer's loop, and once that is set by a thread that has the link's lock; it is clear again before the thread
    // prepares the next call, with that lock.

    /// Held for the loop, which holds the timer. A link does not hold this.
    let link: DisplayLink
    /// An object that is to live as long as the loop has the link.
    private let holder: (any AnyObject & Sendable)?
    /// Which of the link's stays in loops this is for; 0 for none.
    @exclusivity(unchecked) var stay: UInt = 0
    @exclusivity(unchecked) private var handler: DisplayLink.Handler?
    /// In time for the refresh.
    @exclusivity(unchecked) private var inTime_ns = Int64.max..<Int64.max
    @exclusivity(unchecked) private var reported = LinkState.Reported()
    /// The refresh of the call after it.
    @exclusivity(unchecked) private(set) var following: Int64 = 0
    private let hasBegun = Atomic(false)

    init(_ link: DisplayLink, holder: (any AnyObject & Sendable)? = nil) {
        self.link = link
        self.holder = holder
    }

    deinit {
        // The loop has let go of the timer; it may have ended.
        if stay > 0 { link.hasLeft(stay) }
    }

    override func prepare() { link.state.withLock { $0.prepareCall(self) } }

    override func withdraw() { handler = nil }

    /// With the link's lock.
    func prepare(
        _ handler: @escaping DisplayLink.Handler,
        _ reported: LinkState.Reported,
        inTime_ns: Range<Int64>,
        following: Int64
    ) {
        (self.handler, self.reported, self.inTime_ns, self.following) = (handler, reported, inTime_ns, following)
    }

    /// The timer's call. Few instructions before the handler: they are cold, as the data was before it was prepared.
    func fire() {
        guard let handler = handler.take(), inTime_ns.contains(called_ns) else { return link.fire(called_ns) }
        hasBegun.store(true, ordering: .releasing)
        handler(link)
        link.endCall(isCalled: true, self)
    }

    /// With the link's lock: what a call that has begun reports, once.
    func takeBegun() -> LinkState.Reported? {
        guard hasBegun.load(ordering: .acquiring) else { return nil }
        hasBegun.store(false, ordering: .relaxed)
        reported.begin(called_ns, due_ns: inTime_ns.lowerBound)
        return reported
    }
}
