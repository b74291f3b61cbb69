#if os(Linux)
import HRTimerCore

extension LoopTimer {
    /// Whether a run of its loop goes on for this timer. True at first.
    ///
    /// A run ends, as `finished`, when only timers, sources and links that do not keep it running are left in its mode. A run
    /// that finds nothing else returns at once, before any of them fires. While a run goes on for another reason, they fire as
    /// ever. For timers that only accompany other work: an autosave, a heartbeat. A host that calls `process()` goes on in any
    /// case, as do a loop that serves the main queue and the loop of a `LoopThread`. May be set at any time, from any thread,
    /// also inside the handler. If the timer was the last reason to run, a sleeping run is woken and ends.
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
