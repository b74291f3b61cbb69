#if os(Linux)
extension TimerLoop {
    /// Makes the loop fire the timer while it runs in `mode`. The loop holds the timer until it is invalidated or has fired
    /// for the last time.
    ///
    /// A timer may be in many modes of one loop, and has one deadline all the same. Adding it twice to a mode does nothing,
    /// nor does adding an invalid timer, or one that is in another loop. In a loop that has ended, such as that of a thread
    /// that is gone, it becomes invalid. Added for `.common` it is in all common modes, now and later, as with
    /// `CFRunLoopAddTimer`. Any thread.
    public func add(_ timer: LoopTimer, forMode mode: Mode) {
        timer.attach(to: self, mode)
    }

    /// Takes the timer out of one mode; for `.common`, if it was added for that, out of all common modes. It stays valid.
    /// Once it is out of its last mode, where `.common` counts as one, the loop releases it, and it may be added to a loop
    /// again. `CFRunLoopRemoveTimer`. Any thread.
    public func remove(_ timer: LoopTimer, forMode mode: Mode) {
        timer.detach(from: self, mode)
    }

    /// Whether the timer is in that mode of this loop; for `.common`, whether it was added for that.
    public func contains(_ timer: LoopTimer, forMode mode: Mode) -> Bool {
        timer.isIn(self, mode: mode)
    }

    /// Makes `mode` a common mode: what was or will be added for `.common` is in it too, as with `CFRunLoopAddCommonMode`.
    /// There is no way back. O(sets of modes in use), however many timers there are. Any thread.
    public func addCommonMode(_ mode: Mode) {
        let mustWake = state.withLock { state in
            state.modes.makeCommon(mode)
            state.serveGroups()
            return state.mustWakeNow()
        }
        if mustWake { waiter.wake() }
    }
}
#endif
