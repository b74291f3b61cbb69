// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import HRTimerCore

extension SourceCore {
    /// Warns that the handle is gone while the source is active. Called in debug builds alone.
    func reportIfActive() {
        let wouldFire = withLock { state, engine in
            state.mayBegin && state.event != nil
                && (record(state, engine)?.pointee.schedule.position.deadline_ns ?? .max) < .max
        }
        guard wouldFire else { return }
        UsageWarning.report(
            UsageWarning(
                .activeSourceDropped,
                "the last reference to an active TimerSource is gone, and with it the source has stopped: keep it as long as it is "
                    + "to fire, or cancel() it first; a timer of TimerEngine.shared needs no reference"
            )
        )
    }
}
#endif
