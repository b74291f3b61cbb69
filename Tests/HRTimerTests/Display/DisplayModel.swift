// SPDX-License-Identifier: Apache-2.0
import HRTimerCore

@testable import HRTimer

/// A model of what the links of one display should do, which counts refresh by refresh.
final class DisplayModel {
    /// The next expected call.
    struct Due {
        let number: Int64
        let call_ns: Int64
    }

    struct Link {
        var interval: Int64 = 1
        var lead_ns: Int64?
        var isPaused = false
        /// The loop's name; nil if the link is in no loop.
        var loop: Int?
        var modes: Set<Int> = []
        var called: Int64?
        /// How often the link had rested by its latest call.
        var rests = 0
        /// The latest dropped refresh, which gets no call any more.
        var lost = Int64.min
        var due: Due?
        /// The first refresh that counts as dropped if it gets no call.
        var counted: Int64 = 0
        var calls = 0
        var dropped = 0
        /// Whether the loop ran in other modes since `due` was determined, so that possibly no dropped refresh is counted.
        var isExcused = false
        /// The latest call, and how many refreshes were dropped by then; nil if a change since then affects the calls.
        var since: (number: Int64, dropped: Int)?
    }

    /// What a call should report.
    struct Reported {
        let number: Int64
        let target: Int64
        /// How many of the dropped refreshes may remain uncounted.
        let excused: Int
    }

    var links: [Int: Link] = [:]
    /// Returns the instant of a refresh, past or future.
    var instant_ns: (Int64) -> Int64 = { _ in .max }
    /// The latest refresh that has passed.
    private(set) var latest: Int64 = 0

    func pass(_ now_ns: Int64) {
        while instant_ns(latest + 1) <= now_ns { latest += 1 }
    }

    /// Returns the first refresh after `number` that is a multiple of the interval.
    func following(_ number: Int64, _ interval: Int64) -> Int64 {
        var next = number + 1
        while next % interval != 0 { next += 1 }
        return next
    }

    /// Returns the first refresh whose call is still to come. With a lead it is the first one whose frame ends more than the lead
    /// after `now_ns`.
    private func next(_ link: Link, _ now_ns: Int64) -> Int64 {
        guard let lead_ns = link.lead_ns else { return following(latest, link.interval) }
        var end = following(latest, link.interval)
        while instant_ns(end) <= now_ns + lead_ns { end += link.interval }
        return end - link.interval
    }

    func resolveNextCall(_ name: Int, _ now_ns: Int64) {
        guard var link = links[name] else { return }
        link.due = nil
        if link.loop != nil, !link.isPaused {
            var number = next(link, now_ns)
            let over = max(link.called ?? .min, link.lost)
            if number <= over { number = following(over, link.interval) }
            let end_ns = instant_ns(following(number, link.interval))
            let call_ns = link.lead_ns.map { max(instant_ns(number), end_ns - $0) } ?? instant_ns(number)
            link.due = Due(number: number, call_ns: call_ns)
            link.counted = number
        }
        links[name] = link
    }

    /// Determines the next call again after a change. A call that is due stays due.
    func change(_ name: Int, _ now_ns: Int64) {
        guard let link = links[name] else { return }
        if !link.isPaused, let due = link.due, due.call_ns <= now_ns, due.number > link.called ?? .min { return }
        resolveNextCall(name, now_ns)
    }

    func changeAll(_ now_ns: Int64) {
        for name in links.keys { change(name, now_ns) }
    }

    func isDue(_ link: Link, _ now_ns: Int64) -> Bool { link.due.map { $0.call_ns <= now_ns } ?? false }

    /// Returns the names of the links that a pass of a loop in a mode should call.
    func due(_ loop: Int, _ mode: Int, _ now_ns: Int64) -> Set<Int> {
        Set(links.filter { $0.value.loop == loop && $0.value.modes.contains(mode) && isDue($0.value, now_ns) }.keys)
    }

    /// Begins a call and returns what it should report; returns nil if there should be no call.
    func beginCall(_ name: Int, _ now_ns: Int64) -> Reported? {
        guard var link = links[name], let due = link.due, due.call_ns <= now_ns else { return nil }
        defer { links[name] = link }
        let frameEnd = following(due.number, link.interval)
        var reported = Reported(number: due.number, target: frameEnd, excused: 0)
        if now_ns >= instant_ns(link.lead_ns == nil ? due.number + 1 : frameEnd) {
            let next = next(link, now_ns)
            let number = link.lead_ns == nil ? latest : next - link.interval
            let dropped = Int(max(0, (number - due.number) / link.interval))
            reported = Reported(number: number, target: next, excused: link.isExcused ? dropped : 0)
            if number <= link.called ?? .min {
                // There is no frame left for which the link could be called.
                link.dropped += 1
                link.lost = due.number
                return nil
            }
            link.dropped += dropped
        }
        link.isExcused = false
        link.called = reported.number
        link.counted = reported.target
        link.calls += 1
        link.due = nil
        return reported
    }

    func endCall(_ name: Int, _ now_ns: Int64) {
        guard let link = links[name] else { return }
        if !link.isPaused {
            let next = next(link, now_ns)
            if next - link.counted >= link.interval {
                links[name]?.dropped += Int((next - link.counted) / link.interval)
                links[name]?.lost = next - link.interval
            }
        }
        resolveNextCall(name, now_ns)
    }
}

/// The refreshes of a virtual display. Each is computed exactly from the last change of the rate, whose instant is rounded up to an
/// attosecond, and is rounded up to a nanosecond.
final class ExactRefreshes {
    private var past_ns: [Int64]
    /// The refresh at the last change of the rate.
    private var first: Int64 = 0
    private var first_as: Int128
    private var rate: FrameRate
    /// The exact instant of the latest refresh if it was taken from the source; otherwise nil.
    private var told_as: Int128?

    init(_ rate: FrameRate, from start_ns: Int64) {
        past_ns = [start_ns]
        first_as = Int128(start_ns) * 1_000_000_000
        self.rate = rate
    }

    private func instant_as(_ number: Int64) -> Int128 {
        let (whole, rest) = (Int128(number - first) * Int128(rate.denominator) * 1_000_000_000_000_000_000)
            .quotientAndRemainder(dividingBy: Int128(rate.numerator))
        return first_as + (rest > 0 ? whole + 1 : whole)
    }

    func instant_ns(_ number: Int64) -> Int64 {
        if number < past_ns.count { return past_ns[Int(number)] }
        return Int64((instant_as(number) + 999_999_999) / 1_000_000_000)
    }

    func pass(_ now_ns: Int64) {
        while instant_ns(Int64(past_ns.count)) <= now_ns { past_ns.append(instant_ns(Int64(past_ns.count))) }
    }

    /// Passes refreshes at the instants that the source reports, for rates that came and went at one instant.
    func pass(_ now_ns: Int64, told: (Int64) -> ExactInstant) {
        while true {
            let instant = told(Int64(past_ns.count))
            if instant.rounded_ns > now_ns { return }
            past_ns.append(instant.rounded_ns)
            told_as = Int128(instant.rounded_ns) * 1_000_000_000 - Int128(instant.roundedUp_as)
        }
    }

    /// Changes the rate from the latest refresh on, which must have been passed.
    func setRate(_ rate: FrameRate) {
        let latest = Int64(past_ns.count) - 1
        (first, first_as) = (latest, told_as ?? instant_as(latest))
        told_as = nil
        self.rate = rate
    }
}
