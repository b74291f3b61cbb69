#if os(Linux)
public import HRTimerCore

/// What a `TimerSource` did since its statistics were asked for.
public struct SourceStatistics: Sendable {
    /// Calls of the event handler.
    public let fires: UInt64
    /// Nominal deadlines without a call of their own.
    public let missedTicks: UInt64
    /// How late the handler was called, counted from the nominal deadline that the call was due for.
    public let lateness: LatencyHistogram
}

/// Counts the calls of one source. Calls of a source never overlap, so that there is one writer at a time.
final class SourceAccount: Sendable {
    private struct Counts: Sendable {
        var fires: UInt64 = 0
        var missedTicks: UInt64 = 0
    }

    private let counts = Locked(Counts())
    private let lateness = LatencyHistogram()
    private let time: TimeBase

    init(_ time: TimeBase) {
        self.time = time
    }

    /// The same callback, which is counted when it is called: late by `clock`, if the deadline is not on the engine's.
    func counting(_ event: Callback, deadline_ns: Int64, ticks: UInt, _ clock: TimeBase?) -> Callback {
        let time = clock ?? time
        return Callback { [self] in
            lateness.record(time.now_ns.subtractingSaturating(deadline_ns))
            counts.withLock { counts in
                counts.fires += 1
                counts.missedTicks += UInt64(ticks - 1)
            }
            event.run()
        }
    }

    var statistics: SourceStatistics {
        let counts = counts.withLock { $0 }
        return SourceStatistics(fires: counts.fires, missedTicks: counts.missedTicks, lateness: lateness.copy())
    }
}

extension SourceCore {
    /// From now on, if it is not so already.
    package func keepAccount() {
        withLock { state in
            if state.account == nil { state.makeExtras().pointee.account = SourceAccount(core.time) }
        }
    }

    package var statistics: SourceStatistics? { withLock { $0.account }?.statistics }
}
#endif
