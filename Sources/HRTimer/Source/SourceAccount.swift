#if os(Linux)
import HRTimerCore

/// Counts the calls of one source. Calls of a source never overlap, so that there is one writer at a time.
final class SourceAccount: Sendable {
    private let counts = Locked(FireStatistics())
    /// How late each call was, counted from the nominal deadline that it was due for.
    let lateness = LatencyHistogram()
    private let time: TimeBase

    init(_ time: TimeBase) {
        self.time = time
    }

    /// Returns a callback that counts the call and its lateness, and then runs `event`. `clock` is nil for the engine's clock.
    func counting(_ event: Callback, deadline_ns: Int64, ticks: UInt, _ clock: TimeBase?) -> Callback {
        let time = clock ?? time
        return Callback { [self] in
            lateness.record(time.now_ns.subtractingSaturating(deadline_ns))
            counts.withLock { counts in
                counts.fires += 1
                counts.missedTicks &+= UInt64(ticks - 1)
            }
            event.run()
        }
    }

    var statistics: FireStatistics { counts.withLock { $0 } }
}

extension SourceCore {
    /// Starts the account, unless the source already has one.
    package func keepAccount() {
        withLock { state in
            if state.account == nil { state.makeExtras().pointee.account = SourceAccount(core.time) }
        }
    }

    package var statistics: FireStatistics {
        let (account, handlers) = withLock { ($0.account, $0.lateHandlers) }
        var statistics = account?.statistics ?? FireStatistics()
        if let handlers { statistics.lateness = handlers.statistics }
        return statistics
    }

    package var lateness: LatencyHistogram { withLock { $0.account }?.lateness.copy() ?? LatencyHistogram() }
}
#endif
