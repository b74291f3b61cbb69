public import HRTimerCore

/// A loop as events on a libevent `event_base` that the program has already.
///
///     let base = event_base_new()!
///     let loop = try TimerLoop(eventBase: base)
///     loop.add(timer, forMode: .default)
///     event_base_dispatch(base)   // timers, blocks, triggers and sources of the default mode
///     loop.leaveEventBase()
///     event_base_free(base)
extension TimerLoop {
    /// A loop that `base`, a `struct event_base *` of libevent 2.1 or newer, waits for and runs, on the base's thread. Call it
    /// there too.
    ///
    /// The loop's work comes as events of the base's default priority, in the default mode; timers are as exact as in a loop
    /// of its own. Takes one descriptor. Works with every backend, and on a base without locks: other threads may add, move,
    /// perform and wake as ever. While the loop is on it, the base has an event: it ends by `event_base_loopbreak` and the
    /// like, or after `leaveEventBase()`, not for want of events.
    ///
    /// The host runs it: `run` functions do nothing, unless their limit is `distantPast`, and `hostDescriptor()` throws ENOTSUP.
    /// Throws EMFILE or ENFILE if there is no descriptor, ENOMEM. `timerfd_create(2)`, `event_new`.
    @available(*, noasync)
    public convenience init(eventBase base: OpaquePointer) throws(TimerError) {
        self.init(waiter: try LoopWaiter(eventBase: base))
        // Unretained: the events go before the loop does.
        waiter.setHost(Unmanaged.passUnretained(self).toOpaque()) { context in
            guard let context else { return }
            Unmanaged<TimerLoop>.fromOpaque(context).takeUnretainedValue().process()
        }
        process()
    }

    /// Takes the loop off its base, which can be used and freed from then on. The loop has ended: its timers and sources are
    /// invalid, their handlers freed.
    ///
    /// On the base's thread, also in one of the loop's handlers. It happens by itself with the loop's last reference, which must go
    /// on that thread then, before the base. Idempotent; a loop that is on no base is left alone.
    public func leaveEventBase() {
        guard waiter.isHosted else { return }
        end()
        waiter.leaveHost()
    }
}
