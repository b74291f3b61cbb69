// SPDX-License-Identifier: Apache-2.0
import HRTimerCore
import HRTimerTesting
import TestSupport

@testable import HRTimer

/// One display, its links in several loops, and their model, which all take the same random operations on frozen time.
///
/// A virtual display's instants are checked against `ExactRefreshes`, and each call and drop against the model. The instants of a
/// learnt display are not predicted. Its checks are that no past instant changes, that all links report the same instants, and
/// that a link counts the refreshes without a call between two of its calls as dropped.
final class DisplayPlay: @unchecked Sendable {
    // Sendable: the one thread that runs the test runs the loops too.
    let time = ManualTime()
    let model = DisplayModel()
    let canaries = Canaries()
    let source: VsyncSource
    var differences: [String] = []
    var calls = 0
    /// Whether no link can be called, because no loop runs in a mode of a link with a next call.
    var isIdle = false
    var lateCalls = 0
    var slowCalls = 0
    /// How many refreshes of a learnt display had no call and were compared with the dropped ones.
    var conserved = 0
    var random: SeededRandom
    var displays: [FakeDisplay] = []
    var exact: ExactRefreshes?
    var links: [Int: DisplayLink] = [:]
    var names = 0
    var loops: [Int: TimerLoop] = [:]
    var loopNames = 0
    /// The mode that each loop runs in; a loop that does not run has none.
    var running: [Int: Int] = [:]
    var ended: TimerLoop?
    var past_ns: [Int64: Int64] = [:]
    var changesSeen: UInt = 0
    var changesApplied: UInt = 0
    var updated_ns: Int64 = 0
    /// The links that were called in the present pass, and those that should be called.
    var called: Set<Int> = []
    var expected: Set<Int> = []
    var mayBeSlow = false
    /// The display's period and phase, and the number of answers when it took them.
    var steady: (display: (Double, Double), answers: Int)?
    var ratesChecked = 0

    static let rates = [
        FrameRate(24), FrameRate(30), FrameRate(48), FrameRate(50), FrameRate(60_000, 1001), FrameRate(60),
        FrameRate(75),
        FrameRate(90), FrameRate(120), FrameRate(144), FrameRate(240),
    ]
    /// No link is ever in the last mode.
    static let modes: [TimerLoop.Mode] = [.default, .tracking, .modalPanel, TimerLoop.Mode("fourth")]

    enum Kind: CaseIterable { case virtual, variable, real, surface }
    let kind: Kind
    /// Whether the display's refreshes are learnt from the driver's answers.
    var isLearnt: Bool { kind == .real || kind == .surface }

    init(_ kind: Kind, _ random: SeededRandom) throws {
        self.kind = kind
        self.random = random
        switch kind {
        case .virtual: source = VsyncSource(frameRate: FrameRate(60))
        case .variable: source = VsyncSource(frameRates: 40...240)
        case .real, .surface:
            let first = try FakeDisplay(75, time, TimerLoop(time: time.base))
            if kind == .surface { first.commits = .application }
            first.countsRefreshes = Int.random(in: 0..<3, using: &self.random) > 0
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
        // Sendable: for the same reason as the play.
        weak var play: DisplayPlay?
        func open() throws(TimerError) -> any VsyncDriver {
            guard let play else { throw TimerError(operation: "open a display", errorNumber: 5) }
            return try play.otherDisplay()
        }
    }

    // MARK: Instants

    func instant_ns(_ number: Int64) -> Int64 {
        exact?.instant_ns(number) ?? told_ns(number)
    }

    private func told_ns(_ number: Int64) -> Int64 { told(number).rounded_ns }

    private func told(_ number: Int64) -> ExactInstant {
        source.core.withLock { $0.timeline?.instant(number) } ?? ExactInstant(.max)
    }

    /// Updates the model: the refreshes up to now, and the links' next calls.
    func follow() {
        update()
        tellChanges()
    }

    func update() {
        let now_ns = time.now.nanoseconds
        let changes = source.core.withLock { $0.timeline?.changes ?? 0 }
        exact?.pass(now_ns)
        if changes != changesApplied {
            // Links leave an ending loop one by one, and a variable display changes its rate each time. With a fast rate some
            // refreshes may be past at once.
            if changes - changesApplied > 1 { exact?.pass(now_ns, told: told) }
            exact?.setRate(source.frameRate)
        }
        let (latest, isNow) = (model.latest, now_ns == updated_ns)
        updated_ns = now_ns
        model.pass(now_ns)
        if isLearnt, changes != changesApplied { excuseChanged(hasJumped: isNow && model.latest > latest) }
        changesApplied = changes
        for number in max(0, model.latest - 8)...model.latest {
            let is_ns = instant_ns(number)
            let was_ns = past_ns.updateValue(is_ns, forKey: number) ?? is_ns
            if was_ns != is_ns { differ("refresh \(number) was at \(was_ns), and is at \(is_ns) now") }
            if let before_ns = past_ns[number - 1], before_ns >= is_ns {
                differ("\(number) is not after the one before")
            }
        }
        for (name, link) in links { model.links[name]?.interval = Int64(link.frameInterval) }
        if isHeld { for name in links.keys { beginAnew(name) } }
        checkRate()
    }

    /// Excuses links after a change. A faster rate counts from the latest refresh, so some of its refreshes are already past.
    /// With a lead, the call of the present frame may be past. No link could make those calls.
    func excuseChanged(hasJumped: Bool) {
        for (name, link) in model.links where hasJumped || link.lead_ns != nil { model.links[name]?.isExcused = true }
    }

    /// Checks that a display that counts its refreshes and has not changed for long is learnt correctly.
    func checkRate() {
        guard let display = displays.last, display.countsRefreshes, display.mood == .well else {
            steady = nil
            return
        }
        let answers = source.core.withLock { $0.answers }
        let present = (display.period_ns, display.phase_ns)
        guard let steady, steady.display == present else { return steady = (present, answers) }
        guard answers - steady.answers > 60, source.state == .locked else { return }
        if abs(source.framesPerSecond * display.period_ns / 1e9 - 1) > 0.02 {
            differ("learnt as \(source.framesPerSecond) Hz, and is \(1e9 / display.period_ns)")
        }
        ratesChecked += 1
    }

    /// Determines the model's next calls again if the refreshes have changed, since the source has notified all links.
    func tellChanges() {
        guard changesApplied != changesSeen else { return }
        changesSeen = changesApplied
        model.changeAll(time.now.nanoseconds)
    }

    func differ(_ text: String) {
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

    // MARK: Time

    func step() {
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

    func passes() {
        for name in running.keys.sorted().shuffled(using: &random) {
            guard let mode = running[name], let loop = loops[name] else { continue }
            pass(name, loop, mode)
        }
    }

    var isHeld: Bool { source.core.withLock { $0.isHeld } }

    func pass(_ name: Int, _ loop: TimerLoop, _ mode: Int) {
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
        if !isLearnt {
            for link in missed where model.beginCall(link, now_ns) != nil { differ("no call of \(link)") }
        }
        // These calls were held back, or were for a frame that is over.
        for link in due.subtracting(called) { model.resolveNextCall(link, now_ns) }
        tellChanges()
        if now_ns > begin_ns { excuseLinks(of: name, without: mode) }
        for (name, link) in links { check(name, link) }
    }
}
