import HRTimerCore
import Testing

@testable import HRTimer

/// Timers that a precise loop has taken out of its queue before their deadline, while it spins up to it: what becomes of them
/// if the spin is broken. The loop's state alone, told the time.
@Suite struct PreparedTimersTests {
    private static let deadline_ns: Int64 = 1_000_000

    /// A state that serves the default mode, with timers by name.
    private struct Fixture: ~Copyable {
        var state = LoopState(now_ns: 0)
        private var names: [ObjectIdentifier: String] = [:]
        private var timers: [LoopTimer] = []

        init() {
            state.schedule.precision = .precise
            run(.default)
        }

        mutating func add(_ name: String, _ deadline_ns: Int64, mode: TimerLoop.Mode = .default) -> TimerToken {
            let timer = LoopTimer(timeInterval: .seconds(1), repeats: false) { _ in }
            timers.append(timer)
            names[ObjectIdentifier(timer)] = name
            let token = state.addTimer(timer, to: mode)
            arm(token, deadline_ns)
            return token
        }

        mutating func arm(_ token: TimerToken, _ deadline_ns: Int64) {
            state.arm(token, deadline_ns, .init())
        }

        mutating func run(_ mode: TimerLoop.Mode) {
            state.runs = [LoopState.Run(mode: mode, index: state.modes.index(of: mode))]
        }

        mutating func prepare(at deadline_ns: Int64) {
            _ = state.prepareCall(at: deadline_ns, isBegun: false)
        }

        var nextWake: TimerSchedule.Wake { state.nextWake }

        /// What the loop would fire at that instant.
        mutating func fire(at now_ns: Int64) -> [String] {
            state.beginPass(now_ns: now_ns)
            var fired: [String] = []
            while let call = state.nextCall(now_ns: now_ns) {
                fired.append(names[ObjectIdentifier(call.timer)] ?? "?")
            }
            return fired
        }
    }

    @Test("They fire at their deadline, not before, and until then the loop waits for them, spinning")
    func notEarly() {
        var loop = Fixture()
        _ = loop.add("one", Self.deadline_ns)
        loop.prepare(at: Self.deadline_ns)
        #expect(loop.fire(at: Self.deadline_ns - 1) == [])
        #expect(loop.nextWake.at_ns == Self.deadline_ns)
        loop.state.schedule.precision = .normal
        #expect(loop.nextWake.at_ns == Self.deadline_ns)
        #expect(loop.nextWake.isPrecise)
        #expect(loop.fire(at: Self.deadline_ns) == ["one"])
        #expect(loop.nextWake.at_ns == .max)
    }

    @Test("Order is by deadline, then by arming, whatever was armed while the loop spun", arguments: [0, 5000])
    func order(lateness_ns: Int64) {
        var loop = Fixture()
        _ = loop.add("first", Self.deadline_ns)
        _ = loop.add("second", Self.deadline_ns)
        _ = loop.add("later", Self.deadline_ns + 5000)
        loop.prepare(at: Self.deadline_ns)
        _ = loop.add("third", Self.deadline_ns)
        _ = loop.add("earlier", Self.deadline_ns - 5)
        let expected = ["earlier", "first", "second", "third"] + (lateness_ns == 0 ? [] : ["later"])
        #expect(loop.fire(at: Self.deadline_ns + lateness_ns) == expected)
    }

    @Test("What breaks the spin fires first, and the loop prepares no more until the first lot has fired")
    func broken() {
        var loop = Fixture()
        _ = loop.add("prepared", Self.deadline_ns)
        loop.prepare(at: Self.deadline_ns)
        _ = loop.add("earlier", Self.deadline_ns - 100)
        #expect(loop.nextWake.at_ns == Self.deadline_ns - 100)
        loop.prepare(at: Self.deadline_ns - 100)
        #expect(loop.fire(at: Self.deadline_ns - 100) == ["earlier"])
        #expect(loop.fire(at: Self.deadline_ns) == ["prepared"])
    }

    @Test("What breaks the spin may be of other modes: the loop waits for the earliest", arguments: [true, false])
    func brokenByOtherModes(isFirstInBoth: Bool) {
        var loop = Fixture()
        let first = loop.add("first", Self.deadline_ns)
        if isFirstInBoth { loop.state.addMode(.modal, to: first) }
        loop.prepare(at: Self.deadline_ns)
        let earlier = loop.add("earlier", Self.deadline_ns - 100)
        if !isFirstInBoth { loop.state.addMode(.modal, to: earlier) }
        loop.prepare(at: Self.deadline_ns - 100)
        #expect(loop.nextWake.at_ns == Self.deadline_ns - 100)
        #expect(loop.fire(at: Self.deadline_ns - 100) == ["earlier"])
        #expect(loop.nextWake.at_ns == Self.deadline_ns)
        #expect(loop.fire(at: Self.deadline_ns) == ["first"])
    }

    @Test("Beside one that is late already no call is begun ahead: the policy of each is asked in its turn")
    func besideALateOne() {
        var loop = Fixture()
        _ = loop.add("late", Self.deadline_ns - 100)
        _ = loop.add("next", Self.deadline_ns)
        loop.prepare(at: Self.deadline_ns - 100)
        let call = loop.state.prepareCall(at: Self.deadline_ns, isBegun: true)
        #expect(call == nil)
        #expect(loop.fire(at: Self.deadline_ns) == ["late", "next"])
    }

    @Test("Removed ones do not fire, moved ones at their new deadline alone, back to the old one too")
    func changed() {
        var loop = Fixture()
        let removed = loop.add("removed", Self.deadline_ns)
        let later = loop.add("later", Self.deadline_ns)
        let earlier = loop.add("earlier", Self.deadline_ns)
        let same = loop.add("same", Self.deadline_ns)
        loop.prepare(at: Self.deadline_ns)
        var released: LoopTimer?
        loop.state.removeTimer(removed, &released)
        #expect(released != nil)
        loop.arm(later, Self.deadline_ns + 50)
        loop.arm(earlier, Self.deadline_ns - 50)
        loop.arm(same, Self.deadline_ns + 70)
        loop.arm(same, Self.deadline_ns)
        #expect(loop.fire(at: Self.deadline_ns - 50) == ["earlier"])
        #expect(loop.fire(at: Self.deadline_ns) == ["same"])
        #expect(loop.fire(at: Self.deadline_ns + 49) == [])
        #expect(loop.fire(at: Self.deadline_ns + 100) == ["later"])
    }

    @Test("One of a mode that does not run is put aside at its deadline, and catches up when the mode runs")
    func otherMode() {
        var loop = Fixture()
        _ = loop.add("modal", Self.deadline_ns, mode: .modal)
        _ = loop.add("default", Self.deadline_ns)
        loop.prepare(at: Self.deadline_ns)
        loop.run(.modal)
        #expect(loop.fire(at: Self.deadline_ns - 1) == [])
        loop.run(.default)
        #expect(loop.fire(at: Self.deadline_ns) == ["default"])
        loop.run(.modal)
        #expect(loop.fire(at: Self.deadline_ns + 500) == ["modal"])
    }
}

/// A call that was begun before its deadline, while the thread spins: whoever changes its timer calls it off. The steps of the
/// loop's thread one by one, told the time.
@Suite struct PreparedCallTests {
    private let loop = TimerLoop(precision: .precise)
    private let deadline = MonotonicInstant.now.advanced(by: .seconds(100))

    private func timer(repeats: Bool = true) -> LoopTimer {
        let timer = LoopTimer(fireAt: deadline, interval: .seconds(1), repeats: repeats) { _ in }
        loop.add(timer, forMode: .default)
        return timer
    }

    private func prepare() -> TimerCall? {
        loop.core.state.withLock { state in
            state.runs = [LoopState.Run(mode: .default, index: state.modes.index(of: .default))]
            return state.prepareCall(at: deadline.nanoseconds, isBegun: true)
        }
    }

    private func confirm() -> Bool {
        loop.core.state.withLock { $0.confirmPrepared(now_ns: deadline.nanoseconds) }
    }

    /// The timers that a pass at that instant would call.
    private func pass(_ seconds: Double = 0) -> [LoopTimer] {
        let now_ns = deadline.nanoseconds + Int64(seconds * 1e9)
        return loop.core.state.withLock { state in
            var timers: [LoopTimer] = []
            state.beginPass(now_ns: now_ns)
            while let call = state.nextCall(now_ns: now_ns) { timers.append(call.timer) }
            return timers
        }
    }

    @Test("With nothing changed the call is made, once")
    func made() {
        let timer = timer()
        #expect(prepare()?.timer === timer)
        #expect(confirm())
        #expect(!confirm())
        #expect(pass().isEmpty)
    }

    @Test(
        "Invalidated, or taken out of its mode, while the thread spins, a timer is not called",
        arguments: [true, false]
    )
    func gone(isInvalidated: Bool) {
        let timer = timer()
        #expect(prepare() != nil)
        if isInvalidated { timer.invalidate() } else { loop.remove(timer, forMode: .default) }
        #expect(!confirm())
        #expect(pass().isEmpty)
        #expect(timer.isValid != isInvalidated)
        #expect(timer.fireInstant == deadline)
    }

    @Test("Moved while the thread spins, it comes at its new deadline alone, and tells no call that never was")
    func moved() {
        let timer = timer()
        #expect(prepare() != nil)
        timer.fireInstant = deadline.advanced(by: .seconds(2))
        #expect(!confirm())
        #expect(pass(1).isEmpty)
        #expect(pass(2).map(ObjectIdentifier.init) == [ObjectIdentifier(timer)])
        let other = self.timer()
        #expect(prepare() != nil)
        other.fireInstant = deadline.advanced(by: .seconds(5))
        other.invalidate()
        #expect(other.fireInstant == deadline.advanced(by: .seconds(5)))
    }

    @Test("A call that never was leaves the count of the call before")
    func countOfTheCallBefore() {
        let timer = timer()
        let late_ns = deadline.nanoseconds + 2_500_000_000
        loop.core.state.withLock { state in
            state.runs = [LoopState.Run(mode: .default, index: state.modes.index(of: .default))]
            state.beginPass(now_ns: late_ns)
            var released = ReleasedTimer()
            if let call = state.nextCall(now_ns: late_ns) {
                _ = state.finish(call.token, call.timer, now_ns: late_ns, &released)
            }
            let next = state.prepareCall(at: deadline.nanoseconds + 3_000_000_000, isBegun: true)
            #expect(next?.timer === timer)
        }
        #expect(timer.missedTicks == 0)
        let wasPrepared = loop.core.state.withLock { $0.callOffPrepared() }
        #expect(wasPrepared)
        #expect(timer.missedTicks == 2)
    }

    @Test(
        "Counted before its deadline, a call counts for nothing if it is called off, and once if it is made",
        arguments: 0..<3
    )
    func counts(end: Int) {
        let timer = timer()
        let before = loop.statistics
        guard let call = prepare() else {
            Issue.record("nothing prepared")
            return
        }
        switch end {
        case 0: timer.invalidate()
        case 1: loop.end()
        default:
            let late_ns = deadline.nanoseconds + 70
            loop.core.state.withLock { state in
                let isMade = state.confirmPrepared(now_ns: late_ns)
                #expect(isMade)
                var released = ReleasedTimer()
                _ = state.finish(call.token, call.timer, now_ns: late_ns, &released)
                _ = state.finish(call.token, call.timer, now_ns: late_ns, &released)
            }
        }
        let isMade: UInt64 = end == 2 ? 1 : 0
        #expect(loop.statistics.fires == before.fires + isMade)
        #expect(loop.statistics.wakeups == before.wakeups + isMade)
        #expect(loop.lateness.count == Int(isMade))
        #expect(loop.lateness.max == (end == 2 ? .nanoseconds(70) : nil))
    }

    @Test("The loop ended while the thread spins, the call is not made")
    func ended() {
        let timer = timer()
        #expect(prepare() != nil)
        loop.end()
        #expect(!confirm())
        #expect(!timer.isValid)
    }

    @Test("What is due at the same instant comes in the same pass, in order; what is armed during it does not")
    func samePass() {
        let timers = (0..<3).map { _ in timer() }
        #expect(prepare()?.timer === timers[0])
        #expect(confirm())
        let late = timer()
        let rest = loop.core.state.withLock { state in
            var rest: [LoopTimer] = []
            while let call = state.nextCall(now_ns: deadline.nanoseconds) { rest.append(call.timer) }
            return rest
        }
        #expect(rest.map(ObjectIdentifier.init) == timers[1...].map(ObjectIdentifier.init))
        #expect(pass().map(ObjectIdentifier.init) == [ObjectIdentifier(late)])
    }

    @Test("Its tolerance, precision or modes changed, or the spin broken, it comes at its deadline, once")
    func changed() {
        let changes: [(LoopTimer) -> Void] = [
            { $0.tolerance = 0.1 },
            { $0.precision = .precise },
            { loop.add($0, forMode: .modal) },
            { _ in _ = loop.core.state.withLock { $0.callOffPrepared() } },
        ]
        for change in changes {
            let timer = timer(repeats: false)
            #expect(prepare() != nil)
            change(timer)
            #expect(!confirm())
            #expect(pass().map(ObjectIdentifier.init) == [ObjectIdentifier(timer)])
            timer.invalidate()
        }
    }
}
