// SPDX-License-Identifier: Apache-2.0
import HRTimerTesting
import TestSupport

@testable import HRTimer

/// The random operations of the play.
extension DisplayPlay {
    func operate() {
        follow()
        switch Int.random(in: 0..<24, using: &random) {
        case 0...3: withLink(addToLoop)
        case 4: if links.count < 10 { addLink() }
        case 5: withLink(remove)
        case 6: withLink(invalidate)
        case 7...9: withLink(pause)
        case 10...11: withLink(request)
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

    func withLink(_ body: (Int, DisplayLink) -> Void) {
        guard let name = links.keys.sorted().randomElement(using: &random), let link = links[name] else { return }
        body(name, link)
    }

    func addLink() {
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

    func addToLoop(_ name: Int, _ link: DisplayLink) {
        if let ended, Int.random(in: 0..<4, using: &random) == 0 { link.add(to: ended, forMode: .default) }
        guard let (loopName, loop) = loops.sorted(by: { $0.key < $1.key }).randomElement(using: &random) else { return }
        let mode = Int.random(in: 0..<3, using: &random)
        link.add(to: loop, forMode: Self.modes[mode])
        startExact()
        guard let inLoop = model.links[name]?.loop else {
            model.links[name]?.loop = loopName
            model.links[name]?.modes = [mode]
            follow()
            return model.resolveNextCall(name, time.now.nanoseconds)
        }
        if inLoop == loopName { model.links[name]?.modes.insert(mode) }
    }

    func startExact() {
        guard exact == nil, !isLearnt else { return }
        exact = ExactRefreshes(source.frameRate, from: time.now.nanoseconds)
    }

    func remove(_ name: Int, _ link: DisplayLink) {
        guard let loop = model.links[name]?.loop,
            let mode = model.links[name]?.modes.sorted().randomElement(using: &random)
        else { return }
        link.remove(from: loops[loop]!, forMode: Self.modes[mode])
        model.links[name]?.modes.remove(mode)
        // From now on, the loop's runs in that mode count as runs without the link.
        model.links[name]?.isExcused = true
        if model.links[name]?.modes == [] { leave(name) }
    }

    func leave(_ name: Int) {
        model.links[name]?.modes = []
        model.links[name]?.loop = nil
        model.links[name]?.due = nil
        beginAnew(name)
    }

    func invalidate(_ name: Int, _ link: DisplayLink) {
        link.invalidate()
        links[name] = nil
        model.links[name] = nil
    }

    func pause(_ name: Int, _ link: DisplayLink) {
        let isPaused = Int.random(in: 0..<3, using: &random) == 0
        link.isPaused = isPaused
        model.links[name]?.isPaused = isPaused
        beginAnew(name)
        model.change(name, time.now.nanoseconds)
    }

    func request(_ name: Int, _ link: DisplayLink) {
        if kind == .variable || kind == .virtual, Bool.random(using: &random) {
            link.preferredFramesPerSecond = [0, 20, 24, 40, 60, 100].randomElement(using: &random)!
        } else {
            link.frameInterval = Int.random(in: 1...7, using: &random)
        }
        model.links[name]?.interval = Int64(link.frameInterval)
        beginAnew(name)
        model.change(name, time.now.nanoseconds)
    }

    func lead(_ name: Int, _ link: DisplayLink) {
        let lead_us = Int64.random(in: 1...3500, using: &random)
        let isNone = Bool.random(using: &random)
        link.wakeLead = isNone ? .none : .fixed(.microseconds(lead_us))
        model.links[name]?.lead_ns = isNone ? nil : lead_us * 1000
        beginAnew(name)
        model.change(name, time.now.nanoseconds)
    }

    func changedAll() {
        model.changeAll(time.now.nanoseconds)
    }

    func addLoop() {
        loopNames += 1
        let loop = TimerLoop(time: time.base)
        loops[loopNames] = loop
        running[loopNames] = 0
        loop.isKeptAlive = true
    }

    func changeMode() {
        guard let name = loops.keys.sorted().randomElement(using: &random) else { return }
        running[name] = Int.random(in: 0..<4, using: &random) == 0 ? nil : [0, 0, 1, 2].randomElement(using: &random)!
    }

    func endLoop() {
        guard Int.random(in: 0..<4, using: &random) == 0, let name = loops.keys.sorted().randomElement(using: &random)
        else { return }
        loops[name]!.end()
        // The ended loop is kept, or released.
        ended = Bool.random(using: &random) ? loops[name] : nil
        loops[name] = nil
        running[name] = nil
        for (link, state) in model.links where state.loop == name { leave(link) }
        addLoop()
    }

    /// Runs a loop in a mode without links for some time.
    func otherMode() {
        guard let (name, loop) = loops.sorted(by: { $0.key < $1.key }).randomElement(using: &random) else { return }
        loop.run(mode: Self.modes[3], for: .microseconds(Int64.random(in: 1...60_000, using: &random)))
        excuseLinks(of: name, without: 3)
    }

    /// Excuses the loop's links that are not in `mode`: refreshes that pass while the loop runs in it are not dropped.
    func excuseLinks(of loop: Int, without mode: Int) {
        for (link, state) in model.links where state.loop == loop && !state.modes.contains(mode) {
            model.links[link]?.isExcused = true
        }
    }

    func changeRate() {
        let rate = Self.rates.randomElement(using: &random)!
        switch kind {
        case .virtual, .variable: source.frameRate = rate
        case .real, .surface: displays.last?.setRate(min(rate.framesPerSecond, 120))
        }
    }

    func changeDisplay() {
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

    func recover(_ display: FakeDisplay) {
        if display.mood == .silent { display.show() }
        if display.mood != .dead { display.mood = .well }
    }

    func otherDisplay() throws(TimerError) -> FakeDisplay {
        do {
            let rate = Double.random(in: 24...144, using: &random)
            let display = try FakeDisplay(rate, time, TimerLoop(time: time.base))
            displays = [display]
            return display
        } catch { throw TimerError(operation: "make a display", errorNumber: 5) }
    }
}
