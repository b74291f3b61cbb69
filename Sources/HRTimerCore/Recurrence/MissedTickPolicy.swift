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
    /// One call for any number of missed deadlines, with their count; the next call is on the grid. A handler that overran
    /// its own interval is called again at once. The rule of GCD, and the default of `TimerEngine` and `TimerSource`.
    case merge
    /// As `merge`, but a handler that overran its own interval is next called at the first point of the grid after its return,
    /// with the count of those that passed. The rule of `NSTimer`, and the default of `LoopTimer`.
    case mergeToGrid
    /// One call for each deadline, the missed ones one after another without waiting. The rule of `AsyncTimerSequence`.
    ///
    /// A timer that cannot keep up does not starve the others. A timer whose deadline comes waits for the handler that is
    /// running, and for one call of each burst that is behind, however far behind it is. In a loop it waits for the pass that
    /// is under way, and for one call of each burst in its own pass.
    case burst
    /// A call that would be late by an interval or more is left out, and its count is added to the next call's. Those who watch
    /// lateness (`onLate`, the flight recorder) are told of it.
    case skip
    /// The next deadline is one interval after the handler returned: the pauses are even, the grid drifts by design.
    case delay
}

// What `Recurrence` and the faces ask about a policy: they do not tell the policies apart by name. Each answer is a bit of a
// mask in the code, whereas a switch with five ways in a fire would read a table in another page.
extension MissedTickPolicy {
    /// Whether the return of the handler takes part in deciding the next deadline.
    package var decidesAtReturn: Bool {
        switch self {
        case .mergeToGrid, .delay: true
        case .merge, .burst, .skip: false
        }
    }

    /// Whether there is no next deadline before the handler returns: the interval begins at the return, and no grid stays.
    package var countsFromReturn: Bool {
        switch self {
        case .delay: true
        case .merge, .mergeToGrid, .burst, .skip: false
        }
    }

    /// Whether each nominal deadline gets a call of its own.
    var callsForEach: Bool {
        switch self {
        case .burst: true
        case .merge, .mergeToGrid, .skip, .delay: false
        }
    }

    /// Whether a call that is late by an interval or more is left out.
    var leavesOutLate: Bool {
        switch self {
        case .skip: true
        case .merge, .mergeToGrid, .burst, .delay: false
        }
    }
}
#endif
