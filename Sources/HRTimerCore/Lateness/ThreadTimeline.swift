// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
/// The recent past of a thread that fires timers: when it slept, and when handlers ran. That thread alone writes it, without an
/// allocation; a fire adds one stretch, and a wait another one.
@safe package struct ThreadTimeline: ~Copyable {
    package enum Kind: UInt8, Sendable { case parked, called }

    package struct Stretch: Sendable {
        package var kind = Kind.parked
        package var begin_ns = Int64.min
        package var end_ns = Int64.min
        /// The instant until which it was to park; `Int64.max` if it was to park until somebody woke it.
        package var planned_ns = Int64.max
        /// The timer whose handler it was.
        package var timer = TimerToken.stale

        package init() {}
    }

    /// What the thread did in a span of time.
    struct Doings {
        /// Time asleep: until the planned end, and from there until it woke.
        var mayWait_ns: Int64 = 0
        var asleep_ns: Int64 = 0
        /// Time awake: in handlers, and in all else.
        var calls_ns: Int64 = 0
        var awake_ns: Int64 = 0
        var woken_ns: Int64?
        var longestCall: Stretch?
    }

    static let capacity = 64
    // Safe: this value alone owns the memory of `capacity` stretches, which are all initialized.
    @safe private let stretches = UnsafeMutablePointer<Stretch>.allocate(capacity: ThreadTimeline.capacity)
    private var count = 0

    package init() {
        unsafe stretches.initialize(repeating: Stretch(), count: Self.capacity)
    }

    deinit { unsafe stretches.deallocate() }

    var isEmpty: Bool { count == 0 }

    package mutating func add(
        _ kind: Kind,
        _ begin_ns: Int64,
        _ end_ns: Int64,
        planned_ns: Int64 = .max,
        timer: TimerToken = .stale
    ) {
        @safe let place = unsafe stretches + count % Self.capacity
        count += 1
        place.pointee.kind = kind
        place.pointee.begin_ns = begin_ns
        place.pointee.end_ns = end_ns
        place.pointee.planned_ns = planned_ns
        place.pointee.timer = timer
    }

    /// Returns the end of the timer's latest call, if it is still known.
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
        // From the latest stretch back, and no further than the begin of the span.
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
        // The rest is older than the stretches that are kept. If they are full, a burst has filled them with its calls.
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
