#if os(Linux)
import CHRTimer
public import HRTimerCore
import HRTimerLibc

/// A loop that runs as events on a libevent `event_base` that the program already has.
///
///     let base = event_base_new()!
///     let loop = try TimerLoop(eventBase: base)
///     loop.add(timer, forMode: .default)
///     event_base_dispatch(base)   // timers, blocks, triggers and sources of the default mode
///     loop.leaveEventBase()
///     event_base_free(base)
extension TimerLoop {
    /// Creates a loop that `base`, a `struct event_base *` of libevent 2.1 or newer, waits for and runs on the base's thread.
    /// Must be called on that thread too.
    ///
    /// The loop's work comes as events of the base's default priority, in the default mode; timers are as exact as in a loop
    /// that waits by itself. The loop takes one descriptor. It works with every backend, and on a base without locks: other
    /// threads may add, move, perform and wake as usual. While the loop is on the base, the base has an event: the base's own
    /// loop ends by `event_base_loopbreak` and the like, or after `leaveEventBase()`, but not for lack of events.
    ///
    /// The host runs the loop: the `run` functions do nothing, unless their limit is `distantPast`, and `hostDescriptor()`
    /// throws ENOTSUP. Throws ENOTSUP without the package's trait `Libevent`, EMFILE or ENFILE if there is no descriptor, and
    /// ENOMEM. `timerfd_create(2)`, `event_new`.
    @available(*, noasync)
    public convenience init(eventBase base: OpaquePointer) throws(TimerError) {
        self.init(waiter: try LoopWaiter(eventBase: base))
        // Unretained: the loop removes its events before it is freed.
        waiter.setHost(Unmanaged.passUnretained(self).toOpaque()) { context in
            guard let context else { return }
            Unmanaged<TimerLoop>.fromOpaque(context).takeUnretainedValue().process()
        }
        process()
    }

    /// Makes `base`, a `struct event_base *` of libevent, run this loop in `mode` from now until the returned host is
    /// cancelled, which must be before the base is freed. The loop is held until then. Must be called on the base's thread,
    /// and cancelled there.
    ///
    ///     let host = try TimerLoop.main.serve(onEventBase: base)   // and with it the main queue
    ///
    /// For a loop that exists already, such as `main` or `current`; `init(eventBase:)` makes a loop that takes fewer
    /// descriptors. While the loop is hosted, the base has an event: the base's own loop ends by `event_base_loopbreak` and
    /// the like.
    ///
    /// Throws ENOTSUP for a loop on another base and without the package's trait `Libevent`, ENOMEM, the error that kept the
    /// loop from getting descriptors (EMFILE, ENFILE), and EINVAL on a thread that can never run the loop, as when the loop
    /// is another thread's own.
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

    /// Ends the loop and takes it off its base, which can be used and freed from then on. The loop's timers and sources
    /// become invalid, their handlers are freed. `LoopHost.cancel()`, in contrast, leaves a loop that goes on.
    ///
    /// Must be called on the base's thread; one of the loop's handlers may do so. The loop's last reference has the same
    /// effect: it must then go on that thread, before the base is freed. Idempotent; does nothing to a loop that is on no
    /// base.
    public func leaveEventBase() {
        guard waiter.isHosted else { return }
        end()
        waiter.leaveHost()
    }
}

/// The context of the function that an `event_base` calls.
private final class BaseHost: Sendable {
    private let loop: TimerLoop
    private let mode: TimerLoop.Mode

    init(loop: TimerLoop, mode: TimerLoop.Mode) {
        self.loop = loop
        self.mode = mode
    }

    func process() {
        // A handler may cancel the host, and so release the loop.
        withExtendedLifetime(self) { loop.process(inMode: mode) }
    }
}
#endif
