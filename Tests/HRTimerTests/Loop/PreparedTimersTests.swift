// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing

@testable import HRTimer
@testable import HRTimerCore

/// Timers that a precise loop has taken out of its queue before their deadline, while it spins up to it, and their fate if the
/// spin is interrupted. The tests use the loop's state alone, and tell it the time.
@Suite struct PreparedTimersTests {
    private static let deadline_ns: Int64 = 1_000_000

    /// A loop's state that serves the default mode, with a name for each timer.
    private struct Fixture: ~Copyable {
        var state = LoopState(now_ns: 0)
        private var names: [ObjectIdentifier: String] = [:]
        private var timers: [LoopTimer] = []
        private var latest_ns = Int64.min

        init() {
            state.core.precision = .precise
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
            state.core.setOptions(.init(), for: token)
            state.core.place(token, deadline_ns)
        }

        mutating func run(_ mode: TimerLoop.Mode) {
            state.push(LoopState.Run(mode: mode, index: state.modes.index(of: mode)))
            state.serveGroups()
        }

        mutating func prepare(at deadline_ns: Int64) {
            var fire = Fire()
            _ = state.prepareBefore(deadline_ns, isWanted: false, &fire)
        }

        var nextPark: Park { state.core.nextPark }

        /// Returns the names of the timers that the loop would fire at that instant.
        mutating func fire(at now_ns: Int64) -> [String] {
            state.beginPass(now_ns: now_ns)
            var fired: [String] = []
            var fire = Fire()
            while state.prepareNext(now_ns: now_ns, &fire) {
                fired.append(fire.timer.flatMap { names[ObjectIdentifier($0)] } ?? "?")
                _ = state.finish(&fire, now_ns: now_ns, wasCalled: true)
                fire.letGo()
            }
            return fired
        }
    }

    @Test("Prepared timers fire at their deadline, not before, and until then the loop spins for them")
    func notEarly() {
        var loop = Fixture()
        _ = loop.add("one", Self.deadline_ns)
        loop.prepare(at: Self.deadline_ns)
        #expect(loop.fire(at: Self.deadline_ns - 1) == [])
        #expect(loop.nextPark.until_ns == Self.deadline_ns)
        loop.state.core.precision = .normal
        #expect(loop.nextPark.until_ns == Self.deadline_ns)
        #expect(loop.nextPark.isPrecise)
        #expect(loop.fire(at: Self.deadline_ns) == ["one"])
        #expect(loop.nextPark.until_ns == .max)
    }

    @Test("Timers fire by deadline, then by arming, also those armed while the loop spun", arguments: [0, 5000])
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

    @Test("A timer that interrupts the spin fires first, and no more are prepared until the first ones have fired")
    func broken() {
        var loop = Fixture()
        _ = loop.add("prepared", Self.deadline_ns)
        loop.prepare(at: Self.deadline_ns)
        _ = loop.add("earlier", Self.deadline_ns - 100)
        #expect(loop.nextPark.until_ns == Self.deadline_ns - 100)
        loop.prepare(at: Self.deadline_ns - 100)
        #expect(loop.fire(at: Self.deadline_ns - 100) == ["earlier"])
        #expect(loop.fire(at: Self.deadline_ns) == ["prepared"])
    }

    @Test("A timer of other modes may interrupt the spin: the loop waits for the earliest", arguments: [true, false])
    func brokenByOtherModes(isFirstInBoth: Bool) {
        var loop = Fixture()
        let first = loop.add("first", Self.deadline_ns)
        if isFirstInBoth { loop.state.addMode(.modalPanel, to: first) }
        loop.prepare(at: Self.deadline_ns)
        let earlier = loop.add("earlier", Self.deadline_ns - 100)
        if !isFirstInBoth { loop.state.addMode(.modalPanel, to: earlier) }
        loop.prepare(at: Self.deadline_ns - 100)
        #expect(loop.nextPark.until_ns == Self.deadline_ns - 100)
        #expect(loop.fire(at: Self.deadline_ns - 100) == ["earlier"])
        #expect(loop.nextPark.until_ns == Self.deadline_ns)
        #expect(loop.fire(at: Self.deadline_ns) == ["first"])
    }

    @Test("Beside a timer that is late no call is prepared: each timer's policy is applied in its turn")
    func besideALateOne() {
        var loop = Fixture()
        _ = loop.add("late", Self.deadline_ns - 100)
        _ = loop.add("next", Self.deadline_ns)
        loop.prepare(at: Self.deadline_ns - 100)
        var fire = Fire()
        let isPrepared = loop.state.prepareBefore(Self.deadline_ns, isWanted: true, &fire)
        #expect(!isPrepared)
        #expect(loop.fire(at: Self.deadline_ns) == ["late", "next"])
    }

    @Test("Removed timers do not fire, and moved ones fire only at their new deadline, even if it is the old one again")
    func changed() {
        var loop = Fixture()
        let removed = loop.add("removed", Self.deadline_ns)
        let later = loop.add("later", Self.deadline_ns)
        let earlier = loop.add("earlier", Self.deadline_ns)
        let same = loop.add("same", Self.deadline_ns)
        loop.prepare(at: Self.deadline_ns)
        var released: TimerTarget?
        loop.state.removeTimer(removed, &released)
        let isReleased = released != nil
        #expect(isReleased)
        loop.arm(later, Self.deadline_ns + 50)
        loop.arm(earlier, Self.deadline_ns - 50)
        loop.arm(same, Self.deadline_ns + 70)
        loop.arm(same, Self.deadline_ns)
        #expect(loop.fire(at: Self.deadline_ns - 50) == ["earlier"])
        #expect(loop.fire(at: Self.deadline_ns) == ["same"])
        #expect(loop.fire(at: Self.deadline_ns + 49) == [])
        #expect(loop.fire(at: Self.deadline_ns + 100) == ["later"])
    }

    @Test("A timer of a mode that does not run is set aside at its deadline, and fires when the mode runs")
    func otherMode() {
        var loop = Fixture()
        _ = loop.add("modal", Self.deadline_ns, mode: .modalPanel)
        _ = loop.add("default", Self.deadline_ns)
        loop.prepare(at: Self.deadline_ns)
        loop.run(.modalPanel)
        #expect(loop.fire(at: Self.deadline_ns - 1) == [])
        loop.run(.default)
        #expect(loop.fire(at: Self.deadline_ns) == ["default"])
        loop.run(.modalPanel)
        #expect(loop.fire(at: Self.deadline_ns + 500) == ["modal"])
    }
}

/// A call that was prepared before its deadline, while the thread spins. Any thread that changes its timer withdraws it. The
/// tests make the steps of the loop's thread one by one, and tell it the time.
@Suite struct PreparedCallTests {
    private let loop = TimerLoop(precision: .precise)
    private let deadline = MonotonicInstant.now.advanced(by: .seconds(100))

    private func timer(repeats: Bool = true) -> LoopTimer {
        let timer = LoopTimer(fireAt: deadline, interval: .seconds(1), repeats: repeats) { _ in }
        loop.add(timer, forMode: .default)
        return timer
    }

    /// Prepares a call. Returns true if there is one.
    private func prepare(_ fire: inout Fire, after seconds: Int64 = 0) -> Bool {
        let deadline_ns = deadline.nanoseconds + seconds * 1_000_000_000
        return loop.core.state.withLock { state in
            run(&state)
            return state.prepareBefore(deadline_ns, isWanted: true, &fire)
        }
    }

    private func run(_ state: inout LoopState) {
        state.push(LoopState.Run(mode: .default, index: state.modes.index(of: .default)))
        state.serveGroups()
    }

    /// Ends the spin, at the deadline or by an interruption. Returns true if the call is made.
    private func end(_ fire: inout Fire, late_ns: Int64 = 0) -> Bool {
        let isCommitted = loop.core.commit.commit()
        let now_ns = deadline.nanoseconds + late_ns
        if isCommitted { fire.deliver(now_ns, on: loop.time, nil) }
        loop.core.state.withLock { state in
            _ = state.finish(&fire, now_ns: now_ns, wasCalled: isCommitted)
        }
        fire.letGo()
        return isCommitted
    }

    /// Returns the timers that a pass at that instant calls.
    private func pass(_ seconds: Double = 0) -> [LoopTimer] {
        let now_ns = deadline.nanoseconds + Int64(seconds * 1e9)
        var timers: [LoopTimer] = []
        var fire = Fire()
        loop.core.state.withLock { state in
            run(&state)
            state.beginPass(now_ns: now_ns)
        }
        while loop.core.state.withLock({ $0.prepareNext(now_ns: now_ns, &fire) }) {
            if let timer = fire.timer { timers.append(timer) }
            loop.core.state.withLock { state in _ = state.finish(&fire, now_ns: now_ns, wasCalled: true) }
            fire.letGo()
        }
        return timers
    }

    @Test("A prepared call is made once if nothing changes")
    func made() {
        let timer = timer()
        var fire = Fire()
        let isPrepared = prepare(&fire)
        #expect(isPrepared && fire.timer === timer)
        let isMade = end(&fire)
        #expect(isMade)
        #expect(pass().isEmpty)
    }

    @Test(
        "A timer that is invalidated or removed from its mode while the thread spins is not called",
        arguments: [true, false]
    )
    func gone(isInvalidated: Bool) {
        let timer = timer()
        var fire = Fire()
        let isPrepared = prepare(&fire)
        #expect(isPrepared)
        if isInvalidated { timer.invalidate() } else { loop.remove(timer, forMode: .default) }
        #expect(timer.isValid != isInvalidated)
        #expect(timer.fireInstant == deadline)
        let isMade = end(&fire)
        #expect(!isMade)
        #expect(pass().isEmpty)
    }

    @Test("The handler of a timer invalidated while the thread spins is freed once, when the thread has seen it")
    func freedWhileSpinning() {
        let canaries = Canaries()
        var fire = Fire()
        do {
            let canary = canaries.make()
            let timer = LoopTimer(fireAt: deadline, interval: .seconds(1), repeats: true) { _ in
                withExtendedLifetime(canary) {}
            }
            loop.add(timer, forMode: .default)
            let isPrepared = prepare(&fire)
            #expect(isPrepared)
            timer.invalidate()
        }
        #expect(canaries.count == 1, "the prepared call has it")
        let isMade = end(&fire)
        #expect(!isMade)
        #expect(canaries.count == 0)
    }

    @Test("A timer that is moved while the thread spins fires only at its new deadline, and reports no withdrawn call")
    func moved() {
        let timer = timer()
        var fire = Fire()
        var isPrepared = prepare(&fire)
        #expect(isPrepared)
        timer.fireInstant = deadline.advanced(by: .seconds(2))
        var isMade = end(&fire)
        #expect(!isMade)
        #expect(pass(1).isEmpty)
        #expect(pass(2).map(ObjectIdentifier.init) == [ObjectIdentifier(timer)])
        timer.invalidate()
        let other = self.timer()
        isPrepared = prepare(&fire)
        #expect(isPrepared)
        other.fireInstant = deadline.advanced(by: .seconds(5))
        other.invalidate()
        #expect(other.fireInstant == deadline.advanced(by: .seconds(5)))
        isMade = end(&fire)
        #expect(!isMade)
    }

    @Test("A withdrawn call leaves the missed ticks of the call before it unchanged", arguments: [true, false])
    func countOfTheCallBefore(isMoved: Bool) {
        let timer = timer()
        #expect(pass(2.5) == [timer])
        #expect(timer.missedTicks == 2)
        var fire = Fire()
        let isPrepared = prepare(&fire, after: 3)
        #expect(isPrepared && timer.missedTicks == 0)
        // Withdrawn by a change of the timer, or because the thread must wake for another reason.
        if isMoved { timer.tolerance = 0.1 } else { _ = loop.core.state.withLock { $0.mustWakeNow() } }
        let isMade = end(&fire)
        #expect(!isMade)
        #expect(timer.missedTicks == 2)
    }

    @Test(
        "A call that is counted before its deadline counts for nothing if it is withdrawn, and once if it is made",
        arguments: 0..<3
    )
    func counts(ending: Int) {
        let timer = timer()
        let before = loop.statistics
        var fire = Fire()
        let isPrepared = prepare(&fire)
        #expect(isPrepared)
        switch ending {
        case 0: timer.invalidate()
        case 1: loop.end()
        default: break
        }
        let isMade = end(&fire, late_ns: 70)
        #expect(isMade == (ending == 2))
        let count: UInt64 = isMade ? 1 : 0
        #expect(loop.statistics.fires == before.fires + count)
        #expect(loop.statistics.wakeups == before.wakeups + count)
        #expect(loop.lateness.count == Int(count))
        #expect(loop.lateness.max == (isMade ? .nanoseconds(70) : nil))
    }

    @Test("A prepared call is not made if the loop ends while the thread spins")
    func ended() {
        let timer = timer()
        var fire = Fire()
        let isPrepared = prepare(&fire)
        loop.end()
        let isMade = end(&fire)
        #expect(isPrepared && !isMade)
        #expect(!timer.isValid)
    }

    @Test("Timers due at the same instant fire in the same pass, in order; one that is armed during it does not")
    func samePass() {
        let timers = (0..<3).map { _ in timer() }
        var fire = Fire()
        let isPrepared = prepare(&fire)
        #expect(isPrepared && fire.timer === timers[0])
        let isMade = end(&fire)
        #expect(isMade)
        let late = timer()
        let now_ns = deadline.nanoseconds
        var rest: [LoopTimer] = []
        while loop.core.state.withLock({ $0.prepareNext(now_ns: now_ns, &fire) }) {
            if let timer = fire.timer { rest.append(timer) }
            loop.core.state.withLock { state in _ = state.finish(&fire, now_ns: now_ns, wasCalled: true) }
            fire.letGo()
        }
        #expect(rest.map(ObjectIdentifier.init) == timers[1...].map(ObjectIdentifier.init))
        #expect(pass().map(ObjectIdentifier.init) == [ObjectIdentifier(late)])
    }

    @Test("A timer fires at its deadline, once, if its tolerance, precision or modes change or the spin is interrupted")
    func changed() {
        let changes: [(LoopTimer) -> Void] = [
            { $0.tolerance = 0.1 },
            { $0.precision = .precise },
            { loop.add($0, forMode: .modalPanel) },
            { _ in _ = loop.core.commit.withdraw() },
        ]
        for change in changes {
            let timer = timer(repeats: false)
            var fire = Fire()
            let isPrepared = prepare(&fire)
            #expect(isPrepared)
            change(timer)
            let isMade = end(&fire)
            #expect(!isMade)
            #expect(pass().map(ObjectIdentifier.init) == [ObjectIdentifier(timer)])
            timer.invalidate()
        }
    }

    @Test("A run inside a prepared call's handler prepares other calls, and changes wake its thread")
    func nested() {
        let first = timer()
        let second = LoopTimer(fireAt: deadline.advanced(by: .seconds(1)), repeats: false) { _ in }
        loop.add(second, forMode: .default)
        var fire = Fire()
        let isPrepared = prepare(&fire)
        let isCommitted = loop.core.commit.commit()
        #expect(isPrepared && isCommitted && fire.timer === first)
        // The handler runs the loop, which parks.
        let (isParkedInCall, isWoken) = loop.core.state.withLock { state -> (Bool, Bool) in
            let isParkedInCall = state.core.isParked
            state.core.park(until: state.core.nextPark)
            return (isParkedInCall, state.mustWakeNow())
        }
        #expect(!isParkedInCall && isWoken)
        var inner = Fire()
        let isInnerPrepared = prepare(&inner, after: 1)
        #expect(isInnerPrepared && inner.timer === second)
        let isInnerMade = end(&inner, late_ns: 1_000_000_000)
        loop.core.state.withLock { state in
            _ = state.finish(&fire, now_ns: deadline.nanoseconds + 1_500_000_000, wasCalled: true)
        }
        fire.letGo()
        #expect(isInnerMade)
        #expect(first.fireInstant == deadline.advanced(by: .seconds(2)))
        #expect(!second.isValid)
    }
}

extension Fire {
    /// The timer that owns the fire: a loop has no other owners.
    fileprivate var timer: LoopTimer? { owner as? LoopTimer }
}
