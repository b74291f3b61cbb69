// SPDX-License-Identifier: Apache-2.0
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
/// A real source gets requests for single refreshes and answers each of them. It learns the display's period and phase from
/// the answers. Timers call the links at the predicted refreshes, so calls go on in a gap, or when the source is lost. The
/// rate that a server reports, or 60, is used only until the display is known. New knowledge applies from the refresh after
/// the next: the period at once, the phase by at most a twentieth of a period each refresh. No refresh comes twice, and time
/// never goes back.
///
/// The loop of one of its links watches a real source, and only while some link is not paused. If that loop ends, does not
/// run, or runs in a mode without links, another link's loop takes over at its next call. Any thread may use a source.
public final class VsyncSource: Sendable {
    /// The kinds of sources.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// A grid of instants that belongs to no screen.
        case virtual
        /// An X server, by its Present extension.
        case x11
        /// A Wayland compositor, for a surface of the application.
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
        /// No answer came for 2 s, or the server is gone.
        ///
        /// The calls go on, and the source still gets requests from time to time.
        case lost
    }

    /// Where the refreshes come from.
    public let kind: Kind
    /// The sources that were preferred to this one, and why they were not taken.
    public let refusals: [(kind: Kind, reason: String)]
    let core: Locked<VsyncCore>
    /// Opens the driver again after it was lost; takes milliseconds.
    private let reopen: (@Sendable () throws(TimerError) -> any VsyncDriver)?
    private let generation = hrt_fork_generation()

    /// Creates a virtual display with this rate.
    ///
    /// Its refreshes begin when its first link is added to a loop.
    public convenience init(frameRate: FrameRate) {
        self.init(kind: .virtual, rate: frameRate, driver: nil, reopen: nil)
    }

    /// Creates a virtual display of variable rate, like those that refresh when a frame is ready.
    ///
    /// The links' requests determine the rate. A requested rate in the range is used as it is. For a request below the range
    /// the display uses the lowest whole multiple in the range, and for a link without a request the fastest rate. So a
    /// request is met exactly, where a display with one rate could only divide that rate: 48...144 gives 100 for a request of
    /// 100. For a request of 24 it gives 48, and every second refresh has a call. If several links have requests, the fastest
    /// one counts, and the other links divide the resulting rate. Rates are limited to `FrameRate.bounds`; the first rate is
    /// the fastest.
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
    typealias Refusal = (kind: Kind, reason: String)

    /// What is known about the display at present.
    public var state: State { core.withLock { $0.displayState(kind) } }

    /// Refreshes a second, as measured, or as given for a virtual display.
    ///
    /// Until a real display is known, the reported rate, or 60.
    public var framesPerSecond: Double { core.withLock { $0.framesPerSecond } }

    /// The time from one refresh to the next.
    public var period: Duration { core.withLock { .nanoseconds($0.period_ns) } }

    /// The rate that the source claims; nil if it claims none. Often wrong, and not used once the display is known.
    package var toldRate: FrameRate? { core.withLock { $0.driver?.toldRate } }

    /// The rate of a virtual display; for a real one, the rate that is used until the display is known.
    ///
    /// Setting it changes a virtual display at once, while links run. The next refresh comes one new period after the latest
    /// or, if that instant has passed, at the first of the following ones. Setting it does nothing for a real display. A
    /// virtual display of variable rate has the new rate until a link requests another.
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

    /// The counts of a source.
    package struct Statistics: Sendable, Hashable {
        /// Refreshes that were requested.
        package var requests = 0
        /// Answers that were used.
        package var samples = 0
        /// Answers that were too far from the predicted refresh.
        package var refused = 0
        /// Answers that reported no refresh: from a display that sleeps, or with an instant long past.
        package var bogus = 0
        /// Refreshes that were requested but not reported: the server was busy, or stopped.
        package var missed = 0
        /// How often the display was learnt again, after a change of mode or phase.
        package var restarts = 0
        /// How often the source and its connection were lost.
        package var losses = 0
        /// The root mean square of the answers' deviations from the line through them; nil while there is no line.
        package var residual: Duration?
    }

    /// The counts since the source was created.
    package var statistics: Statistics {
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

// Links call these functions with their own lock held, or their loop's, or both; these are taken before the source's lock.
extension VsyncSource {
    /// Begins the refreshes at `now_ns` if they have not begun. Returns false if they are on another clock than `time`.
    func begin(_ time: TimeBase, now_ns: Int64) -> Bool {
        core.withLock { $0.begin(time, now_ns: now_ns) }
    }

    /// Calls `body` with the known refreshes and their rate; returns nil if they have not begun. Every change of them notifies all
    /// links.
    func withTimeline<Result>(_ body: (RefreshTimeline, _ framesPerSecond: Double) -> Result) -> Result? {
        core.withLock { core in core.timeline.map { body($0, core.framesPerSecond) } }
    }

    /// Makes the refreshes after the next follow the display. Called after each call of a link, before its next one is computed;
    /// `tend`, which comes after that, notifies the other links.
    func follow() {
        if kind != .virtual, !isInForkedChild { core.withLock { $0.follow($0.now_ns) } }
    }
}

// Links call these functions without their lock.
extension VsyncSource {
    /// Records that the link is now in `loop` for these modes. `loop` is nil if the link has been removed.
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
        // A link that is added while calls are held must be told.
        if core.withLock({ $0.isHeld }) { notify([link]) }
        host()
        tend()
    }

    /// Tells the links that the source has changed. Must be called without the lock.
    func notify(_ links: [DisplayLink]) {
        guard !links.isEmpty else { return }
        let isHeld = core.withLock { $0.isHeld }
        for link in links { link.sourceHasChanged(isHeld: isHeld) }
    }

    /// Whether a link's request can change the rate of the display.
    var isVariable: Bool { core.withLock { $0.rates != nil } }

    /// Removes a link that is being freed.
    func forget(_ id: ObjectIdentifier) {
        if core.withLock({ $0.members.removeValue(forKey: id) }) != nil { host() }
    }

    /// Does regular work: requests the next refresh, or opens a lost driver again. Called after each call of a link, when the
    /// next one is armed.
    func tend(after link: DisplayLink? = nil) {
        guard kind != .virtual, !isInForkedChild else { return }
        let (isOverdue, answers) = core.withLock { ($0.isOverdue($0.now_ns), $0.answers) }
        // Others may have read events of the surface. Unread ones are left to the loop that watches, unless that does not run.
        if isOverdue || kind == .wayland { drain(reads: isOverdue) }
        // The loop that watches did not take the answers, but the link's loop runs and can watch instead.
        if isOverdue, core.withLock({ $0.answers }) != answers, let loop = link?.withState({ $0.loop }) {
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

    /// Adopts a driver that was opened; nil if opening failed.
    func hasOpened(_ driver: (any VsyncDriver)?) {
        core.withLock { $0.hasOpened(driver) }
        if driver != nil {
            host()
            tend()
        }
    }

    /// Watches the driver in the loop of one of its links, in the modes of all links in that loop; without links, nowhere.
    private func host(preferring preferred: TimerLoop? = nil) {
        guard kind != .virtual, !isInForkedChild else { return }
        // The loops are held until the end: freeing a loop may call this again, which must not happen under the lock.
        let loops = core.withLock { core in core.members.values.map(\.loop) + [core.hosting?.loop] }
        defer { withExtendedLifetime(loops) {} }
        let (old, plan) = core.withLock { $0.planHosting(preferring: preferred) }
        old?.source.invalidate()
        guard let plan else { return }
        let owned = OwnedDescriptor(plan.driver.descriptor) { [driver = plan.driver] _ in
            withExtendedLifetime(driver) {}
        }
        let source = LoopSource(plan.driver.descriptor, .readable, owned: owned) { [weak self] _, _ in self?.drain() }
        // The links keep the loop running, if anything does.
        source.keepsLoopRunning = false
        for mode in plan.modes { try? plan.loop.add(source, forMode: mode) }
        let isCurrent = core.withLock { core in
            guard core.hostings == plan.number else { return false }
            core.hosting = VsyncCore.Hosting(source: source, loop: plan.loop, modes: plan.modes)
            return true
        }
        if !isCurrent { source.invalidate() }
    }

    /// Takes all answers and requests the next refresh, when the descriptor is readable or others may have read. If `reads` is
    /// false, takes only what others have read.
    private func drain(reads: Bool = true) {
        if isInForkedChild { return }
        let (lost, links, others) = core.withLock { core in
            (core.drain(reads: reads), core.linksToNotify(), core.driver?.takeOthers())
        }
        if let others { notify(others) }
        // Invalidated before the driver is released, because that closes the descriptor.
        lost?.hosting?.source.invalidate()
        withExtendedLifetime(lost) {}
        notify(links)
    }

    /// Wakes the application's own loop sources on its connection, for events that were read before those sources could.
    private func notify(_ others: SharedReading) {
        guard others.othersWait else { return TimerLoop.hasRead(others.descriptor, waits: nil) }
        TimerLoop.hasRead(others.descriptor) { [weak self] in
            // The application may have dispatched them by then.
            self?.core.withLock { $0.driver?.takeOthers()?.othersWait } ?? false
        }
    }
}
#endif
