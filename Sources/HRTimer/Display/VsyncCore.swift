// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CVsync
import HRTimerCore

/// The state of a `VsyncSource`: its refreshes, its knowledge of the display, and its requests.
struct VsyncCore: Sendable {
    /// A link that is in a loop.
    struct Member: Sendable {
        weak var link: DisplayLink?
        weak var loop: TimerLoop?
        let modes: Set<TimerLoop.Mode>
        let isActive: Bool
        /// The rate of calls that the link requests; nil if it is to be called for every refresh, or every n-th one.
        let request: Double?
    }

    /// The loop in which the driver's descriptor is watched.
    struct Hosting: Sendable {
        let source: LoopSource
        weak var loop: TimerLoop?
        let modes: Set<TimerLoop.Mode>
    }

    var rate: FrameRate
    var driver: (any VsyncDriver)?
    var members: [ObjectIdentifier: Member] = [:]
    var hosting: Hosting?
    /// How often `hosting` was changed.
    private(set) var hostings = 0
    private(set) var timeline: RefreshTimeline?
    private(set) var time = TimeBase.kernel
    private(set) var model = VsyncModel()
    private(set) var statistics = VsyncSource.Statistics()
    /// Whether a request is pending, and how many refreshes after the last one it asks for.
    private var isWaiting = false
    private var requested: Int64 = 1
    /// When the loop that watches should have taken the answer to the pending request.
    private var overdue_ns = Int64.max
    /// Whether a request failed and the driver has not been checked since.
    private var hasFailed = false
    /// How many answers were taken.
    private(set) var answers = 0
    /// When the last good answer came; before the first answer, when that was requested.
    private var heard_ns: Int64?
    /// The earliest instant of another request, or of another attempt to open the driver.
    private var retry_ns = Int64.min
    private var pause_ns = Self.shortest_ns
    private var wasStale = false
    private var isOpening = false
    /// When the pending request was sent to the compositor, with a commit of the surface.
    private var sent_ns: Int64?
    /// A request may wait for one more commit only once `answers` has reached this number.
    private var nextDelay = 0
    /// What links do while the surface is hidden.
    private(set) var whenHidden = VsyncSource.WhenHidden.full
    /// The grid before it was slowed because the surface is hidden; nil while it is not slowed.
    private var slowed: FrameGrid?
    /// Whether links are held, or no longer held, and were not notified of that.
    private var hasHeldOrFreed = false
    /// The number of the timeline's changes that the links were notified of.
    private var reportedChanges: UInt = 0
    /// The rates of a virtual display that can change its rate; nil for all other displays.
    let rates: ClosedRange<Double>?

    /// The interval of requests while answers report no refresh.
    private static let probe_ns: Int64 = 250_000_000
    /// The first and the longest time between two attempts to open the driver; the time doubles with each attempt.
    private static let shortest_ns: Int64 = 250_000_000
    private static let longest_ns: Int64 = 8_000_000_000
    private static let silence_ns: Int64 = 100_000_000
    private static let loss_ns: Int64 = 2_000_000_000
    /// The rate of requests once the display is known.
    private static let requestsPerSecond = 6.0

    init(rate: FrameRate, rates: ClosedRange<Double>? = nil, driver: (any VsyncDriver)?) {
        self.rate = rate
        self.rates = rates
        self.driver = driver
    }

    var now_ns: Int64 { time.now_ns }

    private var grid: FrameGrid? { slowed == nil ? model.fit?.grid ?? timeline?.grid : timeline?.grid }

    var framesPerSecond: Double { grid?.framesPerSecond ?? rate.framesPerSecond }

    var period_ns: Int64 { grid?.interval_ns ?? FrameGrid(anchor_ns: 0, rate: rate).interval_ns }

    // MARK: Refreshes

    mutating func begin(_ time: TimeBase, now_ns: Int64) -> Bool {
        if timeline == nil {
            self.time = time
            timeline = RefreshTimeline(FrameGrid(anchor_ns: now_ns, rate: rate))
        }
        return self.time.isSame(as: time)
    }

    mutating func setRate(_ rate: FrameRate) {
        self.rate = rate
        let now_ns = now_ns
        timeline?.setRate(rate, now_ns: now_ns)
    }

    /// Makes a virtual display of variable rate adopt the rate that its links request.
    mutating func adapt() {
        guard let rates else { return }
        let requests = members.values.filter(\.isActive).map(\.request)
        guard !requests.isEmpty else { return }
        let fitting = FrameRate.fitting(requests.contains(nil) ? nil : requests.compactMap(\.self).max(), in: rates)
        if fitting != rate { setRate(fitting) }
    }

    /// Returns the links if they must be notified that the instants of future refreshes have changed, or that calls are held
    /// or no longer held. Each link has instants that it computed before.
    mutating func linksToNotify() -> [DisplayLink] {
        let changes = timeline?.changes ?? 0
        guard hasHeldOrFreed || changes != reportedChanges else { return [] }
        hasHeldOrFreed = false
        reportedChanges = changes
        return members.values.compactMap(\.link)
    }

    mutating func follow(_ now_ns: Int64) {
        guard let fit = model.fit, driver != nil, slowed == nil, silence_ns(now_ns) < Self.loss_ns else { return }
        timeline?.follow(fit.grid, now_ns: now_ns)
    }

    func displayState(_ kind: VsyncSource.Kind) -> VsyncSource.State {
        if kind == .virtual { return .virtual }
        guard driver != nil else { return .lost }
        let silence_ns = silence_ns(now_ns)
        if silence_ns >= Self.loss_ns || isHidden(now_ns) { return .lost }
        guard let fit = model.fit, model.isRateSure else { return .learning }
        return silence_ns > max(Self.silence_ns, 4 * fit.grid.interval_ns) ? .coasting : .locked
    }

    /// Returns how long a good answer has been overdue.
    private func silence_ns(_ now_ns: Int64) -> Int64 {
        guard let heard_ns else { return 0 }
        let period_ns = slowed?.interval_ns ?? period_ns
        return now_ns.subtractingSaturating(heard_ns).subtractingSaturating(requested * period_ns)
    }

    // MARK: Requests

    private var hasActiveMember: Bool { members.values.contains { $0.isActive } }

    mutating func requestIfDue(_ now_ns: Int64) {
        guard let driver, !isWaiting, now_ns >= retry_ns, hosting != nil, hasActiveMember else { return }
        let hasEnoughSamples = model.hasEnoughSamples && driver.commits == nil && silence_ns(now_ns) < Self.loss_ns
        requested = hasEnoughSamples ? max(1, Int64(framesPerSecond / Self.requestsPerSecond)) : 1
        if heard_ns == nil { heard_ns = now_ns }
        statistics.requests += 1
        // A failure here shows again at the next `take`, which then reports that the driver is lost.
        guard driver.request(requested) == 0 else {
            hasFailed = true
            retry_ns = now_ns.addingSaturating(Self.probe_ns)
            return
        }
        isWaiting = true
        expectAnswer(from: driver.commits == .application ? .max : now_ns)
        if driver.commits == .source { sent_ns = now_ns }
    }

    /// Expects the answer one refresh later than requested, so that the loop that watches has had time to take it.
    private mutating func expectAnswer(from sent_ns: Int64) {
        overdue_ns = sent_ns.addingSaturating((requested + 1) * period_ns)
    }

    /// Whether there may be an answer that the loop that watches has not taken: it does not run, or runs in another mode.
    func isOverdue(_ now_ns: Int64) -> Bool { hasFailed || isWaiting && now_ns >= overdue_ns }

    /// Takes all answers or, if `reads` is false, only those that others have read. If the driver is lost, returns it and its
    /// hosting, which the caller must release without the lock.
    mutating func drain(reads: Bool = true) -> (driver: any VsyncDriver, hosting: Hosting?)? {
        let now_ns = now_ns
        hasFailed = false
        var sample = vs_sample()
        while let driver {
            let status = reads ? driver.take(&sample) : driver.takeRead(&sample)
            if status < 0 {
                lose(now_ns)
                defer { hosting = nil }
                return (driver, hosting)
            }
            if status == 0 { return nil }
            answers += 1
            sent_ns = nil
            quicken(now_ns)
            if sample.flags & UInt32(VS_SHOWN) != 0 { continue }
            isWaiting = false
            judge(sample, now_ns)
            follow(now_ns)
            requestIfDue(now_ns)
        }
        return nil
    }

    private mutating func judge(_ sample: vs_sample, _ now_ns: Int64) {
        if sample.flags & UInt32(VS_BOGUS) != 0 {
            statistics.bogus += 1
            retry_ns = now_ns.addingSaturating(Self.probe_ns)
            return
        }
        if silence_ns(now_ns) >= Self.loss_ns { model.restart() }
        let hasSequence = sample.flags & UInt32(VS_NO_SEQUENCE) == 0
        let reported = VsyncModel.Sample(time_ns: sample.time_ns, sequence: hasSequence ? sample.sequence : nil)
        let verdict = model.add(reported, now_ns: now_ns, requested: requested)
        if verdict == .stale {
            statistics.bogus += 1
            // One sample may be old because the loop was busy. After a second one in a row, more would come at once.
            if wasStale { retry_ns = now_ns.addingSaturating(Self.probe_ns) }
            wasStale = true
            return
        }
        wasStale = false
        if verdict != .refused { heard_ns = now_ns }
        if verdict == .accepted { statistics.samples += 1 }
    }

    // MARK: A surface

    /// Sends the pending request with the surface's next commit, which the application is about to make.
    ///
    /// Suppose that the source has no sequence and that the display has half the rate that the model assumes. If all commits
    /// with a request come in the second half of the display's period, it reports the same refreshes as a display with the
    /// assumed rate. So now and then a request waits for the next commit. If that commit comes in the second half, too, as
    /// with a link for every second refresh of the assumed rate, the two rates cannot be told apart.
    mutating func willCommit(_ now_ns: Int64) {
        if model.mayBeDoubled, answers >= nextDelay {
            nextDelay = answers + 3
            return
        }
        let taken = driver?.willCommit() ?? 0
        if taken != 0 { sent_ns = now_ns }
        guard taken == 1 else { return }
        // Refreshes before the commit were not requested: with a link for every second refresh, only every second one can be
        // reported. Once the display is known, a commit shortly before a refresh is for the one after it.
        let slack_ns = model.fit == nil ? 0 : period_ns / 8
        let since_ns = model.latest_ns.map { now_ns.subtractingSaturating($0).addingSaturating(slack_ns) } ?? 0
        requested = min(1 + max(0, since_ns) / max(1, period_ns), 1_000_000)
        expectAnswer(from: now_ns)
    }

    /// Returns whether the compositor has had a commit for at least `loss_ns` without reporting a refresh.
    func isHidden(_ now_ns: Int64) -> Bool {
        sent_ns.map { now_ns.subtractingSaturating($0) >= Self.loss_ns } ?? false
    }

    /// Whether no link may be called.
    var isHeld: Bool { slowed != nil && whenHidden == .stop }

    mutating func slowIfHidden(_ now_ns: Int64) {
        guard whenHidden != .full, slowed == nil, isHidden(now_ns), let grid = timeline?.grid else { return }
        var rate = FrameRate(1)
        if case .rate(let requested) = whenHidden { rate = requested }
        slowed = grid
        if rate.framesPerSecond < grid.framesPerSecond { timeline?.setRate(rate, now_ns: now_ns) }
        hasHeldOrFreed = true
    }

    private mutating func quicken(_ now_ns: Int64) {
        guard let grid = slowed.take() else { return }
        timeline?.setPeriod(of: grid, now_ns: now_ns)
        hasHeldOrFreed = true
    }

    mutating func setWhenHidden(_ choice: VsyncSource.WhenHidden) {
        let now_ns = now_ns
        quicken(now_ns)
        whenHidden = choice
        slowIfHidden(now_ns)
    }

    // MARK: The driver

    /// Releases the driver's surface, and returns the driver and its hosting, which the caller must release without the lock.
    mutating func detach() -> (driver: any VsyncDriver, hosting: Hosting?)? {
        guard let driver else { return nil }
        driver.detach()
        let losses = statistics.losses
        lose(now_ns)
        // A detached display does not count as lost.
        statistics.losses = losses
        defer { hosting = nil }
        return (driver, hosting)
    }

    private mutating func lose(_ now_ns: Int64) {
        driver = nil
        isWaiting = false
        sent_ns = nil
        quicken(now_ns)
        statistics.losses += 1
        hostings += 1
        pause_ns = Self.shortest_ns
        retry_ns = now_ns.addingSaturating(pause_ns)
    }

    mutating func mustOpen(_ now_ns: Int64) -> Bool {
        guard driver == nil, !isOpening, now_ns >= retry_ns, hasActiveMember else { return false }
        isOpening = true
        return true
    }

    mutating func hasOpened(_ driver: (any VsyncDriver)?) {
        isOpening = false
        self.driver = driver
        guard driver == nil else {
            // Samples from another server belong to another display.
            model.restart()
            heard_ns = nil
            retry_ns = .min
            return
        }
        retry_ns = now_ns.addingSaturating(pause_ns)
        pause_ns = min(2 * pause_ns, Self.longest_ns)
    }

    // MARK: The loop that watches the driver

    struct HostingPlan {
        let driver: any VsyncDriver
        let loop: TimerLoop
        let modes: Set<TimerLoop.Mode>
        let number: Int
    }

    /// Returns the hosting to give up, and its replacement: in the preferred loop if it has an active link, else in the
    /// present loop, else in any. The caller must hold references to the loops, so that none of them ends in here.
    mutating func planHosting(preferring preferred: TimerLoop?) -> (old: Hosting?, new: HostingPlan?) {
        let active = members.values.filter { $0.isActive && $0.loop != nil }
        let requested = [preferred, hosting?.loop].compactMap(\.self).first { request in
            active.contains { $0.loop === request }
        }
        let loop = requested ?? active.first?.loop
        guard let driver, let loop, driver.timeID == loop.time.id else {
            hostings += 1
            return (hosting.take(), nil)
        }
        let modes = active.filter { $0.loop === loop }.reduce(into: Set()) { $0.formUnion($1.modes) }
        if let hosting, hosting.loop === loop, hosting.modes == modes { return (nil, nil) }
        hostings += 1
        return (hosting.take(), HostingPlan(driver: driver, loop: loop, modes: modes, number: hostings))
    }
}
#endif
