// SPDX-License-Identifier: Apache-2.0
import HRTimerTesting
import TestSupport

@testable import HRTimer

/// The checks of calls.
extension DisplayPlay {
    func check(_ name: Int, _ link: DisplayLink) {
        guard let model = model.links[name] else { return }
        let statistics = link.statistics
        if statistics.fires != UInt64(model.calls) {
            differ("\(statistics.fires) calls of \(name), not \(model.calls)")
        }
        if !isLearnt, statistics.missedTicks != UInt64(model.dropped) {
            differ("\(statistics.missedTicks) dropped of \(name), not \(model.dropped)")
        }
        if link.isInLoop != (model.loop != nil) { differ("\(name) is in a loop: \(link.isInLoop)") }
    }

    /// Whether the link went without calls by intent since its latest call.
    private func hasRested(_ name: Int, _ reported: LinkState.Reported) -> Bool {
        reported.rests != model.links[name]?.rests
    }

    func calls(_ name: Int, _ link: DisplayLink) {
        let now_ns = time.now.nanoseconds
        if isLearnt { return callsOfLearnt(name, link, now_ns) }
        let (before, due) = (model.links[name]?.called, model.links[name]?.due)
        guard expected.contains(name), called.insert(name).inserted, let should = model.beginCall(name, now_ns) else {
            return differ("a call of \(name) that should not be")
        }
        let reported = link.withState { $0.reported }
        let isDroppedOnly = reported.number == should.number
        guard isDroppedOnly else {
            return differ("\(name) was called for \(reported.number ?? -1), not \(should.number)")
        }
        if reported.timestamp_ns != instant_ns(should.number) {
            differ("\(name) tells another instant of \(should.number)")
        }
        if reported.target_ns != instant_ns(should.target) {
            differ("\(name) tells another target at \(should.number)")
        }
        if now_ns < instant_ns(should.number) { differ("\(name) is early") }
        if let before, let before_ns = past_ns[before] {
            let passed_ns = hasRested(name, reported) ? 0 : instant_ns(should.number) - before_ns
            if reported.delta_ns != passed_ns {
                differ("\(name): delta is \(reported.delta_ns), and \(passed_ns) passed")
            }
        }
        model.links[name]?.rests = reported.rests
        excuse(name, link, should)
        calls += 1
        // The call came later than in the refresh at which it was due.
        if let due, should.number > due.number { lateCalls += 1 }
        if mayBeSlow { actInside(name, link) }
    }

    /// Checks a call on a learnt display. Its time depends on the answers of the driver; what it reports does not.
    func callsOfLearnt(_ name: Int, _ link: DisplayLink, _ now_ns: Int64) {
        let reported = link.withState { $0.reported }
        guard let number = reported.number, let told_ns = reported.timestamp_ns, let state = model.links[name] else {
            return
        }
        if told_ns != instant_ns(number) { differ("\(name) tells another instant of \(number)") }
        if now_ns < told_ns { differ("\(name) is early") }
        if let before = state.called {
            if number <= before { differ("\(name) was called for \(number) after \(before)") }
            let hasRested = hasRested(name, reported)
            if let before_ns = past_ns[before], reported.delta_ns != (hasRested ? 0 : told_ns - before_ns) {
                differ("\(name) tells another delta")
            }
        }
        if state.isPaused || state.loop == nil { differ("a call of \(name) that should not be") }
        if reported.target_ns != instant_ns(model.following(number, state.interval)) {
            differ("\(name) tells another target at \(number)")
        }
        checkConservation(name, state, number, link.droppedFrames)
        called.insert(name)
        calls += 1
        if let due = state.due, number > due.number { lateCalls += 1 }
        model.links[name]?.called = number
        model.links[name]?.rests = reported.rests
        model.links[name]?.calls += 1
        if kind == .surface { source.willCommit() }
        if mayBeSlow { actInside(name, link) }
    }

    /// Checks that the multiples of the link's interval from one call to the next were counted as dropped.
    func checkConservation(_ name: Int, _ state: DisplayModel.Link, _ number: Int64, _ dropped: Int) {
        if let since = state.since {
            // A late call is for the latest refresh, and takes the place of a multiple of the interval.
            let passed = Int(number / state.interval - since.number / state.interval) - 1
            let counted = dropped - since.dropped
            // With a lead, a frame whose end moves nearer may have lost its call though neither loop nor handler was busy.
            let uncounted = state.isExcused ? passed : state.lead_ns == nil ? 0 : 1
            if counted > passed || counted < passed - uncounted {
                differ("\(name) dropped \(counted) from \(since.number) to \(number), not \(passed)")
            }
            conserved += passed
        }
        model.links[name]?.since = (number, dropped)
        model.links[name]?.isExcused = false
    }

    /// Forgets the latest call after a change that affects the calls: until the next one the link may have had other refreshes.
    func beginAnew(_ name: Int) { model.links[name]?.since = nil }

    func excuse(_ name: Int, _ link: DisplayLink, _ should: DisplayModel.Reported) {
        guard !isLearnt, should.excused > 0, let most = model.links[name]?.dropped else { return }
        let dropped = link.droppedFrames
        if dropped > most || dropped < most - should.excused {
            differ("\(dropped) dropped of \(name), \(most) at most")
        }
        model.links[name]?.dropped = dropped
    }

    /// Acts at random inside a handler. No other link is due, so that only one order of the effects is possible.
    func actInside(_ name: Int, _ link: DisplayLink) {
        switch Int.random(in: 0..<30, using: &random) {
        case 0: pause(name, link)
        case 1: request(name, link)
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
