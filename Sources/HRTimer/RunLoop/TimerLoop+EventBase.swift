#if os(Linux)
import CHRTimer
public import HRTimerCore
import HRTimerLibc

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
    /// The host runs it: `run` functions do nothing, unless their limit is `distantPast`, and `hostDescriptor()` throws
    /// ENOTSUP. Throws ENOTSUP without the package's trait `Libevent`, EMFILE or ENFILE if there is no descriptor, ENOMEM. `timerfd_create(2)`, `event_new`.
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

    /// Has `base`, a `struct event_base *` of libevent, run this loop, in `mode`, from now until the host that is returned is
    /// cancelled, which must be before the base is freed; it holds the loop meanwhile. On the base's thread, as the cancelling.
    ///
    ///     let host = try TimerLoop.main.serve(onEventBase: base)   // and with it the main queue
    ///
    /// For a loop that is there already, as `main` and `current` are; `init(eventBase:)` makes one of fewer descriptors. The
    /// base has an event meanwhile: it ends by `event_base_loopbreak` and the like. Throws ENOTSUP for a loop on another base and
    /// without the package's trait `Libevent`,
    /// ENOMEM, what kept the loop from getting descriptors (EMFILE, ENFILE), and EINVAL on another thread than a thread's own
    /// loop has.
    @available(*, noasync)
    @discardableResult
    public func serve(
        onEventBase base: OpaquePointer,
        inMode mode: Mode = .default
    ) throws(TimerError) -> LoopHost {
        if let reason = reasonNotToProcess {
            throw TimerError(operation: "serve a loop: \(reason)", errorNumber: EINVAL)
        }
        let descriptor = try hostDescriptor()
        let context = Unmanaged.passRetained(BaseHost(loop: self, mode: mode))
        var host: OpaquePointer?
        let status = hrt_host_add(
            base,
            descriptor,
            { context in
                guard let context else { return }
                Unmanaged<BaseHost>.fromOpaque(context).takeUnretainedValue().process()
            },
            context.toOpaque(),
            &host
        )
        if status != 0 { context.release() }
        try check(status, "put a loop on an event base")
        process(inMode: mode)
        // Belongs to the base's thread, where it is cancelled.
        nonisolated(unsafe) let added = host
        return LoopHost {
            if let added { hrt_host_remove(added) }
            context.release()
        }
    }

    /// Takes the loop off its base, which can be used and freed from then on; of the base, unlike `LoopHost.cancel()`, which
    /// leaves a loop that goes on. The loop has ended: its timers and sources are
    /// invalid, their handlers freed.
    ///
    /// On the base's thread, also in one of the loop's handlers. It happens by itself with the loop's last reference, which
    /// must go on that thread then, before the base. Idempotent; a loop that is on no base is left alone.
    public func leaveEventBase() {
        guard waiter.isHosted else { return }
        end()
        waiter.leaveHost()
    }
}

/// What an `event_base` calls.
private final class BaseHost: Sendable {
    private let loop: TimerLoop
    private let mode: TimerLoop.Mode

    init(loop: TimerLoop, mode: TimerLoop.Mode) {
        self.loop = loop
        self.mode = mode
    }

    func process() {
        // The handler may cancel the host, and with it let go of the loop.
        withExtendedLifetime(self) { loop.process(inMode: mode) }
    }
}
#endif
