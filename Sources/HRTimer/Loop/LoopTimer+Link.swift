// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CHRTimer
import HRTimerCore
import Synchronization

extension TimerLoop {
    /// Makes the loop fire the timer while it runs in `mode`.
    ///
    /// The loop holds the timer until it is invalidated or has fired for the last time.
    ///
    /// A timer may be in many modes of one loop, and has one deadline all the same. Adding it twice to a mode does nothing,
    /// nor does adding an invalid timer, or one that is in another loop. In a loop that has ended, such as that of a thread
    /// that is gone, it becomes invalid. Added for `.common` it is in all common modes, now and later, as with
    /// `CFRunLoopAddTimer`. Any thread.
    public func add(_ timer: LoopTimer, forMode mode: Mode) {
        timer.attach(to: self, mode)
    }

    /// Takes the timer out of one mode; for `.common`, if it was added for that, out of all common modes.
    ///
    /// It stays valid. Once it is out of its last mode, where `.common` counts as one, the loop releases it, and it may be
    /// added to a loop again. `CFRunLoopRemoveTimer`. Any thread.
    public func remove(_ timer: LoopTimer, forMode mode: Mode) {
        timer.detach(from: self, mode)
    }

    /// Whether the timer is in that mode of this loop; for `.common`, whether it was added for that.
    public func contains(_ timer: LoopTimer, forMode mode: Mode) -> Bool {
        timer.isIn(self, mode: mode)
    }

    /// Makes `mode` a common mode: what was or will be added for `.common` is in it too, as with `CFRunLoopAddCommonMode`.
    ///
    /// There is no way back. O(sets of modes in use), however many timers there are. Any thread.
    public func addCommonMode(_ mode: Mode) {
        core.update { state in
            state.modes.makeCommon(mode)
            state.serveGroups()
            return state.mustWakeNow()
        }
    }
}

extension LoopTimer {
    /// The loop that a timer is in, and its token there. If the loop has already released the timer, the token is stale.
    struct Link: Sendable {
        var core: LoopCore?
        var token = TimerToken.stale
    }
}

// Lock order: first the timer's lock, then the loop's.
extension LoopTimer {
    func withLink<Result>(_ body: (inout Link) -> Result) -> Result {
        lock.acquire()
        defer { lock.release() }
        return body(&link)
    }

    /// Calls `body` with the locks held that guard the state.
    func withState<Result>(_ body: (inout State) -> Result) -> Result {
        withLink { link in
            guard let core = link.core else { return body(&state) }
            return core.state.withLock { _ in body(&state) }
        }
    }

    /// Calls `body` with those locks held and the time of the timer's loop, or the current time if the timer is in no loop.
    func withState<Result>(_ body: (inout State, TimeBase) -> Result) -> Result {
        withLink { link in
            guard let core = link.core else { return body(&state, .current) }
            return core.state.withLock { _ in body(&state, core.time) }
        }
    }

    /// Whether this is a forked child and the timer in a loop of the parent: the timer is then invalid, and left alone.
    var isInForkedChild: Bool { withLink { $0.core?.isInForkedChild ?? false } }

    /// Changes what decides about the next call, and updates the loop. `body` gets the time of the loop, or nil.
    func update(_ body: (inout State, TimeBase?) -> Void) {
        let toWake = withLink { link -> LoopCore? in
            guard let core = link.core else {
                body(&state, nil)
                return nil
            }
            if core.isInForkedChild { return nil }
            return core.state.withLock { loop in
                let isWithdrawn = loop.withdraw(link.token, &state)
                body(&state, core.time)
                return rearm(link.token, &loop) || isWithdrawn ? core : nil
            }
        }
        toWake?.waiter.wake()
    }

    /// Arms the timer, unless its handler runs: then it is armed afterwards. Returns true if the caller must wake the loop.
    private func rearm(_ token: TimerToken, _ loop: inout LoopState) -> Bool {
        guard !state.isFiring, loop.core.isLive(token) else { return false }
        arm(token, &loop.core)
        return loop.core.mustWake(for: token, state.deadline_ns)
    }

    /// The result of adding a timer.
    private enum Attachment {
        case added(mustWake: Bool), addedAgain(mustWake: Bool)
        case ended, released, invalid, elsewhere
    }

    func attach(to loop: TimerLoop, _ mode: TimerLoop.Mode) {
        let core = loop.core
        var released = Released()
        followed?.prepare(core.time)
        let attachment = withLink { link -> Attachment in
            if link.core == nil {
                guard state.handler != nil else { return .invalid }
                return core.state.withLock { loop in
                    if loop.isEnded {
                        state.takeReferences(&released)
                        return .ended
                    }
                    link.token = loop.addTimer(self, keepsRunning: state.keepsLoopRunning, to: mode)
                    link.core = core
                    state.resolveDeadline(core.time)
                    return .added(mustWake: rearm(link.token, &loop))
                }
            }
            guard link.core === core else { return .elsewhere }
            if core.isInForkedChild { return .released }
            return core.state.withLock { loop in
                guard loop.core.isLive(link.token) else { return loop.isEnded ? .ended : .released }
                let isWithdrawn = loop.withdraw(link.token, &state)
                loop.addMode(mode, to: link.token)
                return .addedAgain(mustWake: loop.mustWakeNow() || isWithdrawn)
            }
        }
        switch attachment {
        case .added(let mustWake):
            if mustWake { core.waiter.wake() }
            if UsageWarning.isLookedFor { loop.watchForRun() }
        case .addedAgain(let mustWake):
            if mustWake { core.waiter.wake() }
        case .ended: if UsageWarning.isLookedFor { loop.reportTimerAfterEnd() }
        case .released: break
        case .invalid: reportNotAdded(isValid: false)
        case .elsewhere: reportNotAdded(isValid: true)
        }
        withExtendedLifetime(released) {}
    }

    func detach(from loop: TimerLoop, _ mode: TimerLoop.Mode) {
        let core = loop.core
        var mustWake = false
        var target: TimerTarget?
        withLink { link in
            guard link.core === core, !core.isInForkedChild else { return }
            let isOut = core.state.withLock { loop in
                let isWithdrawn = loop.withdraw(link.token, &state)
                let isOut = loop.removeTimer(link.token, from: mode, &target)
                if isOut {
                    state.noteFormerLoop(loop.core.callingThread)
                }
                mustWake = loop.mustWakeToEnd() || isWithdrawn
                return isOut
            }
            if isOut { link = Link() }
        }
        if mustWake { core.waiter.wake() }
        withExtendedLifetime(target) {}
    }

    var isInLoop: Bool { withLink { $0.core != nil } }

    func isIn(_ loop: TimerLoop, mode: TimerLoop.Mode) -> Bool {
        withLink { link in
            guard link.core === loop.core, !loop.core.isInForkedChild else { return false }
            return loop.core.state.withLock { loop in
                guard loop.core.isLive(link.token), let index = loop.modes.known(mode) else { return false }
                return loop.modes.contains(loop.core.group(of: link.token), index)
            }
        }
    }

    /// Clears the link when the loop has released the timer, which has fired for the last time.
    func leave(_ core: LoopCore, _ token: TimerToken) {
        withLink { link in
            if link.core === core, link.token == token { link = Link() }
        }
    }

    /// Ends the call that a loop has made of a timer that is no longer in that loop. What the handler set counts from now on: in
    /// another loop, which left the timer alone until now, or when the timer is added to one. A timer that the loop still had
    /// when it ended is invalid.
    func endCallElsewhere(by core: LoopCore, for deadline_ns: Int64, now_ns: Int64) {
        let hasLoopEnded = withLink { link in
            link.core === core && !core.isInForkedChild && core.state.withLock { $0.isEnded }
        }
        var hasEnded = false
        var released = Released()
        var ending: Ending?
        update { state, _ in
            hasEnded = !state.endCall(for: deadline_ns, now_ns: now_ns)
            ending = state.extras?.ending
            if ending != nil { released.object = state.extras.take() }
        }
        if hasLoopEnded {
            coreHasEnded()
        } else if hasEnded {
            end(isRevoked: false)
        }
        ending?.latch.open()
        withExtendedLifetime(released) {}
    }
}

extension LoopTimer {
    /// Whether a run of its loop goes on for this timer.
    ///
    /// True at first.
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

/// An `hrt_lock` without an allocation of its own, for classes with many instances: a constant property of the class.
///
/// What it guards stands beside it. A forked child can take the lock even if another thread held it; see hrt_lock.h.
struct LockInPlace: ~Copyable {
    /// The word of the C core's lock. An `Atomic` does not move while its owner exists, and a pointer to it points to the word.
    private let word = Atomic<UInt32>(0)

    func acquire() { withAddress { unsafe hrt_lock_acquire($0) } }

    /// Releases the lock. On the thread that holds it.
    func release() { withAddress { unsafe hrt_lock_release($0) } }

    @safe private func withAddress(_ body: (UnsafeMutablePointer<hrt_lock>) -> Void) {
        // Safe: `hrt_lock` is a struct of that one word, and the C core accesses it by atomic operations only.
        unsafe withUnsafePointer(to: word) { address in
            unsafe body(UnsafeMutableRawPointer(mutating: address).assumingMemoryBound(to: hrt_lock.self))
        }
    }
}
#endif
