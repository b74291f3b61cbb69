#if os(Linux)
/// The counts of a source, display link or sequence of ticks. `EngineStatistics` has those of all timers of an engine or loop.
public struct FireStatistics: Sendable, Hashable {
    /// Calls of the handler; for a sequence, ticks that its consumers were given.
    public var fires: UInt64 = 0
    /// Nominal deadlines that had no call of their own.
    public var missedTicks: UInt64 = 0
    /// The causes of fires later than the least bound of `onLate(beyond:_:)`; empty until somebody watches.
    public var lateness = LatenessStatistics()

    package init(fires: UInt64 = 0, missedTicks: UInt64 = 0, lateness: LatenessStatistics = LatenessStatistics()) {
        (self.fires, self.missedTicks, self.lateness) = (fires, missedTicks, lateness)
    }
}
#endif
