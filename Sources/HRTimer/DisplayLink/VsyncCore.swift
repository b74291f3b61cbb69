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
    /// When the last good answer came; before the first, when the first was asked for.
    private var heard_ns: Int64?
    /// Not before this is there another request, or another attempt to open the driver.
    private var retry_ns = Int64.min
    private var pause_ns = Self.shortest_ns
    private var wasStale = false
    private var isOpening = false

    /// While answers tell of no refresh, at most four requests a second.
    private static let probe_ns: Int64 = 250_000_000
    /// Between two attempts to open: twice as long each time.
    private static let shortest_ns: Int64 = 250_000_000
    private static let longest_ns: Int64 = 8_000_000_000
    private static let silence_ns: Int64 = 100_000_000
    private static let loss_ns: Int64 = 2_000_000_000
    /// Once the display is known.
    private static let requestsPerSecond = 6.0

    init(rate: FrameRate, driver: (any VsyncDriver)?) {
        self.rate = rate
        self.driver = driver
    }

    var now_ns: Int64 { time.now_ns }

    var framesPerSecond: Double {
        model.fit?.grid.framesPerSecond ?? timeline?.grid.framesPerSecond ?? rate.framesPerSecond
    }

    var period_ns: Int64 {
        model.fit?.grid.interval_ns ?? timeline?.grid.interval_ns ?? FrameGrid(anchor_ns: 0, rate: rate).interval_ns
    }

    // MARK: Refreshes

    mutating func begin(_ time: TimeBase, now_ns: Int64) -> Bool {
        if timeline == nil {
            self.time = time
            timeline = RefreshTimeline(FrameGrid(anchor_ns: now_ns, rate: rate))
        }
        return self.time.virtual === time.virtual
    }

    mutating func setRate(_ rate: FrameRate) {
        self.rate = rate
        let now_ns = now_ns
        timeline?.setRate(rate, now_ns: now_ns)
    }

    mutating func follow(_ now_ns: Int64) {
        guard let fit = model.fit, driver != nil, silence_ns(now_ns) < Self.loss_ns else { return }
        timeline?.follow(fit.grid, now_ns: now_ns)
    }

    func displayState(_ kind: VsyncSource.Kind) -> VsyncSource.State {
        if kind == .virtual { return .virtual }
        guard driver != nil else { return .lost }
        let silence_ns = silence_ns(now_ns)
        if silence_ns >= Self.loss_ns { return .lost }
        guard let fit = model.fit else { return .learning }
        return silence_ns > max(Self.silence_ns, 4 * fit.grid.interval_ns) ? .coasting : .locked
    }

    /// For how long there has been no good answer that should have come.
    private func silence_ns(_ now_ns: Int64) -> Int64 {
        guard let heard_ns else { return 0 }
        return now_ns.subtractingSaturating(heard_ns).subtractingSaturating(asked * period_ns)
    }

    // MARK: Requests

    private var hasActiveMember: Bool { members.values.contains { $0.isActive } }

    mutating func requestIfDue(_ now_ns: Int64) {
        guard let driver, !isWaiting, now_ns >= retry_ns, hosting != nil, hasActiveMember else { return }
        let isSettled = model.isSettled && silence_ns(now_ns) < Self.loss_ns
        asked = isSettled ? max(1, Int64(framesPerSecond / Self.requestsPerSecond)) : 1
        if heard_ns == nil { heard_ns = now_ns }
        statistics.requests += 1
        // What fails here fails at the next `take` too, which tells that the driver is lost.
        if driver.request(asked) == 0 { isWaiting = true } else { retry_ns = now_ns.addingSaturating(Self.probe_ns) }
    }

    /// Takes all answers. Gives what must be let go without the lock if the driver is lost.
    mutating func drain() -> (driver: any VsyncDriver, hosting: Hosting?)? {
        let now_ns = now_ns
        var sample = vs_sample()
        while let driver {
            let status = driver.take(&sample)
            if status < 0 {
                lose(now_ns)
                defer { hosting = nil }
                return (driver, hosting)
            }
            if status == 0 { return nil }
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
        let told = VsyncModel.Sample(time_ns: sample.time_ns, sequence: hasSequence ? sample.sequence : nil)
        let verdict = model.add(told, now_ns: now_ns, asked: asked)
        if verdict == .stale {
            statistics.bogus += 1
            // One may be old because the loop was busy; a second one tells that more would come at once.
            if wasStale { retry_ns = now_ns.addingSaturating(Self.probe_ns) }
            wasStale = true
            return
        }
        wasStale = false
        if verdict != .refused { heard_ns = now_ns }
        if verdict == .accepted { statistics.samples += 1 }
    }

    // MARK: The driver

    private mutating func lose(_ now_ns: Int64) {
        driver = nil
        isWaiting = false
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

    /// What is to be given up, and what is to take its place. The caller holds the loops: none of them may end in here.
    mutating func planHosting() -> (old: Hosting?, new: HostingPlan?) {
        let active = members.values.filter { $0.isActive && $0.loop != nil }
        let loop = active.contains { $0.loop === hosting?.loop } ? hosting?.loop : active.first?.loop
        guard let driver, let loop, driver.isReal == (loop.time.virtual == nil) else {
            hostings += 1
            return (hosting.take(), nil)
        }
        let modes = active.filter { $0.loop === loop }.reduce(into: Set()) { $0.formUnion($1.modes) }
        if let hosting, hosting.loop === loop, hosting.modes == modes { return (nil, nil) }
        hostings += 1
        return (hosting.take(), HostingPlan(driver: driver, loop: loop, modes: modes, number: hostings))
    }
}
