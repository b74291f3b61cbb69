// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CHRLoop
public import Dispatch
public import HRTimerCore
import HRTimerLibc

/// The hosting that `serve(on:)` began: another event loop runs a `TimerLoop`.
///
/// It goes on without this object. Any thread.
public final class LoopHost: Sendable {
    private let end: Locked<(@Sendable () -> Void)?>

    init(_ end: (@Sendable () -> Void)?) {
        self.end = Locked(end)
    }

    /// Ends the hosting, after the handler that may be running, and releases the loop, which goes on and may be hosted again or
    /// run.
    ///
    /// Idempotent. Any thread; for an `event_base` only the base's own.
    public func cancel() {
        let end = end.withLock { $0.take() }
        end?()
    }
}

extension TimerLoop {
    /// Makes `queue` run the loop in `mode` from now until the returned host is cancelled.
    ///
    /// The loop is held until then.
    ///
    ///     try loop.serve(on: queue)
    ///     try TimerLoop.main.serve(on: .main)   // under Foundation's RunLoop.main.run()
    ///
    /// Handlers are called on the queue, later than in a loop that waits by itself by the hop to the queue's thread, and one
    /// at a time even if the queue is concurrent. Foundation's `RunLoop.main`, and loops of GLib, Qt or SDL that serve the
    /// main queue, are hosts by `DispatchQueue.main`; run loops of other threads are hosts by `serveOnCurrentRunLoop()`.
    /// Where the main queue does not belong to the main thread, it hosts `TimerLoop.main` by itself.
    ///
    /// Throws EINVAL for what could never run: `TimerLoop.main` on another queue than the main one, and a thread's own loop
    /// on any queue. Throws ENOTSUP for a loop on an `event_base`, and the error that kept the loop from getting descriptors
    /// (EMFILE, ENFILE). Any thread. A read source of Dispatch on `hostDescriptor()`.
    @discardableResult
    public func serve(on queue: DispatchQueue, inMode mode: Mode = .default) throws(TimerError) -> LoopHost {
        let isOnMainQueue = MainQueue.isMain(queue)
        if let reason = reasonNotToServe(isOnMainQueue: isOnMainQueue) {
            throw TimerError(operation: reason, errorNumber: EINVAL)
        }
        if isMain, mode == .default || mode == .common { return try serveMain() }
        return try watch(on: queue, mode)
    }

    private func watch(on queue: DispatchQueue, _ mode: Mode) throws(TimerError) -> LoopHost {
        let isOnMainQueue = MainQueue.isMain(queue)
        // Dispatch sources are thread-safe, only their type does not say so: dispatch_source_create(3).
        @safe nonisolated(unsafe) let source = DispatchSource.makeReadSource(
            fileDescriptor: try hostDescriptor(),
            queue: queue
        )
        // The handler holds the source and the loop until the source is cancelled and no longer watches the descriptor.
        source.setEventHandler { @Sendable in
            withExtendedLifetime(source) { self.process(inMode: mode, isOnMainQueue: isOnMainQueue) }
        }
        source.activate()
        // Makes the descriptor readable, which causes the first call.
        waiter.wake()
        return LoopHost { source.cancel() }
    }

}

/// Whether the main queue hosts `TimerLoop.main`: by request, or by itself because the main thread is gone.
private struct MainHosts: Sendable {
    static let shared = Locked(MainHosts())

    var asked = 0
    var hasMoved = false
    var own: LoopHost?

    /// Whether the queue must begin to host by itself. There are never two hosts: each would be woken for everything.
    var needsOwn: Bool { hasMoved && asked == 0 && own == nil }
}

extension TimerLoop {
    /// Notes that the main queue no longer belongs to the main thread, and so must host this loop by itself.
    func followMainQueue() {
        MainHosts.shared.withLock { hosts in
            hosts.hasMoved = true
            hostOnMainQueue(&hosts)
        }
    }

    private func hostOnMainQueue(_ hosts: inout MainHosts) {
        guard hosts.needsOwn else { return }
        do throws(TimerError) {
            hosts.own = try watch(on: .main, .default)
        } catch {
            fatalError("the main queue has left the main thread, and cannot host TimerLoop.main: \(error)")
        }
    }

    private func serveMain() throws(TimerError) -> LoopHost {
        let isThere = MainHosts.shared.withLock { hosts in
            if hosts.own == nil { hosts.asked += 1 }
            return hosts.own != nil
        }
        if isThere { return LoopHost(nil) }
        do throws(TimerError) {
            let host = try watch(on: .main, .default)
            return LoopHost {
                host.cancel()
                self.endServingMain()
            }
        } catch {
            endServingMain()
            throw error
        }
    }

    private func endServingMain() {
        MainHosts.shared.withLock { hosts in
            hosts.asked -= 1
            hostOnMainQueue(&hosts)
        }
    }
}

extension TimerLoop {
    /// Makes the calling thread's run loop, Foundation's `RunLoop.current`, run this loop in `mode` whenever the run loop runs
    /// in one of its common modes, until the returned host is cancelled or the thread ends.
    ///
    /// The loop is held until then.
    ///
    ///     let host = try TimerLoop.current.serveOnCurrentRunLoop()
    ///     RunLoop.current.run()   // on any thread
    ///
    /// Handlers are called on that thread, later than in a loop that waits by itself: on Linux a run loop watches no
    /// descriptors for others, so a thread of Dispatch does that and wakes the run loop. While it hosts this loop, the run
    /// loop has a source: it does not end for lack of one, and its `run(mode:before:)` returns when that source had something
    /// to do. On the main thread the main queue serves `TimerLoop.main`, as with `serve(on: .main)`.
    ///
    /// Throws ENOSYS in a program without Foundation, or with a Foundation that is linked statically; EINVAL on a thread that
    /// can never run the loop, as when the loop is another thread's own; ENOTSUP for a loop on an `event_base`; ENOMEM; and
    /// the error that kept the loop from getting descriptors (EMFILE, ENFILE). `CFRunLoopSourceCreate`.
    @available(*, noasync)
    @discardableResult
    public func serveOnCurrentRunLoop(inMode mode: Mode = .default) throws(TimerError) -> LoopHost {
        if isMain { return try serve(on: .main, inMode: mode) }
        if let reason = reasonNotToProcess {
            throw TimerError(operation: "serve a loop: \(reason)", errorNumber: EINVAL)
        }
        let host = RunLoopHost(self, mode, try hostDescriptor())
        try host.begin()
        return LoopHost { host.end() }
    }
}

/// The link between the descriptor of a loop, which a thread of Dispatch waits for, and a source of Foundation's run loop.
private final class RunLoopHost: Sendable {
    private let mode: TimerLoop.Mode
    // Safe: dispatch sources are thread-safe, only their type does not say so: dispatch_source_create(3).
    @safe private nonisolated(unsafe) let watch: any DispatchSourceRead

    // Sendable and safe: the source is taken with the lock held, and removed by the thread that has taken it out.
    @safe private struct State: @unchecked Sendable {
        /// Nil after `end()`.
        var loop: TimerLoop?
        /// Nil before `begin()` and after `end()`.
        @safe var source: OpaquePointer?
        /// Whether `watch` is suspended: from the signal until the run loop has done what there was, while the descriptor
        /// stays readable.
        var isPaused = false

        mutating func resume(_ watch: any DispatchSourceRead) {
            guard isPaused else { return }
            isPaused = false
            watch.resume()
        }
    }

    private let state: Locked<State>

    init(_ loop: TimerLoop, _ mode: TimerLoop.Mode, _ descriptor: Int32) {
        state = unsafe Locked(State(loop: loop))
        self.mode = mode
        let queue = DispatchQueue(label: "hrtimer-run-loop")
        watch = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
        watch.setEventHandler { [weak self] in self?.wake() }
    }

    /// Adds the source to the calling thread's run loop. Safe: that source holds this object, and releases it after the last call.
    func begin() throws(TimerError) {
        let calls = unsafe hrt_run_loop_calls(
            perform: { unsafe RunLoopHost.from($0).perform() },
            ended: { unsafe RunLoopHost.from($0).end() },
            release: { unsafe Unmanaged<RunLoopHost>.fromOpaque($0).release() }
        )
        let context = unsafe Unmanaged.passRetained(self)
        var source: OpaquePointer?
        let status = unsafe hrt_run_loop_source_add(calls, context.toOpaque(), &source)
        state.withLock { $0.source = unsafe source }
        // Also if there is no source: libdispatch ends the process when a source is freed that was never active.
        watch.activate()
        if status != 0 {
            watch.cancel()
            unsafe context.release()
        }
        try check(status, "put a loop on Foundation's run loop")
        perform()
    }

    private static func from(_ context: UnsafeMutableRawPointer) -> RunLoopHost {
        unsafe Unmanaged<RunLoopHost>.fromOpaque(context).takeUnretainedValue()
    }

    /// Handles a readable descriptor: pauses the watch and signals the run loop.
    private func wake() {
        let source = unsafe state.withLock { state -> OpaquePointer? in
            guard let source = state.source, !state.isPaused else { return nil }
            watch.suspend()
            state.isPaused = true
            unsafe hrt_run_loop_source_hold(source)
            return unsafe source
        }
        // Without the lock: a thread that ends calls `end` with the lock of its run loop held, which this takes.
        if let source = unsafe source { unsafe hrt_run_loop_source_signal(source) }
    }

    private func perform() {
        // A handler may cancel the host, and so release the loop.
        withExtendedLifetime(self) {
            state.withLock { $0.loop }?.process(inMode: mode)
            state.withLock { $0.resume(watch) }
        }
    }

    /// Ends the hosting. Any thread, any number of times.
    func end() {
        let held = unsafe state.withLock { state in
            defer { (state.loop, state.source) = (nil, nil) }
            // A suspended dispatch source must not be released: dispatch_release(3).
            if unsafe state.source != nil { watch.cancel() }
            state.resume(watch)
            return (loop: state.loop, source: state.source)
        }
        if let source = unsafe held.source { unsafe hrt_run_loop_source_remove(source) }
        unsafe withExtendedLifetime(held.loop) {}
    }
}
#endif
