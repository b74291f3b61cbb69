// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CHRTimer
import HRTimerLibc

/// An object that wants to know when the wall clock is set.
package protocol WallClockListener: AnyObject, Sendable {
    /// Called after the wall clock was set, perhaps forward, and when the system has resumed. Any thread, without a lock.
    func wallClockWasSet()
}

/// Notices that the wall clock is set, for those who wait for a date that depends on the present one: after a step back a
/// wait for an instant only becomes longer, and nobody is woken.
///
/// On the kernel's time it has a thread, which is made with the first listener, never wakes otherwise, and never ends. On a
/// virtual time that time tells it.
package final class WallClockSteps: Sendable {
    /// The virtual time, which holds this object; nil on the kernel's time.
    private let virtual: WeakTimeBase?

    private struct State: Sendable {
        var listeners: [WeakListener] = []
        /// On virtual time, how far the wall clock was ahead of the monotonic one when this was told last.
        var ahead_ns: Int64 = 0
    }
    private let state = Locked(State())

    private struct WeakListener: Sendable {
        weak let object: (any WallClockListener)?
    }

    private init(_ time: TimeBase) {
        virtual = time.weakly
        let ahead_ns = Self.ahead_ns(time)
        state.withLock { $0.ahead_ns = ahead_ns }
    }

    private static let shared = SharedEngine { time in
        let steps = WallClockSteps(time)
        steps.start(time)
        return steps
    }

    /// Tells `listener`, which is held weakly, each time the wall clock of `time` is set from now on.
    package static func notify(_ listener: any WallClockListener, in time: TimeBase) {
        shared.engine(in: time).add(listener)
    }

    private func add(_ listener: any WallClockListener) {
        // Released without the lock: these may be the last references.
        let live = state.withLock { state in
            let live = state.listeners.compactMap(\.object)
            // Looks for those that are gone when there may be as many of them as of others.
            if state.listeners.count >= 2 * live.count { state.listeners = live.map { WeakListener(object: $0) } }
            state.listeners.append(WeakListener(object: listener))
            return live
        }
        withExtendedLifetime(live) {}
    }

    private func tell() {
        for listener in state.withLock({ $0.listeners.compactMap(\.object) }) { listener.wallClockWasSet() }
    }

    private func start(_ time: TimeBase) {
        time.run(self) {
        } onThread: {
            var descriptor: Int32 = -1
            // Without a descriptor or a thread (EMFILE, EAGAIN) nobody is told: dates wait for the clock to come to them.
            if unsafe hrt_clock_set_open(&descriptor) < 0 { return }
            let opened = descriptor
            do throws(TimerError) {
                pthread_detach(
                    try startThread { [self] in
                        unsafe hrt_thread_set_name("hrt-wall-steps")
                        while hrt_clock_set_wait(opened) == 0 { tell() }
                        close(opened)
                    }
                )
            } catch {
                close(opened)
            }
        }
    }

    private static func ahead_ns(_ time: TimeBase) -> Int64 {
        time.on(.wall).now_ns.subtractingSaturating(time.on(.monotonic).now_ns)
    }
}

// On virtual time.
extension WallClockSteps: VirtualTimeParticipant {
    package var nextDeadline_ns: Int64 { .max }
    package var nextWake_ns: Int64 { .max }
    package var name: String { "steps of the wall clock" }
    package var liveTimers: Int { 0 }
    package func runDue() -> Bool { false }
    package func hasBeenWoken() {}

    package func clockHasMoved() {
        guard let time = virtual?.time else { return }
        let now_ns = Self.ahead_ns(time)
        let isBack = state.withLock { state in
            defer { state.ahead_ns = now_ns }
            return now_ns < state.ahead_ns
        }
        if isBack { tell() }
    }
}
#endif
