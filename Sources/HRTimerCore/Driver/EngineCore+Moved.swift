// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CHRTimer
import Synchronization

/// The place where an engine's thread would be, if it had one. On virtual time the engine continues from there when the
/// clock has come to the instant at which the thread would be awake.
struct MovedThread: ~Copyable {
    /// Until when the thread is parked, when it is awake for that, and how long that was from the begin of the sleep, -1 if
    /// it had passed; nil before this was computed.
    var sleep: (park: Park, wake_ns: Int64, length_ns: Int64)?
    /// The call that is prepared and waits for its deadline, if `isBeforeDeadline`.
    var fire = Fire()
    var isBeforeDeadline = false
    /// Calls are prepared up to this instant.
    var horizon_ns = Int64.min

    init() {}

    /// Exchanges the prepared call for an empty one. Returns false if there is none.
    mutating func takePrepared(_ fire: inout Fire) -> Bool {
        if !isBeforeDeadline { return false }
        swap(&self.fire, &fire)
        isBeforeDeadline = false
        return true
    }

    mutating func keepPrepared(_ fire: inout Fire, _ horizon_ns: Int64) {
        swap(&self.fire, &fire)
        isBeforeDeadline = true
        self.horizon_ns = horizon_ns
        sleep = nil
    }
}

// Code that touches the spin window holds the lock of `moved`: any thread may move the clock or wake the engine.

// Virtual time as a driver: the work of `run()` and `sleep(until:)`, which a thread does otherwise, in one piece per move
// of the clock.
extension EngineCore: VirtualTimeParticipant {
    package var name: String { configuration.name }

    /// `Int64.max` until the engine has fired everything that is due: a handler that moves the clock is a slow handler, and an
    /// engine has but one thread.
    package var nextDeadline_ns: Int64 {
        let deadline_ns = moved.withLock { moved in
            state.withLock { core -> Int64 in
                if core.isShutDown || core.isFiring && !moved.isBeforeDeadline { return .max }
                let others_ns = core.exactDeadline()
                guard moved.isBeforeDeadline, core.isUntouchedSinceCall(moved.fire.token) else { return others_ns }
                return min(moved.fire.place_ns, others_ns)
            }
        }
        return time.monotonic_ns(deadline_ns)
    }

    package var nextWake_ns: Int64 {
        let now_ns = time.now_ns
        let wake_ns = moved.withLock { moved in
            state.withLock { core -> Int64 in
                if core.isShutDown { return .max }
                if moved.isBeforeDeadline { return commit.isWithdrawn ? .min : moved.fire.place_ns }
                if core.isFiring { return .max }
                return wake(for: core.exactPark(), &moved, now_ns)
            }
        }
        return time.monotonic_ns(wake_ns)
    }

    /// Returns when the thread is awake for `park`, as computed when the sleep began.
    private func wake(for park: Park, _ moved: inout MovedThread, _ now_ns: Int64) -> Int64 {
        if let sleep = moved.sleep, sleep.park.until_ns == park.until_ns, sleep.park.isPrecise == park.isPrecise {
            return sleep.wake_ns
        }
        let length_ns = park.until_ns > now_ns ? park.until_ns.subtractingSaturating(now_ns) : -1
        var sleep = (park: park, wake_ns: park.until_ns, length_ns: length_ns)
        if park.isPrecise, length_ns >= 0, park.until_ns < .max {
            let window_ns = unsafe hrt_spin_window_ns(window.c, length_ns, time.on(.monotonic).now_ns)
            sleep.wake_ns = park.until_ns.subtractingSaturating(window_ns)
        }
        moved.sleep = sleep
        return sleep.wake_ns
    }

    @discardableResult
    package func runDue() -> Bool {
        let before = progress(isBeforeDeadline: moved.withLock { $0.isBeforeDeadline })
        // Leaves out timers that fall due while handlers run: the thread that moves the clock decides about those.
        let now_ns = time.now_ns
        var fire = Fire()
        var slept = Slept(isAwake: true)
        if moved.withLock({ $0.takePrepared(&fire) }) {
            slept.horizon_ns = moved.withLock { $0.horizon_ns }
            guard goOn(&fire) else {
                moved.withLock { $0.keepPrepared(&fire, slept.horizon_ns) }
                return false
            }
        } else {
            slept = endSleep()
        }
        let end = turn(slept, limit_ns: max(now_ns, slept.horizon_ns), &fire)
        if case .parked(let park) = end { observer.value?.willPark(park) }
        if case .prepared = end {
            moved.withLock { $0.keepPrepared(&fire, slept.horizon_ns) }
            return progress(isBeforeDeadline: true) != before
        }
        return progress(isBeforeDeadline: false) != before
    }

    /// Returns how many calls were made, without one that is only prepared, and how many ticks were missed.
    private func progress(isBeforeDeadline: Bool) -> [UInt64] {
        let statistics = state.withLock { $0.account.statistics }
        return [isBeforeDeadline ? statistics.fires - 1 : statistics.fires, statistics.missedTicks]
    }

    private func endSleep() -> Slept {
        let now_ns = time.now_ns
        observer.value?.didWake(from: moved.withLock { $0.sleep?.park } ?? Park(until_ns: .max))
        guard let sleep = moved.withLock({ $0.sleep.take() }), sleep.wake_ns <= now_ns else { return Slept() }
        if !sleep.park.isPrecise { return Slept(deadline_ns: sleep.length_ns < 0 ? nil : sleep.park.until_ns) }
        moved.withLock { _ in
            guard sleep.length_ns >= 0 else { return }
            unsafe hrt_spin_window_record_wake(window.c, sleep.length_ns, now_ns.subtractingSaturating(sleep.wake_ns))
            if let latency_ns = window.takeLatency() { wakeLatency.record(latency_ns) }
        }
        return Slept(horizon_ns: sleep.park.until_ns)
    }

    /// Continues with a prepared call. Returns false if its deadline has not come and nobody has withdrawn it.
    private func goOn(_ fire: inout Fire) -> Bool {
        var outcome = (wasCalled: false, spun_ns: time.now_ns.subtractingSaturating(fire.begun_ns))
        if !commit.isWithdrawn {
            guard let made = make(&fire) else { return false }
            outcome = made
        }
        finish(&fire, wasCalled: outcome.wasCalled, spun_ns: outcome.spun_ns)
        return true
    }

    private func finish(_ fire: inout Fire, wasCalled: Bool, spun_ns: Int64) {
        spinBudget.spend(spun_ns)
        let now_ns = time.now_ns
        if state.withLock({ $0.finish(&fire, now_ns, wasCalled: wasCalled, spun_ns: spun_ns) }) { fire.letGo() }
    }

    /// A thread that spins would see the wake at once and look again. Timers that it would find due fire when the clock is
    /// moved.
    package func hasBeenWoken() {
        var fire = Fire()
        let isWithdrawn = moved.withLock { moved in
            (commit.isWithdrawn || isShutDown) && moved.takePrepared(&fire)
        }
        guard isWithdrawn else { return }
        finish(&fire, wasCalled: false, spun_ns: time.now_ns.subtractingSaturating(fire.begun_ns))
        let now_ns = time.now_ns
        state.withLock { $0.parkAgain(now_ns) }
    }

    package func clockHasMoved() {
        let now_ns = time.now_ns
        state.withLock { $0.look(at: now_ns) }
    }
}
#endif
