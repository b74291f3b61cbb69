// SPDX-License-Identifier: Apache-2.0
import HRTimer
import HRTimerTesting
import TestSupport
import Testing

/// Timers of a loop under random operations, also from their handlers, compared with `LoopModel`. In manual time.
@Suite struct LoopModelTests {
    @Test("Nested, starved, moved, bursting and slow timers of several modes fire and count as a sorted list says")
    func random() {
        let count = environment("HRTIMER_MODEL_OPERATIONS").flatMap { Int($0) } ?? 5000
        let play = LoopPlay(SeededRandom.fromEnvironment(), operations: count)
        play.run()
        #expect(play.differences == [])
        // A play in which nothing happened would prove nothing.
        #expect(play.model.calls > count / 20)
        #expect(play.model.nestedCalls > count / 200)
        #expect(play.model.starvedCalls > count / 2000)
    }
}

/// A loop and its model, which get the same random operations.
private final class LoopPlay: @unchecked Sendable {
    // Sendable: only one thread runs the test and the loop.
    let time = ManualTime()
    let loop: TimerLoop
    let model = LoopModel()
    var differences: [String] = []
    private var random: SeededRandom
    private var left: Int
    private var timers: [Int: LoopTimer] = [:]
    private var names = 0
    private var firedByHand: Int?
    private var depth = 0

    private static let modes = ["default", "tracking", "modal"]
    private static let loopModes: [String: TimerLoop.Mode] = [
        "default": .default, "tracking": .eventTracking, "modal": .modalPanel, "common": .common,
    ]

    init(_ random: SeededRandom, operations: Int) {
        self.random = random
        left = operations
        loop = TimerLoop(time: time.base, precision: .normal)
        model.now = time.now.nanoseconds
    }

    func run() {
        while left > 0, differences.isEmpty {
            if left % 1000 == 7 {
                model.makeCommon("tracking")
                loop.addCommonMode(.eventTracking)
            }
            if timers.count < 12 { add() }
            operate()
        }
    }

    private func operate() {
        left -= 1
        switch Int.random(in: 0..<20, using: &random) {
        case 0...3: if timers.count < 40 { add() }
        case 4...6: withTimer(move)
        case 7: withTimer(invalidate)
        case 8: withTimer(fireByHand)
        case 9...10: withTimer(changeModes)
        case 11...12: advance()
        default: if depth < 4 { runLoop() }
        }
    }

    private func withTimer(_ body: (Int, LoopTimer) -> Void) {
        guard let (name, timer) = timers.sorted(by: { $0.key < $1.key }).randomElement(using: &random) else { return }
        body(name, timer)
    }

    /// Returns a small number, so that deadlines coincide.
    private func span() -> Int64 { Int64.random(in: 0...12, using: &random) }

    private func add() {
        names += 1
        let name = names
        let interval = Bool.random(using: &random) ? max(1, span()) : 0
        let policy = MissedTickPolicy.allCases.randomElement(using: &random)!
        let deadline = model.now + span() - 3
        let instant = MonotonicInstant(nanoseconds: deadline)
        let timer = LoopTimer(
            fireAt: instant,
            interval: .nanoseconds(interval),
            repeats: interval > 0,
            policy: policy
        ) { [unowned self] _ in called(name) }
        timers[name] = timer
        model.timers[name] = LoopModel.Timer(deadline: deadline, interval: interval, policy: policy)
        addMode(name, timer)
        if Int.random(in: 0..<4, using: &random) == 0 { addMode(name, timer) }
    }

    private func addMode(_ name: Int, _ timer: LoopTimer) {
        let mode = (Self.modes + ["common"]).randomElement(using: &random)!
        model.add(name, mode)
        loop.add(timer, forMode: Self.loopModes[mode]!)
    }

    private func changeModes(_ name: Int, _ timer: LoopTimer) {
        if Bool.random(using: &random) { return addMode(name, timer) }
        let mode = (Self.modes + ["common"]).randomElement(using: &random)!
        model.remove(name, mode)
        loop.remove(timer, forMode: Self.loopModes[mode]!)
    }

    private func move(_ name: Int, _ timer: LoopTimer) {
        let deadline = model.now + span() - 3
        model.move(name, to: deadline)
        timer.fireInstant = MonotonicInstant(nanoseconds: deadline)
    }

    private func invalidate(_ name: Int, _ timer: LoopTimer) {
        model.invalidate(name)
        timer.invalidate()
        timers[name] = nil
    }

    private func fireByHand(_ name: Int, _ timer: LoopTimer) {
        guard depth < 4 else { return }
        firedByHand = name
        timer.fire()
        check(firedByHand == nil, "\(name) was not fired by hand")
        if !timer.isValid {
            model.invalidate(name)
            timers[name] = nil
        }
    }

    private func advance() {
        let span = span()
        model.now += span
        time.advance(by: .nanoseconds(span))
    }

    private func runLoop() {
        depth += 1
        defer { depth -= 1 }
        let mode = Self.modes.randomElement(using: &random)!
        let limit = Int.random(in: 0..<4, using: &random) == 0 ? Int64.min : model.now + span()
        let willRun = model.begin(mode, limit: limit)
        let hasRun = loop.run(mode: Self.loopModes[mode]!, before: MonotonicInstant(nanoseconds: limit))
        check(hasRun == willRun, "the run in \(mode) was \(hasRun), not \(willRun)")
        if willRun, let missing = model.next() { check(false, "\(missing) did not come") }
        check(model.now == time.now.nanoseconds, "the clock is at \(time.now), not \(model.now)")
    }

    private func called(_ name: Int) {
        if firedByHand == name {
            firedByHand = nil
            check(timers[name]?.missedTicks == 0, "fired by hand, \(name) counts missed ticks")
            return operateInHandler()
        }
        guard differences.isEmpty else { return }
        let expected = model.next()
        check(expected?.name == name, "\(name) came, not \(expected.map { "\($0)" } ?? "nothing")")
        guard let expected, expected.name == name, let timer = timers[name] else { return }
        check(expected.now == time.now.nanoseconds, "\(name) came at \(time.now), not \(expected.now)")
        check(timer.missedTicks == expected.missed, "\(expected): it missed \(timer.missedTicks)")
        check(timer.fireInstant.nanoseconds == expected.deadline, "\(name) is for \(timer.fireInstant)")
        operateInHandler()
        model.end(name)
        if model.timers[name] == nil { timers[name] = nil }
    }

    private func operateInHandler() {
        depth += 1
        defer { depth -= 1 }
        for _ in 0..<Int.random(in: 0...2, using: &random) where left > 0 && differences.isEmpty { operate() }
    }

    private func check(_ holds: Bool, _ difference: @autoclosure () -> String) {
        if !holds, differences.count < 3 { differences.append("\(left) operations left: \(difference())") }
    }
}
