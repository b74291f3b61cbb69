import HRTimerTesting
import TestSupport

@testable import HRTimer

/// One display, its links in several loops, and their model, led through the same random operations on frozen time.
///
/// A virtual display's instants are checked against `ExactRefreshes`, and every call and drop is counted. The instants of a display
/// that is learnt are what they are, but one that has been may never change, and each link that is called tells that one.
final class DisplayPlay: @unchecked Sendable {
    // Sendable: the one thread that runs the test runs the loops too.
    let time = ManualTime()
    let model = DisplayModel()
    let canaries = Canaries()
    let source: VsyncSource
    private(set) var differences: [String] = []
    private(set) var calls = 0
    /// No link is served by its loop.
    private var isIdle = false
    private(set) var lateCalls = 0
    private(set) var slowCalls = 0
    private var random: SeededRandom
    private var displays: [FakeDisplay] = []
    private var exact: ExactRefreshes?
    private var links: [Int: DisplayLink] = [:]
    private var names = 0
    private var loops: [Int: TimerLoop] = [:]
    private var loopNames = 0
    /// The mode that each loop runs in; none of one that does not run.
    private var running: [Int: Int] = [:]
    private var ended: TimerLoop?
    private var past_ns: [Int64: Int64] = [:]
    private var changesSeen: UInt = 0
    private var changesApplied: UInt = 0
    /// The calls of the present pass, and those that there should be.
    private var called: Set<Int> = []
    private var expected: Set<Int> = []
    private var mayBeSlow = false

    private static let rates = [
        FrameRate(24), FrameRate(30), FrameRate(48), FrameRate(50), FrameRate(60_000, 1001), FrameRate(60),
        FrameRate(75),
        FrameRate(90), FrameRate(120), FrameRate(144), FrameRate(240),
    ]
    /// The last one is never a link's.
    private static let modes: [TimerLoop.Mode] = [.default, .tracking, .modal, .initialization]

    enum Kind: CaseIterable { case virtual, variable, real, surface }
    let kind: Kind
    private var isReal: Bool { kind == .real || kind == .surface }

    init(_ kind: Kind, _ random: SeededRandom) throws {
        self.kind = kind
        self.random = random
        switch kind {
        case .virtual: source = VsyncSource(frameRate: FrameRate(60))
        case .variable: source = VsyncSource(frameRates: 40...240)
        case .real, .surface:
            let first = try FakeDisplay(75, time, TimerLoop(time: time.base))
            if kind == .surface { first.commits = .application }
            displays = [first]
            let reopened = Reopened()
            if kind == .real {
                source = first.source { () throws(TimerError) in try reopened.open() }
            } else {
                source = first.source()
            }
            reopened.play = self
        }
        for _ in 0..<3 { addLoop() }
        model.instant_ns = { [unowned self] in instant_ns($0) }
    }

    private final class Reopened: @unchecked Sendable {
        // Sendable: as the play.
        weak var play: DisplayPlay?
        func open() throws(TimerError) -> any VsyncDriver {
            guard let play else { throw TimerError(operation: "open a display", errorNumber: 5) }
            return try play.otherDisplay()
        }
    }

    // MARK: Instants

    private func instant_ns(_ number: Int64) -> Int64 {
        if let exact { return exact.instant_ns(number) }
        return source.core.withLock { $0.timeline?.instant_ns(number) } ?? .max
    }

    /// What has changed since: the refreshes up to now, and the links' aims.
    private func follow() {
        update()
        tellChanges()
    }

    private func update() {
        let now_ns = time.now.nanoseconds
        let changes = source.core.withLock { $0.timeline?.changes ?? 0 }
        exact?.pass(now_ns)
        if changes != changesApplied { exact?.setRate(source.frameRate) }
        changesApplied = changes
        model.pass(now_ns)
        for number in max(0, model.latest - 8)...model.latest {
            let is_ns = instant_ns(number)
            let was_ns = past_ns.updateValue(is_ns, forKey: number) ?? is_ns
            if was_ns != is_ns { differ("refresh \(number) was at \(was_ns), and is at \(is_ns) now") }
            if let before_ns = past_ns[number - 1], before_ns >= is_ns {
                differ("\(number) is not after the one before")
            }
        }
        for (name, link) in links { model.links[name]?.interval = Int64(link.frameInterval) }
    }

    /// What changed the refreshes has told all links.
    private func tellChanges() {
        guard changesApplied != changesSeen else { return }
        changesSeen = changesApplied
        model.changeAll(time.now.nanoseconds)
    }

    private func differ(_ text: String) {
        if differences.count < 5 { differences.append("at \(time.now.nanoseconds), \(kind): \(text)") }
    }

    // MARK: Operations

    func run(refreshes: Int64) {
        while model.latest < refreshes, differences.isEmpty {
            if links.count < 6 { addLink() }
            if isIdle || Int.random(in: 0..<12, using: &random) == 0 { operate() }
            step()
            passes()
        }
    }

    func end() {
        for link in links.values where Bool.random(using: &random) { link.invalidate() }
        links = [:]
        for loop in loops.values { loop.end() }
        loops = [:]
        ended = nil
    }

    private func operate() {
        follow()
        switch Int.random(in: 0..<24, using: &random) {
        case 0...3: withLink(addToLoop)
        case 4: if links.count < 10 { addLink() }
        case 5: withLink(remove)
        case 6: withLink(invalidate)
        case 7...9: withLink(pause)
        case 10...11: withLink(wish)
        case 12...13: withLink(lead)
        case 14...17: changeMode()
        case 18: endLoop()
        case 19: otherMode()
        case 20...21: changeRate()
        default: changeDisplay()
        }
        follow()
        changedAll()
    }

    private func withLink(_ body: (Int, DisplayLink) -> Void) {
        guard let name = links.keys.sorted().randomElement(using: &random), let link = links[name] else { return }
        body(name, link)
    }

    private func addLink() {
        names += 1
        let (name, canary) = (names, canaries.make())
        let link = DisplayLink(source: source) { [unowned self] link in
            calls(name, link)
            withExtendedLifetime(canary) {}
        }
        links[name] = link
        model.links[name] = DisplayModel.Link()
        addToLoop(name, link)
    }

    private func addToLoop(_ name: Int, _ link: DisplayLink) {
        if let ended, Int.random(in: 0..<4, using: &random) == 0 { link.add(to: ended, forMode: .default) }
        guard let (loopName, loop) = loops.sorted(by: { $0.key < $1.key }).randomElement(using: &random) else { return }
        let mode = Int.random(in: 0..<3, using: &random)
        link.add(to: loop, forMode: Self.modes[mode])
        startExact()
        guard let inLoop = model.links[name]?.loop else {
            model.links[name]?.loop = loopName
            model.links[name]?.modes = [mode]
            follow()
            return model.aim(name, time.now.nanoseconds)
        }
        if inLoop == loopName { model.links[name]?.modes.insert(mode) }
    }

    private func startExact() {
        guard exact == nil, !isReal else { return }
        exact = ExactRefreshes(source.frameRate, from: time.now.nanoseconds)
    }

    private func remove(_ name: Int, _ link: DisplayLink) {
        guard let loop = model.links[name]?.loop,
            let mode = model.links[name]?.modes.sorted().randomElement(using: &random)
        else { return }
        link.remove(from: loops[loop]!, forMode: Self.modes[mode])
        model.links[name]?.modes.remove(mode)
        // What the loop did in that mode counts as without the link from now on.
        model.links[name]?.isExcused = true
        if model.links[name]?.modes == [] { leave(name) }
    }

    private func leave(_ name: Int) {
        model.links[name]?.modes = []
        model.links[name]?.loop = nil
        model.links[name]?.due = nil
    }

    private func invalidate(_ name: Int, _ link: DisplayLink) {
        link.invalidate()
        links[name] = nil
        model.links[name] = nil
    }

    private func pause(_ name: Int, _ link: DisplayLink) {
        let isPaused = Int.random(in: 0..<3, using: &random) == 0
        link.isPaused = isPaused
        model.links[name]?.isPaused = isPaused
        model.change(name, time.now.nanoseconds)
    }

    private func wish(_ name: Int, _ link: DisplayLink) {
        if kind == .variable || kind == .virtual, Bool.random(using: &random) {
            link.preferredFramesPerSecond = [0, 20, 24, 40, 60, 100].randomElement(using: &random)!
        } else {
            link.frameInterval = Int.random(in: 1...7, using: &random)
        }
        model.links[name]?.interval = Int64(link.frameInterval)
        model.change(name, time.now.nanoseconds)
    }

    private func lead(_ name: Int, _ link: DisplayLink) {
        let lead_us = Int64.random(in: 1...3500, using: &random)
        let isNone = Bool.random(using: &random)
        link.wakeLead = isNone ? .none : .fixed(.microseconds(lead_us))
        model.links[name]?.lead_ns = isNone ? nil : lead_us * 1000
        model.change(name, time.now.nanoseconds)
    }

    private func changedAll() {
        model.changeAll(time.now.nanoseconds)
    }

    private func addLoop() {
        loopNames += 1
        let loop = TimerLoop(time: time.base)
        loops[loopNames] = loop
        running[loopNames] = 0
        loop.isKeptAlive = true
    }

    private func changeMode() {
        guard let name = loops.keys.sorted().randomElement(using: &random) else { return }
        running[name] = Int.random(in: 0..<4, using: &random) == 0 ? nil : [0, 0, 1, 2].randomElement(using: &random)!
    }

    private func endLoop() {
        guard Int.random(in: 0..<4, using: &random) == 0, let name = loops.keys.sorted().randomElement(using: &random)
        else { return }
        loops[name]!.end()
        // Kept, or gone.
        ended = Bool.random(using: &random) ? loops[name] : nil
        loops[name] = nil
        running[name] = nil
        for (link, state) in model.links where state.loop == name { leave(link) }
        addLoop()
    }

    /// The loop runs in a mode without links for some time.
    private func otherMode() {
        guard let (name, loop) = loops.sorted(by: { $0.key < $1.key }).randomElement(using: &random) else { return }
        loop.run(mode: Self.modes[3], for: .microseconds(Int64.random(in: 1...60_000, using: &random)))
        excuseLinks(of: name, without: 3)
    }

    /// What the loop's links in other modes miss while it runs in one is not dropped.
    private func excuseLinks(of loop: Int, without mode: Int) {
        for (link, state) in model.links where state.loop == loop && !state.modes.contains(mode) {
            model.links[link]?.isExcused = true
        }
    }

    private func changeRate() {
        let rate = Self.rates.randomElement(using: &random)!
        switch kind {
        case .virtual, .variable: source.frameRate = rate
        case .real, .surface: displays.last?.setRate(min(rate.framesPerSecond, 120))
        }
    }

    private func changeDisplay() {
        guard let display = displays.last else { return }
        switch Int.random(in: 0..<8, using: &random) {
        case 0: display.phase_ns += Double.random(in: 0...20e6, using: &random)
        case 1 where kind == .real: display.die()
        case 2 where kind == .real: if display.mood == .well { display.mood = .asleep }
        case 3 where kind == .real: if display.mood == .well { display.mood = .off }
        case 1...4: if display.mood == .well { display.mood = .silent }
        case 5: source.whenHidden = [.full, .stop, .rate(FrameRate(5))].randomElement(using: &random)!
        default: recover(display)
        }
    }

    private func recover(_ display: FakeDisplay) {
        if display.mood == .silent { display.show() }
        if display.mood != .dead { display.mood = .well }
    }

    private func otherDisplay() throws(TimerError) -> FakeDisplay {
        do {
            let rate = Double.random(in: 24...144, using: &random)
            let display = try FakeDisplay(rate, time, TimerLoop(time: time.base))
            displays = [display]
            return display
        } catch { throw TimerError(operation: "make a display", errorNumber: 5) }
    }

    // MARK: Time

    private func step() {
        follow()
        let now_ns = time.now.nanoseconds
        let calls_ns = model.links.values.compactMap { link -> Int64? in
            guard let due = link.due, let mode = link.loop.flatMap({ running[$0] }), link.modes.contains(mode) else {
                return nil
            }
            return max(due.call_ns, now_ns)
        }
        isIdle = calls_ns.isEmpty
        let next_ns = min(calls_ns.min() ?? .max, now_ns + 30_000_000)
        var to_ns = next_ns
        switch Int.random(in: 0..<10, using: &random) {
        case 0: to_ns = now_ns + Int64.random(in: 0...40_000_000, using: &random)
        case 1...2: to_ns = Int64.random(in: now_ns...next_ns, using: &random)
        default: break
        }
        time.advance(to: MonotonicInstant(nanoseconds: to_ns))
        follow()
    }

    private func passes() {
        for name in running.keys.sorted().shuffled(using: &random) {
            guard let mode = running[name], let loop = loops[name] else { continue }
            pass(name, loop, mode)
        }
    }

    private var isHeld: Bool { source.core.withLock { $0.isHeld } }

    private func pass(_ name: Int, _ loop: TimerLoop, _ mode: Int) {
        let wasHeld = isHeld
        let begin_ns = time.now.nanoseconds
        let due = model.due(name, mode, begin_ns)
        expected = wasHeld ? [] : due
        called = []
        mayBeSlow = due.count == 1 && !wasHeld
        loop.run(mode: Self.modes[mode], for: .zero)
        mayBeSlow = false
        update()
        let now_ns = time.now.nanoseconds
        for link in called { model.endCall(link, now_ns) }
        let missed = expected.subtracting(called)
        if !isReal {
            for link in missed where model.beginCall(link, now_ns) != nil { differ("no call of \(link)") }
        }
        // Held back, or for a frame that is over.
        for link in due.subtracting(called) { model.aim(link, now_ns) }
        tellChanges()
        if now_ns > begin_ns { excuseLinks(of: name, without: mode) }
        for (name, link) in links { check(name, link) }
    }

    private func check(_ name: Int, _ link: DisplayLink) {
        guard let model = model.links[name] else { return }
        let statistics = link.statistics
        if statistics.calls != model.calls { differ("\(statistics.calls) calls of \(name), not \(model.calls)") }
        if !isReal, statistics.droppedFrames != model.dropped {
            differ("\(statistics.droppedFrames) dropped of \(name), not \(model.dropped)")
        }
        if link.isInLoop != (model.loop != nil) { differ("\(name) is in a loop: \(link.isInLoop)") }
    }

    private func calls(_ name: Int, _ link: DisplayLink) {
        let now_ns = time.now.nanoseconds
        if isReal { return callsOfLearnt(name, link, now_ns) }
        let (before, due) = (model.links[name]?.called, model.links[name]?.due)
        guard expected.contains(name), called.insert(name).inserted, let should = model.beginCall(name, now_ns) else {
            return differ("a call of \(name) that should not be")
        }
        let told = link.state.withLock { $0.told }
        let isDroppedOnly = told.number == should.number
        guard isDroppedOnly else { return differ("\(name) was called for \(told.number ?? -1), not \(should.number)") }
        if told.timestamp_ns != instant_ns(should.number) {
            differ("\(name) tells another instant of \(should.number)")
        }
        if told.target_ns != instant_ns(should.target) { differ("\(name) tells another target at \(should.number)") }
        if now_ns < instant_ns(should.number) { differ("\(name) is early") }
        if let before, let before_ns = past_ns[before] {
            let passed_ns = instant_ns(should.number) - before_ns
            if told.delta_ns != passed_ns { differ("\(name): delta is \(told.delta_ns), and \(passed_ns) passed") }
        }
        excuse(name, link, should)
        calls += 1
        // Later than in the refresh that it was due at.
        if let due, should.number > due.number { lateCalls += 1 }
        if mayBeSlow { actInside(name, link) }
    }

    /// When a call comes depends on what was heard of the display; what it tells does not.
    private func callsOfLearnt(_ name: Int, _ link: DisplayLink, _ now_ns: Int64) {
        let told = link.state.withLock { $0.told }
        guard let number = told.number, let told_ns = told.timestamp_ns, let state = model.links[name] else { return }
        if told_ns != instant_ns(number) { differ("\(name) tells another instant of \(number)") }
        if now_ns < told_ns { differ("\(name) is early") }
        if let before = state.called {
            if number <= before { differ("\(name) was called for \(number) after \(before)") }
            if let before_ns = past_ns[before], told.delta_ns != told_ns - before_ns {
                differ("\(name) tells another delta")
            }
        }
        if state.isPaused || state.loop == nil { differ("a call of \(name) that should not be") }
        called.insert(name)
        calls += 1
        if let due = state.due, number > due.number { lateCalls += 1 }
        model.links[name]?.called = number
        model.links[name]?.calls += 1
        if kind == .surface { source.willCommit() }
        if mayBeSlow { actInside(name, link) }
    }

    private func excuse(_ name: Int, _ link: DisplayLink, _ should: DisplayModel.Told) {
        guard !isReal, should.excused > 0, let most = model.links[name]?.dropped else { return }
        let dropped = link.droppedFrames
        if dropped > most || dropped < most - should.excused {
            differ("\(dropped) dropped of \(name), \(most) at most")
        }
        model.links[name]?.dropped = dropped
    }

    /// Nobody else is due: what the handler does has one order alone.
    private func actInside(_ name: Int, _ link: DisplayLink) {
        switch Int.random(in: 0..<30, using: &random) {
        case 0: pause(name, link)
        case 1: wish(name, link)
        case 2: lead(name, link)
        case 3: changeRate()
        case 4: invalidate(name, link)
        case 5...7:
            slowCalls += 1
            follow()
            time.advance(by: .microseconds(Int64.random(in: 0...50_000, using: &random)))
        default: return
        }
        follow()
    }
}
