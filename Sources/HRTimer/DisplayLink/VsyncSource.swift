import CHRTimer
import HRTimerCore

/// Where the refreshes of a display come from: its real vertical blanks, or a virtual display's.
///
///     let link = DisplayLink { link in draw(for: link.targetTimestamp) }   // of `VsyncSource.shared`
///     let other = DisplayLink(source: try .x11(display: ":1")) { link in … }
///
/// All links of a source share its refreshes: those with the same rate are called together, and agree on `timestamp`.
///
/// A real source is asked for single refreshes, and answers when they have been. From those answers the display's period
/// and phase are learnt, and the links are called by timers set to the refreshes that follow: in a gap, or when the source is
/// lost, they go on. What a server says about its rate is not believed. While nothing is known the rate is the reported
/// one, or 60. What was learnt then takes hold from the refresh after the next: the period at once, the phase by at
/// most a twentieth of a period each refresh; no refresh comes twice, and time never goes back.
///
/// A real source is watched in the loop of one of its links, and only while some link is not paused. If that loop ends, does
/// not run, or runs in a mode without links, another one takes over by a call of its own links. Any thread.
public final class VsyncSource: Sendable {
    /// What reports the refreshes.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// A grid of instants, of no screen.
        case virtual
        /// An X server, by its Present extension.
        case x11
        /// A Wayland compositor, by a surface of the application's.
        case wayland
        /// The kernel, by a card's CRTC.
        case drm
    }

    /// What is known about the display now.
    public enum State: String, Sendable, Hashable, CaseIterable {
        /// The refreshes are those of a virtual display.
        case virtual
        /// Fewer than six refreshes agreed on a period so far; calls go on at the rate there was before.
        case learning
        /// The calls follow the display.
        case locked
        /// Nothing was heard for more than four periods, and for 0.1 s; the calls go on as the display would have.
        case coasting
        /// Nothing was heard for 2 s, or the server is gone. The calls go on, and the source is asked now and then.
        case lost
    }

    /// Where the refreshes come from.
    public let kind: Kind
    /// The sources that would have been preferred, and why they were not taken.
    public let refusals: [VsyncRefusal]
    let core: Locked<VsyncCore>
    /// Opens the driver again after it was lost; takes milliseconds.
    private let reopen: (@Sendable () throws(TimerError) -> any VsyncDriver)?
    private let generation = hrt_fork_generation()

    /// A virtual display of that rate. Its refreshes begin when its first link is added to a loop.
    public convenience init(frameRate: FrameRate) {
        self.init(kind: .virtual, rate: frameRate, driver: nil, reopen: nil)
    }

    /// A virtual display of variable rate, like those that refresh when a frame is there.
    ///
    /// It refreshes at the rate that its links request: at a requested rate that lies in the range, at the lowest whole
    /// multiple of one below it that does, and at the fastest for a link without a request. So a request is met
    /// exactly, where a display of one rate could only divide that: 48...144 gives 100 for a request of 100, and 48, of
    /// which every second one has a call, for 24. Of several links the fastest request counts, and the others divide
    /// the rate that it gives. Rates are brought into `FrameRate.bounds`; at first it is the fastest.
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
        refusals: [VsyncRefusal] = [],
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

/// A source that was not taken, and why.
public struct VsyncRefusal: Sendable, Hashable, CustomStringConvertible {
    /// What it would have been.
    public let kind: VsyncSource.Kind
    /// What kept it from being taken, in words.
    public let reason: String

    /// Both.
    public var description: String { "\(kind.rawValue): \(reason)" }
}

extension VsyncSource {
    /// What is known about the display now.
    public var state: State { core.withLock { $0.displayState(kind) } }

    /// Refreshes a second: as measured, or as given for a virtual display. Until the display is known, as it says, or 60.
    public var framesPerSecond: Double { core.withLock { $0.framesPerSecond } }

    /// The time from one refresh to the next.
    public var period: Duration { core.withLock { .nanoseconds($0.period_ns) } }

    /// What the source says its rate is; nil if it says nothing. Often wrong, and not used once the display is known.
    public var toldRate: FrameRate? { core.withLock { $0.driver?.toldRate } }

    /// The rate of a virtual display; for a real one, what it was until the display was known.
    ///
    /// Setting it changes a virtual display at once, while links run: the next refresh is one new period after the latest, or
    /// if that is past the first of the new ones that follow. To a real display it does nothing; a virtual one of variable
    /// rate has it until a link requests another.
    public var frameRate: FrameRate {
        get { core.withLock { $0.rate } }
        set {
            guard kind == .virtual else { return }
            let links = core.withLock { core -> [DisplayLink] in
                core.setRate(newValue)
                return core.linksToTell()
            }
            tell(links)
        }
    }

    /// What a source has done so far.
    public struct Statistics: Sendable, Hashable {
        /// Refreshes that were asked for.
        public var requests = 0
        /// Answers that were used.
        public var samples = 0
        /// Answers that were too far from where the refresh should have been.
        public var refused = 0
        /// Answers that reported no refresh: from a display that sleeps, or of an instant long past.
        public var bogus = 0
        /// Refreshes that were requested but not reported: the server was busy, or stopped.
        public var missed = 0
        /// How often the display was learnt again: another mode, or another phase.
        public var restarts = 0
        /// How often the source was lost, with its connection.
        public var losses = 0
        /// How far the answers are from the line through them, as root mean square; nil while it is not known.
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

// What links ask for, with their own lock held; it comes before this one.
extension VsyncSource {
    /// Begins the refreshes at `now_ns` if they have not begun. False if they are on another clock than `time`.
    func begin(_ time: TimeBase, now_ns: Int64) -> Bool {
        core.withLock { $0.begin(time, now_ns: now_ns) }
    }

    /// Calls `body` with the refreshes as they are known. All that changes them notifies all links.
    func withTimeline<Result>(_ body: (RefreshTimeline) -> Result) -> Result? {
        core.withLock { $0.timeline.map(body) }
    }
}

// What links report, without their lock.
extension VsyncSource {
    /// The link is in that loop for these modes now, in none if it has left it.
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
            return core.linksToTell()
        }
        tell(links)
        // For one that comes while there are no calls.
        if core.withLock({ $0.isHeld }) { tell([link]) }
        host()
        tend()
    }

    /// Without the lock.
    func tell(_ links: [DisplayLink]) {
        guard !links.isEmpty else { return }
        let isHeld = core.withLock { $0.isHeld }
        for link in links { link.sourceHasChanged(isHeld: isHeld) }
    }

    /// Whether a request can change the rate of the display.
    var isVariable: Bool { core.withLock { $0.rates != nil } }

    /// For a link that is gone already.
    func forget(_ id: ObjectIdentifier) {
        if core.withLock({ $0.members.removeValue(forKey: id) }) != nil { host() }
    }

    /// Has the refreshes after the next follow the display. Called after each call of a link, before it works out its next one.
    func follow(after link: DisplayLink) {
        guard kind != .virtual, !isInForkedChild else { return }
        let links = core.withLock { core in
            core.follow(core.now_ns)
            return core.linksToTell()
        }
        tell(links.filter { $0 !== link })
    }

    /// What is to be done now and then: asks again, or opens what was lost. Called after each call of a link.
    func tend(after link: DisplayLink? = nil) {
        guard kind != .virtual, !isInForkedChild else { return }
        let (isOverdue, answers) = core.withLock { ($0.isOverdue($0.now_ns), $0.answers) }
        // A surface's events may have been read by others. What nobody has read yet is left to those who watch for it, unless they do
        // not run.
        if isOverdue || kind == .wayland { drain(reads: isOverdue) }
        // The loop that watches has left them; that of the link runs.
        if isOverdue, core.withLock({ $0.answers }) != answers, let loop = link?.state.withLock({ $0.loop }) {
            host(preferring: loop)
        }
        let (mustOpen, links) = core.withLock { core -> (Bool, [DisplayLink]) in
            let now_ns = core.now_ns
            core.requestIfDue(now_ns)
            core.slowIfHidden(now_ns)
            return (reopen != nil && core.mustOpen(now_ns), core.linksToTell())
        }
        tell(links)
        guard mustOpen, let reopen else { return }
        hasOpened(try? reopen())
    }

    /// Nil if that failed.
    func hasOpened(_ driver: (any VsyncDriver)?) {
        core.withLock { $0.hasOpened(driver) }
        if driver != nil {
            host()
            tend()
        }
    }

    /// Watches the driver in the loop and the modes of its links, and nowhere without any.
    private func host(preferring preferred: TimerLoop? = nil) {
        guard kind != .virtual, !isInForkedChild else { return }
        // Held until the end: a loop that ends frees what may come back here, which must not be under the lock.
        let loops = core.withLock { core in core.members.values.map(\.loop) + [core.hosting?.loop] }
        defer { withExtendedLifetime(loops) {} }
        let (old, plan) = core.withLock { $0.planHosting(preferring: preferred) }
        old?.source.invalidate()
        guard let plan else { return }
        let owned = OwnedDescriptor(plan.driver.descriptor) { [driver = plan.driver] _ in
            withExtendedLifetime(driver) {}
        }
        let source = LoopSource(plan.driver.descriptor, .readable, owned: owned) { [weak self] _, _ in self?.drain() }
        for mode in plan.modes { try? plan.loop.add(source, forMode: mode) }
        let isCurrent = core.withLock { core in
            guard core.hostings == plan.number else { return false }
            core.hosting = VsyncCore.Hosting(source: source, loop: plan.loop, modes: plan.modes)
            return true
        }
        if !isCurrent { source.invalidate() }
    }

    /// The descriptor is readable, or somebody else may have read: takes all there is, and asks for the next.
    private func drain(reads: Bool = true) {
        if isInForkedChild { return }
        let (lost, links, others) = core.withLock { core in
            (core.drain(reads: reads), core.linksToTell(), core.driver?.takeOthers())
        }
        if let others { tell(others) }
        // Before the driver is let go, which closes the descriptor.
        lost?.hosting?.source.invalidate()
        withExtendedLifetime(lost) {}
        tell(links)
    }

    /// Wakes the application's own sources of its connection, for what was read before they could.
    private func tell(_ others: SharedReading) {
        guard others.othersWait else { return TimerLoop.hasRead(others.descriptor, waits: nil) }
        TimerLoop.hasRead(others.descriptor) { [weak self] in
            // Somebody may have dispatched it by then.
            self?.core.withLock { $0.driver?.takeOthers()?.othersWait } ?? false
        }
    }
}
