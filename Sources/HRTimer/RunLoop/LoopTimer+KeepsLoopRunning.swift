#if os(Linux)
import HRTimerCore

extension LoopTimer {
    /// Whether a run of its loop goes on for this timer. True at first.
    ///
    /// A run ends, as `finished`, when all that is left in its mode are timers, sources and links that do not keep it running,
    /// and one that finds nothing else returns at once, before any of them fires; while it runs for another reason they fire as
    /// ever. For what accompanies work and is none: an autosave, a heartbeat. A host that calls `process()` goes on in any case.
    /// May be set at any time, also inside the handler, from any thread; if it was the last reason to run, a sleeping
    /// run is woken and ends.
    public var keepsLoopRunning: Bool {
        get { withState { $0.keepsLoopRunning } }
        set {
            let toWake = withLink { link -> LoopCore? in
                guard let core = link.core else {
                    state.keepsLoopRunning = newValue
                    return nil
                }
                if core.isInForkedChild { return nil }
                return core.state.withLock { loop in
                    state.keepsLoopRunning = newValue
                    loop.setKeepsRunning(link.token, newValue)
                    return loop.mustWakeToEnd() ? core : nil
                }
            }
            toWake?.waiter.wake()
        }
    }
}
#endif
