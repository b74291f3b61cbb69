// SPDX-License-Identifier: Apache-2.0
import CHRTimer
import Testing

@testable import HRTimerCore

/// The order in which a core fires due timers, and the effect of changes to a timer before and during its call. The tests
/// pass the time in.
@Suite struct FiringOrderTests {
    private func add(_ core: inout FiringCore, _ deadline_ns: Int64) -> TimerToken {
        var request = TimerRequest()
        request.deadline_ns = deadline_ns
        return core.add(.handler { _ in }, request)
    }

    /// Returns the timers that fire at `now_ns`, in order. Each call ends before the next begins.
    private func fired(
        _ core: inout FiringCore,
        at now_ns: Int64,
        during: (inout FiringCore, TimerToken) -> Void = { _, _ in }
    ) -> [TimerToken] {
        var all: [TimerToken] = []
        var fire = Fire()
        while true {
            switch core.poll(now_ns, horizon_ns: .min, limit_ns: .max, &fire) {
            case .again: continue
            case .park, .ended: return all
            case .fire:
                all.append(fire.token)
                during(&core, fire.token)
                if core.finish(&fire, now_ns, wasCalled: true) { fire.letGo() }
            }
        }
    }

    @Test("A due timer that an earlier call disarms, moves or removes does not fire")
    func withdrawn() {
        var core = FiringCore(precision: .normal)
        let tokens = (0..<5).map { _ in add(&core, 100) }
        let first = fired(&core, at: 100) { core, token in
            guard token == tokens[0] else { return }
            core.disarm(tokens[1])
            core.place(tokens[2], 200)
            core.remove(tokens[3])
        }
        #expect(first == [tokens[0], tokens[4]])
        let second = fired(&core, at: 200)
        #expect(second == [tokens[2]])
    }

    @Test("isUntouchedSinceCall is true only in a call in which nobody armed, disarmed or removed the timer")
    func untouched() {
        for (action, isExpected) in [("nothing", true), ("arm", false), ("disarm", false), ("remove", false)] {
            var core = FiringCore(precision: .normal)
            let timer = add(&core, 100)
            let isUntouchedBefore = core.isUntouchedSinceCall(timer)
            var isUntouched = false
            _ = fired(&core, at: 100) { core, token in
                switch action {
                case "arm": core.place(token, 200)
                case "disarm": core.disarm(token)
                case "remove": core.remove(token)
                default: break
                }
                isUntouched = core.isUntouchedSinceCall(token)
            }
            let isUntouchedAfter = core.isUntouchedSinceCall(timer)
            #expect(!isUntouchedBefore && isUntouched == isExpected && !isUntouchedAfter, "\(action)")
        }
    }

    @Test(
        "A timer withdrawn before its deadline, and all that expired with it, fire later in their former order",
        arguments: [2, 7, 8, 9, 16, 64, 65, 129]
    )
    func withdrawnAhead(count: Int) {
        var core = FiringCore(precision: .precise)
        let tokens = (0..<count).map { _ in add(&core, 100) }
        var fire = Fire()
        guard case .fire = core.poll(50, horizon_ns: 100, limit_ns: .max, &fire) else {
            Issue.record("nothing is prepared")
            return
        }
        let late = add(&core, 100)
        let isWithdrawn = core.withdraw(fire.token)
        if core.finish(&fire, 50, wasCalled: false) { fire.letGo() }
        let next_ns = core.exactPark().until_ns
        #expect(isWithdrawn && next_ns == 100)
        let all = fired(&core, at: 100)
        #expect(all == tokens + [late])
    }

    @Test("A call for which the thread spun a single nanosecond adds that nanosecond to the spin time")
    func shortestSpin() {
        var core = FiringCore(precision: .precise)
        _ = add(&core, 100)
        var fire = Fire()
        guard case .fire = core.poll(50, horizon_ns: 100, limit_ns: .max, &fire) else {
            Issue.record("nothing is prepared")
            return
        }
        if core.finish(&fire, 100, wasCalled: true, spun_ns: 1) { fire.letGo() }
        let spinTime = core.account.statistics.spinTime
        #expect(spinTime == .nanoseconds(1))
    }

    @Test("Timers of a group that is not served wait, and fire in order once it is served", arguments: [1, 200])
    func groups(count: Int) {
        var core = FiringCore(precision: .normal)
        let tokens = (0..<count).map { index in
            var request = TimerRequest()
            request.deadline_ns = Int64(100 - index % 7)
            request.group = 1
            return core.add(.handler { _ in }, request)
        }
        let served = add(&core, 100)
        let first = fired(&core, at: 100)
        #expect(first == [served])
        let firstExpired_ns = core.firstExpired_ns
        #expect(firstExpired_ns == .max)
        core.serve(1, true)
        let rest = fired(&core, at: 100)
        let expected = tokens.enumerated().sorted { (-($0.offset % 7), $0.offset) < (-($1.offset % 7), $1.offset) }
        #expect(rest == expected.map(\.element))
    }

    @Test("Removing or re-arming a timer taken from the core leaves the other expired ones intact", arguments: 1...3)
    func removedOutside(each step: Int) {
        var core = FiringCore(precision: .normal)
        let tokens = (0..<100).map { _ in core.add(deadline_ns: 100) }
        var given: [TimerToken] = []
        while case .expired(let entry) = core.next(upTo: 100) {
            given.append(entry.token)
            if given.count % step == 0 { core.remove(entry.token) } else { core.place(entry.token, 200) }
        }
        #expect(given == tokens)
        let count = core.count
        #expect(count == 100 - 100 / step)
    }

    @Test("A core created with the present time takes less than half the cascade steps of one without it")
    func told() {
        let now_ns: Int64 = 1_000_000_000_000_000
        func looks(_ core: inout FiringCore) -> Int {
            for index: Int64 in 0..<5_000 { _ = core.add(deadline_ns: now_ns + index * 2_000) }
            var looks = 0
            while true {
                switch core.next(upTo: now_ns + 10_000_000) {
                case .more: looks += 1
                case .expired: continue
                case .none: return looks
                }
            }
        }
        var told = FiringCore(precision: .normal, now_ns: now_ns)
        var withoutTime = FiringCore(precision: .normal)
        let (looksIfTold, looksIfNot) = (looks(&told), looks(&withoutTime))
        #expect(looksIfNot > 2 * looksIfTold)
    }

    @Test("Beside a timer that waits for its group all that are due are found, however many the queue must move")
    func movesBesideWaiting() {
        let now_ns: Int64 = 1_000_000_000_000_000
        var core = FiringCore(precision: .normal)
        let waiting = add(&core, 100)
        core.setGroup(1, of: waiting)
        core.expireAll(upTo: 100)
        for index: Int64 in 0..<5_000 { _ = core.add(deadline_ns: now_ns + index * 2_000) }
        var (found, looks, isDone) = (0, 0, false)
        while !isDone {
            switch core.next(upTo: now_ns + 10_000_000) {
            case .more: looks += 1
            case .expired: found += 1
            case .none: isDone = true
            }
        }
        #expect(found == 5_000)
        #expect(looks > 0)
    }

    @Test("Expired timers that move to ten groups, one by one, still fire in order")
    func manyGroups() {
        var core = FiringCore(precision: .normal)
        let tokens = (0..<10).map { _ in add(&core, 100) }
        core.serve(0, false)
        core.expireAll(upTo: 100)
        for (index, token) in tokens.enumerated() { core.setGroup(FiringGroup(index), of: token) }
        for group in 0..<10 { core.serve(FiringGroup(group), true) }
        let order = fired(&core, at: 100)
        #expect(order == tokens)
    }
}
