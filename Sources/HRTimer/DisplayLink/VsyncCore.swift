import CVsync
import HRTimerCore

/// The state of a `VsyncSource`: its refreshes, what is known of the display, and when to ask what.
struct VsyncCore: Sendable {
    /// A link that is in a loop.
    struct Member: Sendable {
        weak var link: DisplayLink?
        weak var loop: TimerLoop?
        let modes: Set<TimerLoop.Mode>
        let isActive: Bool
        /// The rate of calls that it requests; nil for every refresh, or each so many.
        let request: Double?
    }

    /// Where the driver's descriptor is watched.
    struct Hosting: Sendable {
        let source: LoopSource
        weak var loop: TimerLoop?
        let modes: Set<TimerLoop.Mode>
    }

    var rate: FrameRate
    var driver: (any VsyncDriver)?
    var members: [ObjectIdentifier: Member] = [:]
    var hosting: Hosting?
    /// How often that was changed.
    private(set) var hostings = 0
    private(set) var timeline: RefreshTimeline?
    private(set) var time = TimeBase.kernel
    private(set) var model = VsyncModel()
    private(set) var statistics = VsyncSource.Statistics()
    /// A request is under way, for so many refreshes after the last.
    private var isWaiting = false
    private var asked: Int64 = 1
    /// When the answer to the request under way should have been taken by the loop that watches.
    private var overdue_ns = Int64.max
    /// A request was refused, and nobody has looked since whether the driver is lost.
    private var hasFailed = false
    /// How many answers were taken.
    private(set) var answers = 0
    /// When the last good answer came; before the first, when the first was asked for.
    private var heard_ns: Int64?
    /// Not before this is there another request, or another attempt to open the driver.
    private var retry_ns = Int64.min
    private var pause_ns = Self.shortest_ns
    private var wasStale = false
    private var isOpening = false
    /// When the request under way went to the compositor, with a commit of the surface.
    private var sent_ns: Int64?
    /// From that answer on a request may wait for another commit.
    private var nextDelay = 0
    /// What is done while the surface is hidden.
    private(set) var whenHidden = VsyncSource.WhenHidden.full
    /// Those before they were slowed because the surface is hidden.
    private var slowed: FrameGrid?
    /// Links are held back, or no longer, and were not notified.
    private var hasHeldOrFreed = false
    /// The timeline's changes that the links were notified of.
    private var toldChanges: UInt = 0
    /// Of a virtual display that can change its rate.
    let rates: ClosedRange<Double>?

    /// While answers report no refresh, at most four requests a second.
    private static let probe_ns: Int64 = 250_000_000
    /// Between two attempts to open: twice as long each time.
    private static let shortest_ns: Int64 = 250_000_000
    private static let longest_ns: Int64 = 8_000_000_000
    private static let silence_ns: Int64 = 100_000_000
    private static let loss_ns: Int64 = 2_000_000_000
    /// Once the display is known.
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

    /// A virtual display that can change its rate takes the one that its links request.
    mutating func adapt() {
        guard let rates else { return }
        let wishes = members.values.filter(\.isActive).map(\.request)
        guard !wishes.isEmpty else { return }
        let fitting = FrameRate.fitting(wishes.contains(nil) ? nil : wishes.compactMap(\.self).max(), in: rates)
        if fitting != rate { setRate(fitting) }
    }

    /// The links, if they must be notified that refreshes to come are at other instants than they were, or that calls
    /// are held back. Each holds instants that it worked out before.
    mutating func linksToTell() -> [DisplayLink] {
        let changes = timeline?.changes ?? 0
        guard hasHeldOrFreed || changes != toldChanges else { return [] }
        hasHeldOrFreed = false
        toldChanges = changes
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
        guard let fit = model.fit else { return .learning }
        return silence_ns > max(Self.silence_ns, 4 * fit.grid.interval_ns) ? .coasting : .locked
    }

    /// For how long there has been no good answer that should have come.
    private func silence_ns(_ now_ns: Int64) -> Int64 {
        guard let heard_ns else { return 0 }
        let period_ns = slowed?.interval_ns ?? period_ns
        return now_ns.subtractingSaturating(heard_ns).subtractingSaturating(asked * period_ns)
    }

    // MARK: Requests

    private var hasActiveMember: Bool { members.values.contains { $0.isActive } }

    mutating func requestIfDue(_ now_ns: Int64) {
        guard let driver, !isWaiting, now_ns >= retry_ns, hosting != nil, hasActiveMember else { return }
        let isSettled = model.isSettled && driver.commits == nil && silence_ns(now_ns) < Self.loss_ns
        asked = isSettled ? max(1, Int64(framesPerSecond / Self.requestsPerSecond)) : 1
        if heard_ns == nil { heard_ns = now_ns }
        statistics.requests += 1
        // What fails here fails at the next `take` too, which reports that the driver is lost.
        guard driver.request(asked) == 0 else {
            hasFailed = true
            retry_ns = now_ns.addingSaturating(Self.probe_ns)
            return
        }
        isWaiting = true
        expectAnswer(from: driver.commits == .application ? .max : now_ns)
        if driver.commits == .source { sent_ns = now_ns }
    }

    /// A refresh more than was asked for: the loop that watches has had its time.
    private mutating func expectAnswer(from sent_ns: Int64) {
        overdue_ns = sent_ns.addingSaturating((asked + 1) * period_ns)
    }

    /// Whether there may be an answer that the loop that watches has left where it is: it does not run, or not in the mode.
    func isOverdue(_ now_ns: Int64) -> Bool { hasFailed || isWaiting && now_ns >= overdue_ns }

    /// Takes all answers, or if it does not read those alone that others have read. Gives what must be let go without the lock if
    /// the driver is lost.
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
        let verdict = model.add(reported, now_ns: now_ns, asked: asked)
        if verdict == .stale {
            statistics.bogus += 1
            // One may be old because the loop was busy; a second one shows that more would come at once.
            if wasStale { retry_ns = now_ns.addingSaturating(Self.probe_ns) }
            wasStale = true
            return
        }
        wasStale = false
        if verdict != .refused { heard_ns = now_ns }
        if verdict == .accepted { statistics.samples += 1 }
    }

    // MARK: A surface

    /// The application is about to commit it.
    ///
    /// Without a count, a display of half the rate that is believed reports the same refreshes, if all commits that
    /// take a request along come in the second half of its period. Now and then a request waits for the commit after.
    /// Where that comes in the second half, too, as of a link for each second refresh of the rate that is believed, the
    /// two cannot be told apart.
    mutating func willCommit(_ now_ns: Int64) {
        if model.mayBeDoubled, answers >= nextDelay {
            nextDelay = answers + 3
            return
        }
        let taken = driver?.willCommit() ?? 0
        if taken != 0 { sent_ns = now_ns }
        guard taken == 1 else { return }
        // Nobody asked for what came before the commit: with a link for every second refresh only each second one can
        // be reported. Once the display is known, a commit close to a refresh is for the next.
        let slack_ns = model.fit == nil ? 0 : period_ns / 8
        let since_ns = model.latest_ns.map { now_ns.subtractingSaturating($0).addingSaturating(slack_ns) } ?? 0
        asked = min(1 + max(0, since_ns) / max(1, period_ns), 1_000_000)
        expectAnswer(from: now_ns)
    }

    /// Whether the compositor has had a commit for long, and reported no refresh.
    func isHidden(_ now_ns: Int64) -> Bool {
        sent_ns.map { now_ns.subtractingSaturating($0) >= Self.loss_ns } ?? false
    }

    /// Whether no link is to be called.
    var isHeld: Bool { slowed != nil && whenHidden == .stop }

    mutating func slowIfHidden(_ now_ns: Int64) {
        guard whenHidden != .full, slowed == nil, isHidden(now_ns), let grid = timeline?.grid else { return }
        var rate = FrameRate(1)
        if case .rate(let wished) = whenHidden { rate = wished }
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

    /// Gives what must be let go without the lock.
    mutating func detach() -> (driver: any VsyncDriver, hosting: Hosting?)? {
        guard let driver else { return nil }
        driver.detach()
        let losses = statistics.losses
        lose(now_ns)
        // It was not the display that went.
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
            // What comes from another server is another display's.
            model.restart()
            heard_ns = nil
            retry_ns = .min
            return
        }
        retry_ns = now_ns.addingSaturating(pause_ns)
        pause_ns = min(2 * pause_ns, Self.longest_ns)
    }

    // MARK: The loop that watches it

    struct HostingPlan {
        let driver: any VsyncDriver
        let loop: TimerLoop
        let modes: Set<TimerLoop.Mode>
        let number: Int
    }

    /// What is to be given up, and what is to take its place: in the loop that is preferred, if it has an active link, else in
    /// the present one, else in any. The caller holds the loops: none of them may end in here.
    mutating func planHosting(preferring preferred: TimerLoop?) -> (old: Hosting?, new: HostingPlan?) {
        let active = members.values.filter { $0.isActive && $0.loop != nil }
        let wished = [preferred, hosting?.loop].compactMap(\.self).first { request in
            active.contains { $0.loop === request }
        }
        let loop = wished ?? active.first?.loop
        guard let driver, let loop, driver.isReal == loop.time.hasRealDisplays else {
            hostings += 1
            return (hosting.take(), nil)
        }
        let modes = active.filter { $0.loop === loop }.reduce(into: Set()) { $0.formUnion($1.modes) }
        if let hosting, hosting.loop === loop, hosting.modes == modes { return (nil, nil) }
        hostings += 1
        return (hosting.take(), HostingPlan(driver: driver, loop: loop, modes: modes, number: hostings))
    }
}
