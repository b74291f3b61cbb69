// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing

@testable import HRTimerCore

/// A core's steps, one by one. The tests pass the time in and play both sides: the thread, which takes due timers, prepares calls
/// and makes them or finds them withdrawn, and other threads, which change the same state meanwhile.
@Suite struct FiringStepTests {
    private static let deadline_ns: Int64 = 1_000_000

    /// When the thread is awake for the deadline: 50 µs before it.
    private static let ahead_ns: Int64 = deadline_ns - 50_000

    /// A core that nobody else uses, as if its engine's lock were held.
    private struct Engine: ~Copyable {
        var state: FiringCore
        private var isCommitted = false
        private var names: [TimerToken: String] = [:]

        init(_ precision: TimerPrecision = .precise) {
            state = FiringCore(precision: precision, now_ns: 0)
        }

        @discardableResult
        mutating func add(
            _ name: String,
            _ deadline_ns: Int64,
            every interval_ns: Int64? = nil,
            policy: MissedTickPolicy = .merge
        ) -> TimerToken {
            var request = TimerRequest()
            request.deadline_ns = deadline_ns
            request.repetition = Recurrence(every: interval_ns.map { .nanoseconds($0) }, policy: policy)
            let token = state.add(.handler { _ in }, request)
            names[token] = name
            return token
        }

        mutating func add(_ owner: Owner) -> TimerToken {
            var request = TimerRequest()
            request.isOwned = true
            let token = state.add(.owner(owner), request)
            names[token] = "owner"
            return token
        }

        /// Returns the next call at `now_ns`, prepared ahead for deadlines up to `upTo_ns`; nil if the thread parks.
        mutating func call(at now_ns: Int64, upTo upTo_ns: Int64 = .min) -> Fire? {
            var call = Fire()
            while true {
                switch state.poll(now_ns, horizon_ns: upTo_ns, limit_ns: .max, &call) {
                case .again: continue
                case .fire: return call
                case .park: return nil
                case .ended: return nil
                }
            }
        }

        /// Returns until when the thread parks; nil if a timer is due.
        mutating func sleep(at now_ns: Int64) -> Park? {
            var call = Fire()
            while true {
                switch state.poll(now_ns, horizon_ns: .min, limit_ns: .max, &call) {
                case .again: continue
                case .park(let park): return park
                case .fire: return nil
                case .ended: return nil
                }
            }
        }

        func name(_ call: borrowing Fire) -> String { names[call.token] ?? "?" }

        /// Makes all calls at `now_ns`, one after the other. Returns the names of their timers with the missed ticks reported.
        mutating func calls(at now_ns: Int64) -> [String] {
            var all: [String] = []
            while let call = call(at: now_ns) {
                all.append("\(name(call)) \(call.missedTicks)")
                end(call, at: now_ns)
            }
            return all
        }

        mutating func end(_ call: consuming Fire, at now_ns: Int64) {
            if state.finish(&call, now_ns, wasCalled: !call.isBeforeDeadline || isCommitted) { call.letGo() }
            isCommitted = false
        }

        /// Commits the prepared call, as the thread does at its deadline. Returns false if it was withdrawn.
        mutating func commit() -> Bool {
            let isCommittedNow = state.commit.commit()
            isCommitted = isCommitted || isCommittedNow
            return isCommittedNow
        }

        /// Returns the next call at `now_ns`; throws if there is none.
        mutating func dueCall(at now_ns: Int64) throws -> Fire {
            guard let call = call(at: now_ns) else { throw NoCall() }
            return call
        }

        /// Prepares the next call ahead of its deadline, as a thread does that has woken for it.
        mutating func callAhead() throws -> Fire {
            let call = call(at: FiringStepTests.ahead_ns, upTo: FiringStepTests.deadline_ns)
            guard let call, call.isBeforeDeadline else { throw NoCall() }
            return call
        }

        /// Prepares a call ahead for a repeating timer whose previous call overran by two intervals: it reports two missed ticks.
        mutating func callAheadAfterOverrun() throws -> Fire {
            add("one", deadline_ns - 300_000, every: 100_000, policy: .mergeToGrid)
            let overrunning = try dueCall(at: deadline_ns - 300_000)
            end(overrunning, at: deadline_ns - 50_000)
            return try callAhead()
        }
    }

    private struct NoCall: Error {}

    /// An owner of a timer, as a source is. Its only state is a record of the times that it was told.
    private final class Owner: TimerOwner {
        let told = Recorder<Int64>()

        func prepare(_ now_ns: Int64, _ core: inout FiringCore, _ fire: inout Fire) -> Bool {
            told.append(now_ns)
            fire.callback = Callback {}
            return true
        }

        func finish(wasCalled: Bool, _ now_ns: Int64, _ core: inout FiringCore, _ fire: inout Fire) {}

        func coreHasEnded() {}
    }

    @Test("A call prepared ahead is committed at its deadline, and is finished after it was made")
    func made() throws {
        var engine = Engine()
        engine.add("one", Self.deadline_ns)
        let call = try engine.callAhead()
        let hasBegun = engine.commit()
        engine.end(call, at: Self.deadline_ns)
        #expect(hasBegun && engine.state.account.statistics.fires == 1)
        #expect(engine.state.count == 0)
        // After a call the thread is awake.
        let next = engine.add("next", Self.deadline_ns - 1)
        let isWoken = engine.state.mustWake(for: next, Self.deadline_ns - 1, Self.deadline_ns)
        let rest = engine.calls(at: Self.deadline_ns)
        #expect(!isWoken && rest == ["next 0"])
    }

    @Test("A withdrawn timer is called at its deadline in its former order, and counts as a fire only then")
    func withdrawn() throws {
        var engine = Engine()
        let first = engine.add("first", Self.deadline_ns)
        engine.add("second", Self.deadline_ns)
        let call = try engine.callAhead()
        let (mine, again) = (engine.state.withdraw(first), engine.state.withdraw(first))
        #expect(mine && !again)
        let hasBegun = engine.commit()
        engine.end(call, at: Self.ahead_ns)
        #expect(!hasBegun && engine.state.account.statistics.fires == 0)
        let calls = engine.calls(at: Self.deadline_ns)
        #expect(calls == ["first 0", "second 0"])
        #expect(engine.state.account.statistics.fires == 2)
    }

    @Test("Changing another timer does not withdraw a prepared call")
    func otherTimer() throws {
        var engine = Engine()
        engine.add("one", Self.deadline_ns)
        let other = engine.add("other", Self.deadline_ns + 1)
        let call = try engine.callAhead()
        let mustWake = engine.state.reschedule(other, to: ExactInstant(Self.deadline_ns + 2), Self.ahead_ns)
        let hasBegun = engine.commit()
        #expect(mustWake == false && hasBegun)
        engine.end(call, at: Self.deadline_ns)
    }

    @Test("The missed ticks that a withdrawn call would have reported are reported by the next call")
    func unreportedTicks() throws {
        var engine = Engine()
        let call = try engine.callAheadAfterOverrun()
        #expect(call.missedTicks == 2)
        let isWithdrawn = engine.state.withdraw(call.token)
        engine.end(call, at: Self.ahead_ns)
        let calls = engine.calls(at: Self.deadline_ns)
        #expect(isWithdrawn && calls == ["one 2"])
        #expect(engine.state.account.statistics.missedTicks == 2)
    }

    @Test("A timer that is armed again while its call is prepared forgets the ticks missed before")
    func armedAnewAhead() throws {
        var engine = Engine()
        let call = try engine.callAheadAfterOverrun()
        let mustWake = engine.state.reschedule(call.token, to: ExactInstant(Self.deadline_ns + 500), Self.ahead_ns)
        engine.end(call, at: Self.ahead_ns)
        let calls = engine.calls(at: Self.deadline_ns + 500)
        #expect(mustWake == true && calls == ["one 0"])
    }

    @Test("An earlier deadline withdraws a prepared call, sends one wake, and is itself called first, prepared ahead")
    func earlierOne() throws {
        var engine = Engine()
        engine.add("late", Self.deadline_ns)
        let call = try engine.callAhead()
        let wakes = ([0, 10, 20] as [Int64]).map { before_ns in
            let timer = engine.add("early \(before_ns)", Self.deadline_ns - before_ns)
            return engine.state.mustWake(for: timer, Self.deadline_ns - before_ns, Self.ahead_ns)
        }
        #expect(wakes == [false, true, false])
        #expect(engine.state.account.statistics.wakesSent == 1)
        engine.end(call, at: Self.ahead_ns)
        let next = try engine.callAhead()
        let name = engine.name(next)
        let isCommitted = engine.commit()
        #expect(isCommitted && name == "early 20")
        engine.end(next, at: Self.deadline_ns - 20)
        let rest = engine.calls(at: Self.deadline_ns)
        #expect(rest == ["early 10 0", "late 0", "early 0 0"])
    }

    @Test("An earlier deadline sends no wake once a call is committed: the thread polls again after the call")
    func begun() throws {
        var engine = Engine()
        let late = engine.add("late", Self.deadline_ns)
        let call = try engine.callAhead()
        let hasBegun = engine.commit()
        let early = engine.add("early", Self.deadline_ns - 10)
        let mustWake = engine.state.mustWake(for: early, Self.deadline_ns - 10, Self.deadline_ns)
        let isWithdrawn = engine.state.withdraw(late)
        #expect(hasBegun && !mustWake && !isWithdrawn)
        #expect(engine.state.account.statistics.wakesSent == 0)
        engine.end(call, at: Self.deadline_ns)
        let rest = engine.calls(at: Self.deadline_ns)
        #expect(rest == ["early 0"])
    }

    @Test("Until a prepared call is committed, cancel prevents it and wakes the thread that waits for it")
    func cancelled() throws {
        for hasBegun in [false, true] {
            var engine = Engine()
            let timer = engine.add("one", Self.deadline_ns)
            let call = try engine.callAhead()
            if hasBegun { _ = engine.commit() }
            let cancelled = engine.state.cancel(timer)
            #expect(cancelled.wasPending == !hasBegun)
            #expect(cancelled.mustWake == !hasBegun)
            let begins = engine.commit()
            #expect(!begins)
            engine.end(call, at: Self.deadline_ns)
            let rest = engine.calls(at: Self.deadline_ns)
            #expect(rest.isEmpty)
            #expect(engine.state.account.statistics.fires == (hasBegun ? 1 : 0))
        }
    }

    @Test("Cancel returns true for a timer whose prepared call an earlier deadline has withdrawn")
    func cancelledAfterWithdrawal() throws {
        var engine = Engine()
        let late = engine.add("late", Self.deadline_ns)
        let call = try engine.callAhead()
        let early = engine.add("early", Self.deadline_ns - 10)
        let mustWake = engine.state.mustWake(for: early, Self.deadline_ns - 10, Self.ahead_ns)
        let cancelled = engine.state.cancel(late)
        let begins = engine.commit()
        #expect(mustWake && cancelled.wasPending && !begins)
        engine.end(call, at: Self.ahead_ns)
        let calls = engine.calls(at: Self.deadline_ns)
        #expect(calls == ["early 0"])
    }

    @Test("An owner withdraws a prepared call, and wakes the thread, by moving the deadline either way or clearing it")
    func ownersAction() throws {
        for deadline_ns in [Self.deadline_ns - 10, Self.deadline_ns, Self.deadline_ns + 10, .max] {
            var engine = Engine()
            let timer = engine.add(Owner())
            let isWokenFirst = engine.state.arm(
                timer,
                Self.deadline_ns,
                TimerOptions(tolerance_ns: 0),
                0
            )
            let call = try engine.callAhead()
            let isWoken = engine.state.arm(
                timer,
                deadline_ns,
                TimerOptions(tolerance_ns: 0),
                Self.ahead_ns
            )
            let begins = engine.commit()
            #expect(!isWokenFirst && isWoken && !begins, "\(deadline_ns)")
            engine.end(call, at: Self.ahead_ns)
            let wake = engine.sleep(at: Self.ahead_ns)
            #expect(wake?.until_ns == deadline_ns)
        }
    }

    @Test("An owner is told the deadline if its call is prepared ahead, and the clock's reading if it is late")
    func ownersTime() throws {
        var engine = Engine()
        let owner = Owner()
        let timer = engine.add(owner)
        _ = engine.state.arm(timer, Self.deadline_ns, TimerOptions(tolerance_ns: 0), 0)
        let ahead = try engine.callAhead()
        _ = engine.commit()
        engine.end(ahead, at: Self.deadline_ns)
        _ = engine.state.arm(
            timer,
            Self.deadline_ns + 10,
            TimerOptions(tolerance_ns: 0),
            Self.deadline_ns
        )
        let late = try engine.dueCall(at: Self.deadline_ns + 30)
        engine.end(late, at: Self.deadline_ns + 30)
        #expect(owner.told.all == [Self.deadline_ns, Self.deadline_ns + 30])
    }

    @Test("An owner's tolerance counts on a coalesced engine; on others its timer is due at the deadline")
    func ownersWindow() {
        for (precision, at_ns) in [(.coalesced, 5100), (.normal, 5000), (.precise, 5000)] as [(TimerPrecision, Int64)] {
            var engine = Engine(precision)
            let timer = engine.add(Owner())
            for deadline_ns in [4000, 5000] as [Int64] {
                _ = engine.state.arm(timer, deadline_ns, TimerOptions(tolerance_ns: 100), 0)
            }
            let wake = engine.sleep(at: 1000)
            #expect(wake?.until_ns == at_ns, "\(precision)")
        }
    }

    @Test("A tolerance counts only up to half the interval, also after a move")
    func newTolerance() {
        var engine = Engine(.coalesced)
        let timer = engine.add("one", 2000, every: 100)
        engine.state.setOptions(TimerOptions(tolerance_ns: 1000), for: timer)
        let mustWake = engine.state.reschedule(timer, to: ExactInstant(5000), 0)
        let wake = engine.sleep(at: 1000)
        #expect(mustWake != nil && wake?.until_ns == 5050)
    }

    @Test("After the core has ended, an owner's deadline has no effect, and nothing is called")
    func ended() throws {
        var engine = Engine()
        let timer = engine.add(Owner())
        engine.add("one", Self.deadline_ns)
        let call = try engine.callAhead()
        let timers = engine.state.end()
        let begins = engine.commit()
        engine.end(call, at: Self.ahead_ns)
        let isWoken = engine.state.arm(timer, 2 * Self.deadline_ns, TimerOptions(tolerance_ns: 0), 0)
        let next_ns = engine.state.exactPark().until_ns
        #expect(!begins && !isWoken && next_ns == .max)
        let next = engine.call(at: Self.deadline_ns)
        let hasNext = next != nil
        #expect(!hasNext)
        _ = consume timers
    }

    @Test("A timer armed for the past is late from its arming, or from the latest poll if the thread is awake")
    func lateFrom() throws {
        var engine = Engine(.normal)
        let owner = engine.add(Owner())
        let wake = engine.sleep(at: 1000)
        #expect(wake?.until_ns == .max)
        let asleep = engine.add("asleep", 500)
        let isWoken = engine.state.mustWake(for: asleep, 500, 5000)
        let first = try engine.dueCall(at: 6000)
        #expect(isWoken && first.lateFrom_ns == 5000)
        let awake = engine.add("awake", 500)
        let isWokenAgain = engine.state.mustWake(for: awake, 500, 7000)
        let isWokenForOwner = engine.state.arm(owner, 501, TimerOptions(tolerance_ns: 0), 7000)
        #expect(!isWokenAgain && !isWokenForOwner)
        engine.end(first, at: 8000)
        let second = try engine.dueCall(at: 8000)
        #expect(second.lateFrom_ns == 6000)
        engine.end(second, at: 8000)
        let third = try engine.dueCall(at: 8000)
        #expect(third.lateFrom_ns == 6000)
        engine.end(third, at: 8000)
    }

    @Test("A thread that has begun to poll needs no wake, also between calls")
    func awake() throws {
        var engine = Engine(.normal)
        engine.add("one", 5000)
        engine.add("two", 5000)
        _ = engine.sleep(at: 1000)
        engine.state.wakeUp()
        for _ in 0..<2 {
            let call = try engine.dueCall(at: 5000)
            let timer = engine.add("now", 100)
            let isWoken = engine.state.mustWake(for: timer, 100, 5000)
            #expect(!isWoken)
            engine.end(call, at: 5000)
            let isWokenAfter = engine.state.mustWake(for: timer, 100, 5000)
            #expect(!isWokenAfter)
        }
        #expect(engine.state.account.statistics.wakesSent == 0)
    }

    @Test("A timer that takes another's slot inherits neither its missed ticks nor its owner")
    func placeOfAnother() throws {
        var engine = Engine(.normal)
        let overrunning = engine.add("overrunning", 1000, every: 1000, policy: .mergeToGrid)
        let call = try engine.dueCall(at: 1000)
        engine.end(call, at: 5500)
        _ = engine.state.cancel(overrunning)
        let fresh = engine.add("fresh", 6000)
        #expect(fresh.slot == overrunning.slot)
        let calls = engine.calls(at: 6000)
        #expect(calls == ["fresh 0"])
        let owned = engine.add(Owner())
        _ = engine.state.cancel(owned)
        let free = engine.add("free", 7000)
        #expect(free.slot == owned.slot)
        let rest = engine.calls(at: 7000)
        #expect(rest == ["free 0"])
        #expect(engine.state.count == 0)
    }

    @Test("A timer that is armed again forgets the ticks missed before")
    func armedAnew() throws {
        var engine = Engine(.normal)
        let timer = engine.add("one", 1000, every: 1000, policy: .mergeToGrid)
        let call = try engine.dueCall(at: 1000)
        engine.end(call, at: 5500)
        let mustWake = engine.state.reschedule(timer, to: ExactInstant(6500), 5500)
        let calls = engine.calls(at: 6500)
        #expect(mustWake != nil && calls == ["one 0"])
    }
}
