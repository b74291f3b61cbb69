// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
/// What a repeating timer does about nominal deadlines that passed before it could fire.
///
/// Nominal deadlines form a grid: first deadline + k × interval, each rounded up to a nanosecond separately. So an interval
/// that is not a whole number of nanoseconds, for example `.seconds(1) / 48`, does not drift.
///
/// In the pictures `|` is a nominal deadline and `x` a call. In the first one the timer could not run between its second and
/// its fifth deadline, because something else occupied the thread:
///
///     deadlines    |    |    |    |    |    |    |
///     blocked          [----------------]
///     merge        x                    x   x    x     one call for all missed; the grid stays
///     mergeToGrid  x                    x   x    x     the same
///     burst        x                    xxxx x   x     every deadline gets its call, late ones at once
///     skip         x                        x    x     late by an interval or more: no call at all
///     delay        x                    x    x    x    the next deadline is one interval after the call ended
///
/// In the second one the timer's own first handler overran the interval, from `[` to `]`:
///
///     deadlines    |    |    |    |    |    |
///     handler      [-----------]
///     merge        x           x  x    x    x          called at once on return, with the count
///     mergeToGrid  x              x    x    x          the next point of the grid is waited for
///     burst        x           xx x    x    x          every deadline gets its call
///     skip         x              x    x    x          late by an interval or more: no call at all
///     delay        x               x    x    x         one interval after the return
public enum MissedTickPolicy: Sendable, Hashable, CaseIterable {
    /// One call for any number of missed deadlines, with their count; the next call is on the grid.
    ///
    /// A handler that overran its own interval is called again at once. The rule of GCD, and the default of `TimerEngine` and
    /// `TimerSource`.
    case merge
    /// As `merge`, but a handler that overran its own interval is next called at the first point of the grid after its return,
    /// with the count of those that passed.
    ///
    /// The rule of `NSTimer`, and the default of `LoopTimer`.
    case mergeToGrid
    /// One call for each deadline, the missed ones one after another without waiting.
    ///
    /// The rule of `AsyncTimerSequence`.
    ///
    /// A timer that cannot keep up does not starve the others. A timer whose deadline comes waits for the handler that is
    /// running, and for one call of each burst that is behind, however far behind it is. In a loop it waits for the pass that
    /// is under way, and for one call of each burst in its own pass.
    case burst
    /// A call that would be late by an interval or more is left out, and its count is added to the next call's.
    ///
    /// Those who watch lateness (`onLate`, the flight recorder) are told of it.
    case skip
    /// The next deadline is one interval after the handler returned: the pauses are even, the grid drifts by design.
    case delay
}

/// A place in a sequence of ticks, which a policy moves: on a grid, or among dates.
protocol TickPlace {
    /// Ticks without a call since the last call, for the next one to report.
    var unreported: Int { get set }

    /// Goes on to the next tick.
    mutating func advance()

    /// Has no tick until `restart`.
    mutating func pause()

    /// Goes on to the first tick after a handler that has returned at `now_ns`, by which a new grid begins.
    mutating func restart(at now_ns: Int64)

    /// Whether the tick has come.
    func hasCome(by now_ns: Int64) -> Bool

    /// Goes on from a tick that has come to the first one that has not. Returns how many lie between.
    mutating func pass(_ now_ns: Int64) -> Int
}

extension MissedTickPolicy {
    /// Decides about a tick that has come, at the instant of the call. Returns how many ticks the call is to report beside its own,
    /// or nil if the tick is left out. Afterwards `place` has the next tick, which holds unless `end` changes it.
    func begin(_ place: inout some TickPlace, now_ns: Int64) -> Int? {
        let reported = place.unreported
        place.unreported = 0
        switch self {
        case .merge, .mergeToGrid:
            return reported.addingSaturating(place.pass(now_ns))
        case .burst:
            place.advance()
            return reported
        case .skip:
            let missed = place.pass(now_ns)
            if missed == 0 { return reported }
            place.unreported = reported.addingSaturating(missed).addingSaturating(1)
            return nil
        case .delay:
            place.pause()
            return reported
        }
    }

    /// Decides about the next tick when the handler has returned at `now_ns`.
    func end(_ place: inout some TickPlace, now_ns: Int64) {
        switch self {
        case .mergeToGrid:
            guard place.hasCome(by: now_ns) else { return }
            let missed = place.pass(now_ns)
            place.unreported = place.unreported.addingSaturating(missed).addingSaturating(1)
        case .delay:
            place.restart(at: now_ns)
        case .merge, .burst, .skip: break
        }
    }

    /// Whether the interval begins when the handler returns, and no grid stays.
    package var countsFromReturn: Bool { self == .delay }
}

extension Int {
    fileprivate func addingSaturating(_ other: Int) -> Int { Int(Int64(self).addingSaturating(Int64(other))) }
}
#endif
