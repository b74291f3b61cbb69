/// What a repeating timer does about nominal deadlines that passed before it could fire.
///
/// Nominal deadlines form a grid: first deadline + k × interval. In the pictures `|` is a nominal deadline, `x` a call,
/// and the timer could not run between the second and the fifth deadline:
///
///     deadlines  |    |    |    |    |    |    |
///     blocked        [----------------]
///     merge      x                    x   x    x      one call for all missed; the grid stays
///     burst      x                    xxxx x    x      every deadline gets its call, late ones at once
///     skip       x                        x    x      late by an interval or more: no call at all
///     delay      x                    x    x    x     the next deadline is one interval after the call ended
public enum MissedTickPolicy: Sendable, Hashable, CaseIterable {
    /// One call for any number of missed deadlines, with their count; the next call is on the grid. The rule of `NSTimer`
    /// and of GCD.
    case merge
    /// One call for each deadline, the missed ones one after another without waiting. The rule of `AsyncTimerSequence`.
    case burst
    /// A call that would be late by an interval or more is left out; its count is added to the next call's.
    case skip
    /// The next deadline is one interval after the handler returned: the pauses are even, the grid drifts by design.
    case delay
}
