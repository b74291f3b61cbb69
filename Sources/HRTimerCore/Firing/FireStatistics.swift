#if os(Linux)
/// What a source, a display link or a sequence of ticks did. `EngineStatistics` has the same of all timers of an engine or a loop.
public struct FireStatistics: Sendable, Hashable {
    /// Calls of the handler; of a sequence, ticks that its consumers were given.
    public var fires: UInt64 = 0
    /// Nominal deadlines that had no call of their own.
    public var missedTicks: UInt64 = 0
    /// What late fires were made of, those beyond the least bound of `onLate(beyond:_:)`; none before somebody watches.
    public var lateness = LatenessStatistics()

    package init(fires: UInt64 = 0, missedTicks: UInt64 = 0, lateness: LatenessStatistics = LatenessStatistics()) {
        (self.fires, self.missedTicks, self.lateness) = (fires, missedTicks, lateness)
    }
}
#endif
