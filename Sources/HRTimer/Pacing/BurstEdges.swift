// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
/// Which elements of a burst pass a debounce or a throttle.
///
/// A debounced burst ends when nothing has come for the period. A throttled burst goes on for as long as each period has an
/// element. In the pictures each letter is an element, and the period is 3:
///
/// ```
/// elements            abcd----e---|
/// debounce, leading   a-------e---|    the first one at once
/// debounce, trailing  ------d----e|    the last one, when the burst is over
/// debounce, both      a-----d-e---|    both, if there is more than one
/// throttle, leading   a--d----e---|    one at once, and nothing for the rest of the period
/// throttle, trailing  ---c--d--e--|    the latest one at the end of each period
/// throttle, both      a--d----e---|    one at once, and the latest one at the end of each period
/// ```
///
/// An element that comes at the very end of a period, as the d does, belongs to the next period. With both edges of a
/// throttle it takes the place of the element that waited.
public enum BurstEdges: Sendable, Hashable, CaseIterable {
    /// At the start.
    case leading
    /// At the end.
    case trailing
    /// At the start and at the end.
    case both

    var hasLeading: Bool { self != .trailing }
    var hasTrailing: Bool { self != .leading }
}
#endif
