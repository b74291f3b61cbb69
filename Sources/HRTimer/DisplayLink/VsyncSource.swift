#if os(Linux)
import CHRTimer
import HRTimerCore

/// Where the refreshes of a display come from: its real vertical blanks, or a virtual display's grid.
///
///     let link = DisplayLink { link in draw(for: link.targetTimestamp) }   // of `VsyncSource.shared`
///     let other = DisplayLink(source: try .x11(display: ":1")) { link in … }
///
/// All links of a source share its refreshes: those with the same rate are called together, and agree on `timestamp`.
///
/// A real source gets requests for single refreshes, and answers after each. From the answers the display's period and
/// phase are learnt, and the links are called by timers for the predicted refreshes: in a gap, or when the source is
/// lost, they go on. The rate that a server reports is not used once the display is known; before that the rate is the
/// reported one, or 60. New knowledge applies from the refresh after the next: the period at once, the phase by at most
/// a twentieth of a period each refresh; no refresh comes twice, and time never goes back.
///
/// A real source is watched in the loop of one of its links, and only while some link is not paused. If that loop ends,
/// does not run, or runs in a mode without links, another link's loop takes over at its next call. Any thread.
public final class VsyncSource: Sendable {
    /// The kinds of sources.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// A grid of instants, of no screen.
        case virtual
        /// An X server, by its Present extension.
        case x11
        /// A Wayland compositor, for a surface of the application's.
        case wayland
        /// The kernel, by a card's CRTC.
        case drm
    }

    /// The present knowledge about the display.
    public enum State: String, Sendable, Hashable, CaseIterable {
        /// The refreshes are those of a virtual display.
        case virtual
        /// Fewer than six refreshes have agreed on a period; calls go on at the former rate.
        case learning
        /// The calls follow the display.
        case locked
        /// No answer came for more than four periods, and for 0.1 s; the calls go on at the display's predicted
        /// refreshes.
        case coasting
        /// No answer came for 2 s, or the server is gone. The calls go on, and the source still gets requests from time
        /// to time.
        case lost
    }

    /// Where the refreshes come from.
    public let kind: Kind
    /// The sources that had preference, and why they were not taken.
    public let refusals: [Refusal]
    let core: Locked<VsyncCore>
    /// Opens the driver again after it was lost; takes milliseconds.
    private let reopen: (@Sendable () throws(TimerError) -> any VsyncDriver)?
    private let generation = hrt_fork_generation()

    /// A virtual display of that rate. Its refreshes begin when its first link is added to a loop.
    public convenience init(frameRate: FrameRate) {
        self.init(kind: .virtual, rate: frameRate, driver: nil, reopen: nil)
    }

    /// A virtual display of variable rate, like those that refresh when a frame is ready.
    ///
    /// Its rate is the one that its links request: a requested rate in the range; for one below it, the lowest whole
    /// multiple in the range; and the fastest rate for a link without a request. So a request is met exactly, where a
    /// display with one rate could only divide that: 48...144 gives 100 for a request of 100, and 48, of which every
    /// second refresh has a call, for 24. Of several links the fastest request counts, and the others divide the
    /// resulting rate. Rates are limited to `FrameRate.bounds`; the first rate is the fastest.
    public convenience init(frameRates: ClosedRange<Double>) {
        let low = min(max(frameRates.lowerBound, FrameRate.bounds.lowerBound), FrameRate.bounds.upperBound)
        let high = min(max(frameRates.upperBound, FrameRate.bounds.lowerBound), FrameRate.bounds.upperBound)
        self.init(kind: .virtual, rate: FrameRate(high), rates: low...high, driver: nil, reopen: nil)
    }

    init(
        kind: Kind,
        rate: FrameRate = .standard,
        rates: ClosedRange<Double>? = nil,
        driver: (any VsyncDriver)?,
        refusals: [Refusal] = [],
        reopen: (@Sendable () throws(TimerError) -> any VsyncDriver)?
    ) {
        self.kind = kind
        self.refusals = refusals
        self.reopen = reopen
        core = Locked(VsyncCore(rate: driver?.toldRate ?? rate, rates: rates, driver: driver))
    }

    deinit {
        let loopSource = core.withLock { $0.hosting.take() }?.source
        loopSource?.invalidate()
    }

    var isInForkedChild: Bool { generation != hrt_fork_generation() }
}

extension VsyncSource {
    /// A source that was not taken, and why.
    public struct Refusal: Sendable, Hashable, CustomStringConvertible {
        /// Which source.
        public let kind: Kind
        /// Why it was not taken, in words.
        public let reason: String

        /// Both of these.
        public var description: String { "\(kind.rawValue): \(reason)" }
    }
}

extension VsyncSource {
    /// The present knowledge about the display.
    public var state: State { core.withLock { $0.displayState(kind) } }

    /// Refreshes a second: measured, or as given for a virtual display. Until the display is known, the reported rate,
    /// or 60.
    public var framesPerSecond: Double { core.withLock { $0.framesPerSecond } }

    /// The time from one refresh to the next.
    public var period: Duration { core.withLock { .nanoseconds($0.period_ns) } }

    /// The rate that the source claims; nil if it claims none. Often wrong, and not used once the display is known.
    public var toldRate: FrameRate? { core.withLock { $0.driver?.toldRate } }

    /// The rate of a virtual display; for a real one, its rate until the display was known.
    ///
    /// Setting it changes a virtual display at once, while links run: the next refresh is one new period after the
    /// latest or, if that has passed, the first of the following ones. For a real display it does nothing; a virtual
    /// one of variable rate has it until a link requests another.
    public var frameRate: FrameRate {
        get { core.withLock { $0.rate } }
        set {
            guard kind == .virtual else { return }
            let links = core.withLock { core -> [DisplayLink] in
                core.setRate(newValue)
                return core.linksToNotify()
            }
            notify(links)
        }
    }

    /// Counts of a source.
    public struct Statistics: Sendable, Hashable {
        /// Refreshes that were requested.
        public var requests = 0
        /// Answers that were used.
        public var samples = 0
        /// Answers that were too far from the predicted refresh.
        public var refused = 0
        /// Answers that reported no refresh: from a display that sleeps, or of an instant long past.
        public var bogus = 0
        /// Refreshes that were requested but not reported: the server was busy, or stopped.
        public var missed = 0
        /// How often the display was learnt again, after a change of mode or phase.
        public var restarts = 0
        /// How often the source was lost, with its connection.
        public var losses = 0
        /// The root mean square of the answers' deviations from the line through them; nil while that is not known.
        public var residual: Duration?
    }

    /// Counts since the source was made.
    public var statistics: Statistics {
        core.withLock { core in
            var statistics = core.statistics
            statistics.refused = core.model.refusedSamples
            statistics.restarts = core.model.restarts
            statistics.missed = Int(clamping: core.model.missedRefreshes)
            statistics.residual = core.model.fit.map { .nanoseconds(Int64($0.residual_ns.rounded())) }
            return statistics
        }
    }
}

// Called by links with their own lock held, which is taken before this one.
extension VsyncSource {
    /// Begins the refreshes at `now_ns` if they have not begun. False if they are on another clock than `time`.
    func begin(_ time: TimeBase, now_ns: Int64) -> Bool {
        core.withLock { $0.begin(time, now_ns: now_ns) }
    }

    /// Calls `body` with the known refreshes. Every change of them notifies all links.
    func withTimeline<Result>(_ body: (RefreshTimeline) -> Result) -> Result? {
        core.withLock { $0.timeline.map(body) }
    }
}

// Called by links without their lock.
extension VsyncSource {
    /// The link is now in that loop for these modes; in none if it has been removed.
    func update(
        _ link: DisplayLink,
        loop: TimerLoop?,
        modes: Set<TimerLoop.Mode>,
        isActive: Bool,
        request: Double?
    ) {
        let id = ObjectIdentifier(link)
        let links = core.withLock { core -> [DisplayLink] in
            core.members[id] = loop.map {
                let isActive = isActive && !modes.isEmpty
                return VsyncCore.Member(link: link, loop: $0, modes: modes, isActive: isActive, request: request)
            }
            core.adapt()
            core.follow(core.now_ns)
            return core.linksToNotify()
        }
        notify(links)
        // For a link that is added while calls are held.
        if core.withLock({ $0.isHeld }) { notify([link]) }
        host()
        tend()
    }

    /// Without the lock.
    func notify(_ links: [DisplayLink]) {
        guard !links.isEmpty else { return }
        let isHeld = core.withLock { $0.isHeld }
        for link in links { link.sourceHasChanged(isHeld: isHeld) }
    }

    /// Whether a request can change the rate of the display.
    var isVariable: Bool { core.withLock { $0.rates != nil } }

    /// For a link that is being freed.
    func forget(_ id: ObjectIdentifier) {
        if core.withLock({ $0.members.removeValue(forKey: id) }) != nil { host() }
    }

    /// Makes the refreshes after the next follow the display. Called after each call of a link, before it computes its
    /// next one.
    func follow(after link: DisplayLink) {
        guard kind != .virtual, !isInForkedChild else { return }
        let links = core.withLock { core in
            core.follow(core.now_ns)
            return core.linksToNotify()
        }
        notify(links.filter { $0 !== link })
    }

    /// Regular work: requests again, or opens a lost driver. Called after each call of a link.
    func tend(after link: DisplayLink? = nil) {
        guard kind != .virtual, !isInForkedChild else { return }
        let (isOverdue, answers) = core.withLock { ($0.isOverdue($0.now_ns), $0.answers) }
        // Others may have read a surface's events. Unread ones are left to the loop that watches, unless it does not
        // run.
        if isOverdue || kind == .wayland { drain(reads: isOverdue) }
        // The loop that watches did not take them, but the link's loop runs.
        if isOverdue, core.withLock({ $0.answers }) != answers, let loop = link?.state.withLock({ $0.loop }) {
            host(preferring: loop)
        }
        let (mustOpen, links) = core.withLock { core -> (Bool, [DisplayLink]) in
            let now_ns = core.now_ns
            core.requestIfDue(now_ns)
            core.slowIfHidden(now_ns)
            return (reopen != nil && core.mustOpen(now_ns), core.linksToNotify())
        }
        notify(links)
        guard mustOpen, let reopen else { return }
        hasOpened(try? reopen())
    }

    /// Nil if opening failed.
    func hasOpened(_ driver: (any VsyncDriver)?) {
        core.withLock { $0.hasOpened(driver) }
        if driver != nil {
            host()
            tend()
        }
    }

    /// Watches the driver in the loop and the modes of its links; without links, nowhere.
    private func host(preferring preferred: TimerLoop? = nil) {
        guard kind != .virtual, !isInForkedChild else { return }
        // Held until the end: freeing a loop may call this again, which must not happen under the lock.
        let loops = core.withLock { core in core.members.values.map(\.loop) + [core.hosting?.loop] }
        defer { withExtendedLifetime(loops) {} }
        let (old, plan) = core.withLock { $0.planHosting(preferring: preferred) }
        old?.source.invalidate()
        guard let plan else { return }
        let owned = OwnedDescriptor(plan.driver.descriptor) { [driver = plan.driver] _ in
            withExtendedLifetime(driver) {}
        }
        let source = LoopSource(plan.driver.descriptor, .readable, owned: owned) { [weak self] _, _ in self?.drain() }
        // The links do, if anything.
        source.keepsLoopRunning = false
        for mode in plan.modes { try? plan.loop.add(source, forMode: mode) }
        let isCurrent = core.withLock { core in
            guard core.hostings == plan.number else { return false }
            core.hosting = VsyncCore.Hosting(source: source, loop: plan.loop, modes: plan.modes)
            return true
        }
        if !isCurrent { source.invalidate() }
    }

    /// The descriptor is readable, or others may have read: takes all answers, and requests the next.
    private func drain(reads: Bool = true) {
        if isInForkedChild { return }
        let (lost, links, others) = core.withLock { core in
            (core.drain(reads: reads), core.linksToNotify(), core.driver?.takeOthers())
        }
        if let others { notify(others) }
        // Before the driver is released, which closes the descriptor.
        lost?.hosting?.source.invalidate()
        withExtendedLifetime(lost) {}
        notify(links)
    }

    /// Wakes the application's own sources of its connection, for events that were read before they could.
    private func notify(_ others: SharedReading) {
        guard others.othersWait else { return TimerLoop.hasRead(others.descriptor, waits: nil) }
        TimerLoop.hasRead(others.descriptor) { [weak self] in
            // They may have been dispatched by then.
            self?.core.withLock { $0.driver?.takeOthers()?.othersWait } ?? false
        }
    }
}
#endif
