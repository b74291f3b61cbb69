#if os(Linux)
public import HRTimerCore

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
    /// waits, or another thread woke the loop. It belongs to the loop: do not read or close it. Each call looks it up,
    /// O(descriptors of the process).
    ///
    /// The descriptor is an `epoll(7)` set, which polls like any other descriptor. Not for a loop on a virtual time. Throws
    /// the error that kept the loop from getting descriptors when it was made (EMFILE, ENFILE).
    public func hostDescriptor() throws(TimerError) -> Int32 {
        try waiter.descriptor()
    }

    /// Does in one pass, without waiting, what there is to do in `mode`, and sets the descriptor for what comes next. Must be
    /// called once more after a `run` outside of it. For `TimerLoop.main` it also serves the main queue, if that belongs to
    /// the main thread and this is not called in one of the queue's blocks.
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
#endif
