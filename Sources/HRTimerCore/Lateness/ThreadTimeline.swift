#if os(Linux)
/// What a thread that fires timers did of late: when it slept, and when handlers ran. Written by that thread alone, without an
/// allocation; a fire adds one stretch, and a wait another one.
package struct ThreadTimeline: ~Copyable {
    package enum Kind: UInt8, Sendable { case parked, called }

    package struct Stretch: Sendable {
        package var kind = Kind.parked
        package var begin_ns = Int64.min
        package var end_ns = Int64.min
        /// Until when it was to park; `Int64.max` for as long as nobody woke it.
        package var planned_ns = Int64.max
        /// Whose handler it was.
        package var timer = TimerToken.stale

        package init() {}
    }

    /// What the thread did in a span of time.
    struct Doings {
        /// Of its time asleep: what it was to sleep, and what it woke too late.
        var mayWait_ns: Int64 = 0
        var asleep_ns: Int64 = 0
        /// In handlers, and all else.
        var calls_ns: Int64 = 0
        var awake_ns: Int64 = 0
        var woken_ns: Int64?
        var longestCall: Stretch?
    }

    static let capacity = 64
    // Unsafe: memory that this value alone owns, of `capacity` stretches that are all initialized.
    private let stretches = UnsafeMutablePointer<Stretch>.allocate(capacity: ThreadTimeline.capacity)
    private var count = 0

    package init() {
        stretches.initialize(repeating: Stretch(), count: Self.capacity)
    }

    deinit { stretches.deallocate() }

    var isEmpty: Bool { count == 0 }

    package mutating func add(_ kind: Kind, _ begin_ns: Int64, _ end_ns: Int64, planned_ns: Int64 = .max) {
        add(kind, begin_ns, end_ns, planned_ns, .stale)
    }

    package mutating func add(
        _ kind: Kind,
        _ begin_ns: Int64,
        _ end_ns: Int64,
        _ planned_ns: Int64,
        _ timer: TimerToken
    ) {
        let place = stretches + count % Self.capacity
        count += 1
        place.pointee.kind = kind
        place.pointee.begin_ns = begin_ns
        place.pointee.end_ns = end_ns
        place.pointee.planned_ns = planned_ns
        place.pointee.timer = timer
    }

    /// The end of the latest call of that timer, if it is known still.
    func endOfLatestCall(of timer: TimerToken) -> Int64? {
        for number in stride(from: count - 1, through: max(0, count - Self.capacity), by: -1) {
            let stretch = stretches[number % Self.capacity]
            if stretch.kind == .called, stretch.timer == timer { return stretch.end_ns }
        }
        return nil
    }

    func doings(from begin_ns: Int64, to end_ns: Int64) -> Doings {
        var doings = Doings()
        var position_ns = end_ns
        // From the latest back, and no further than where the span begins.
        for number in stride(from: count - 1, through: max(0, count - Self.capacity), by: -1) {
            let stretch = stretches[number % Self.capacity]
            if stretch.kind == .parked, doings.woken_ns == nil { doings.woken_ns = stretch.end_ns }
            if position_ns <= begin_ns { break }
            let stretchEnd_ns = min(stretch.end_ns, position_ns)
            let from_ns = max(begin_ns, stretchEnd_ns)
            doings.awake_ns = doings.awake_ns.addingSaturating(max(0, position_ns.subtractingSaturating(from_ns)))
            position_ns = min(position_ns, from_ns)
            let stretchBegin_ns = max(begin_ns, min(stretch.begin_ns, position_ns))
            doings.add(stretch, stretchBegin_ns, position_ns)
            position_ns = stretchBegin_ns
        }
        // Older than what is known: a burst, whose calls have filled the memory.
        if position_ns > begin_ns {
            if count > Self.capacity {
                doings.calls_ns = doings.calls_ns.addingSaturating(position_ns.subtractingSaturating(begin_ns))
            } else {
                doings.awake_ns = doings.awake_ns.addingSaturating(position_ns.subtractingSaturating(begin_ns))
            }
        }
        return doings
    }
}

extension ThreadTimeline.Doings {
    fileprivate mutating func add(_ stretch: ThreadTimeline.Stretch, _ begin_ns: Int64, _ end_ns: Int64) {
        guard end_ns > begin_ns else { return }
        switch stretch.kind {
        case .called:
            calls_ns = calls_ns.addingSaturating(end_ns.subtractingSaturating(begin_ns))
            let longest_ns = longestCall.map { $0.end_ns.subtractingSaturating($0.begin_ns) } ?? -1
            if stretch.end_ns.subtractingSaturating(stretch.begin_ns) > longest_ns { longestCall = stretch }
        case .parked:
            let due_ns = min(end_ns, max(begin_ns, stretch.planned_ns))
            mayWait_ns = mayWait_ns.addingSaturating(due_ns.subtractingSaturating(begin_ns))
            asleep_ns = asleep_ns.addingSaturating(end_ns.subtractingSaturating(due_ns))
        }
    }
}
#endif
