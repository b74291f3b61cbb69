// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CHRLoop
public import HRTimerCore
import HRTimerLibc

/// A loop inside another event loop: the host waits for one descriptor, and calls `process` when that is readable. A host on
/// libevent can use `init(eventBase:)` instead.
///
///     let descriptor = try loop.hostDescriptor()
///     loop.process()                              // once, to begin
///     // then wait for `descriptor` to be readable, level-triggered, and call loop.process() each time
///
/// For Dispatch, Foundation's `RunLoop` and libevent one line does that: `serve(on:)`, `serveOnCurrentRunLoop()` and
/// `serve(onEventBase:)`. Programs to copy from, one for each host, are in Snippets: `LoopInDispatch`, `LoopInRunLoop`,
/// `LoopInPoll` (poll; epoll and io_uring work alike) and `LoopInLibevent`; those for GLib, libuv, SDL and engines with
/// frames are in Examples/Hosts. SwiftNIO cannot watch a descriptor that it does not read itself: give the loop a thread
/// (`thread(name:precision:time:)`), and return to NIO with `eventLoop.execute`.
extension TimerLoop {
    /// Returns a descriptor that is readable while the loop has something to do: a timer is due, a source is ready, a block
    /// waits, or another thread woke the loop.
    ///
    /// It belongs to the loop: do not read or close it. Each call looks it up, O(descriptors of the process).
    ///
    /// The descriptor is an `epoll(7)` set, which polls like any other descriptor. Not for a loop on a virtual time. Throws
    /// the error that kept the loop from getting descriptors when it was made (EMFILE, ENFILE).
    public func hostDescriptor() throws(TimerError) -> Int32 {
        try waiter.descriptor()
    }

    /// Does in one pass, without waiting, what there is to do in `mode`, and sets the descriptor for what comes next.
    ///
    /// Must be called once more after a `run` outside of it. For `TimerLoop.main` it also serves the main queue, if that
    /// belongs to the main thread and this is not called in one of the queue's blocks.
    ///
    /// `.common` counts as `.default`. Does nothing while another thread runs a loop that is no thread's own. Where it could
    /// never do anything, so that the host would find the descriptor readable for ever, it ends the program: on another
    /// thread than the one that owns the loop, and for `TimerLoop.main` on a thread that does not hold the main queue.
    @available(*, noasync)
    public func process(inMode mode: Mode = .default) {
        process(inMode: mode, isOnMainQueue: false)
    }

    /// Does such a pass. With `isOnMainQueue` it does not serve the main queue, since the host does.
    func process(inMode mode: Mode, isOnMainQueue: Bool) {
        if let reason = reasonNotToProcess { fatalError("process() would never do anything here: \(reason)") }
        let mode = mode == .common ? .default : mode
        let outcome = runInMode(mode, limit_ns: .min, returnsAfterSource: false, isOnMainQueue: isOnMainQueue)
        _ = onOwnThread {
            // Nothing was run, so nobody has taken the wake that made the descriptor readable.
            if outcome == nil {
                _ = waiter.poll()
                freeReleased()
            }
            let canServeMainQueue = !isOnMainQueue && opensMainQueue()
            state.withLock { state in
                let index = state.modes.index(of: mode)
                state.hostIndex = index
                state.hostServesMainQueue = canServeMainQueue && state.modes.isCommon(index)
                state.serveGroups()
            }
            updateWatches()
            let now_ns = time.now_ns
            let until_ns = state.withLock { state -> Int64 in
                // Takes due timers of other modes out of the queue, so that the descriptor is not readable for them.
                state.core.expireAll(upTo: now_ns)
                if state.core.firstExpired_ns <= now_ns || state.hasWorkNow { return .min }
                while state.core.tidy() {}
                // From here on a thread that adds an earlier deadline wakes the loop, which makes the descriptor
                // readable.
                let park = state.core.nextPark
                state.core.park(until: park)
                return park.until_ns
            }
            waiter.arm(until_ns)
        }
    }
}

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
    ///
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
        unsafe self.init(waiter: try LoopWaiter(eventBase: base))
        // Safe, though unretained: the loop removes its events before it is freed.
        unsafe waiter.setHost(Unmanaged.passUnretained(self).toOpaque()) { context in
            guard let context = unsafe context else { return }
            unsafe Unmanaged<TimerLoop>.fromOpaque(context).takeUnretainedValue().process()
        }
        process()
    }

    /// Makes `base`, a `struct event_base *` of libevent, run this loop in `mode` from now until the returned host is
    /// cancelled, which must be before the base is freed.
    ///
    /// The loop is held until then. Must be called on the base's thread, and cancelled there.
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
        // Safe: released after the last call, when the event is removed.
        let context = unsafe Unmanaged.passRetained(BaseHost(loop: self, mode: mode))
        var host: OpaquePointer?
        let status = unsafe hrt_host_add(
            base,
            descriptor,
            { context in
                guard let context = unsafe context else { return }
                unsafe Unmanaged<BaseHost>.fromOpaque(context).takeUnretainedValue().process()
            },
            unsafe context.toOpaque(),
            &host
        )
        if status != 0 { unsafe context.release() }
        try check(status, "put a loop on an event base")
        process(inMode: mode)
        // Safe: belongs to the base's thread, where it is cancelled.
        nonisolated(unsafe) let added = unsafe host
        return LoopHost {
            if let added = unsafe added { unsafe hrt_host_remove(added) }
            unsafe context.release()
        }
    }

    /// Ends the loop and takes it off its base, which can be used and freed from then on.
    ///
    /// The loop's timers and sources become invalid, their handlers are freed. `LoopHost.cancel()`, in contrast, leaves a loop
    /// that goes on.
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
