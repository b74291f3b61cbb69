#if os(Linux)
import CHRTimer
import Dispatch
public import HRTimerCore
import HRTimerLibc

extension TimerLoop {
    /// Has the run loop of the calling thread, Foundation's `RunLoop.current`, run this loop, in `mode`, whenever it runs in
    /// one of its common modes, until the host that is returned is cancelled or the thread ends; it holds the loop meanwhile.
    ///
    ///     let host = try TimerLoop.current.serveOnCurrentRunLoop()
    ///     RunLoop.current.run()   // on any thread
    ///
    /// Handlers come on that thread, later than in a loop that waits itself: on Linux a run loop watches no descriptors for
    /// others, so a thread of Dispatch's does, and wakes it. The run loop has a source meanwhile: it does not end for want of
    /// any, and its `run(mode:before:)` returns when that had something to do. On the main thread `TimerLoop.main` is served by
    /// the main queue, as by `serve(on: .main)`.
    ///
    /// Throws ENOSYS in a program without Foundation, or with one that is linked statically, EINVAL on another thread than a
    /// thread's own loop has, ENOTSUP for a loop on an `event_base`, ENOMEM, and what kept the loop from getting descriptors
    /// (EMFILE, ENFILE). `CFRunLoopSourceCreate`.
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

/// Between the descriptor of a loop, which a thread of Dispatch's waits for, and a source of Foundation's run loop.
private final class RunLoopHost: Sendable {
    private let mode: TimerLoop.Mode
    // Unsafe: sources are thread-safe, their type only does not say so: dispatch_source_create(3).
    private nonisolated(unsafe) let watch: any DispatchSourceRead

    // Sendable: the source is used with the lock held, and removed by the thread that has taken it out.
    private struct State: @unchecked Sendable {
        /// Nil after the end.
        var loop: TimerLoop?
        /// Nil before the begin and after the end.
        var source: OpaquePointer?
        /// From the signal until the run loop has done what there was: the descriptor stays readable for so long.
        var isPaused = false

        mutating func resume(_ watch: any DispatchSourceRead) {
            guard isPaused else { return }
            isPaused = false
            watch.resume()
        }
    }

    private let state: Locked<State>

    init(_ loop: TimerLoop, _ mode: TimerLoop.Mode, _ descriptor: Int32) {
        state = Locked(State(loop: loop))
        self.mode = mode
        let queue = DispatchQueue(label: "hrtimer-run-loop")
        watch = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
        watch.setEventHandler { [weak self] in self?.wake() }
    }

    /// On the run loop's thread. The source of the run loop holds this object.
    func begin() throws(TimerError) {
        let calls = hrt_run_loop_calls(
            perform: { RunLoopHost.from($0).perform() },
            ended: { RunLoopHost.from($0).end() },
            release: { Unmanaged<RunLoopHost>.fromOpaque($0).release() }
        )
        let context = Unmanaged.passRetained(self)
        var source: OpaquePointer?
        let status = hrt_run_loop_source_add(calls, context.toOpaque(), &source)
        state.withLock { $0.source = source }
        // Also if there is no source: libdispatch ends the process for one that is let go of before it was active.
        watch.activate()
        if status != 0 {
            watch.cancel()
            context.release()
        }
        try check(status, "put a loop on Foundation's run loop")
        perform()
    }

    private static func from(_ context: UnsafeMutableRawPointer) -> RunLoopHost {
        Unmanaged<RunLoopHost>.fromOpaque(context).takeUnretainedValue()
    }

    /// The descriptor is readable.
    private func wake() {
        let source = state.withLock { state -> OpaquePointer? in
            guard let source = state.source, !state.isPaused else { return nil }
            watch.suspend()
            state.isPaused = true
            hrt_run_loop_source_hold(source)
            return source
        }
        // Without the lock: a thread that ends calls `end` with its run loop's held.
        if let source { hrt_run_loop_source_signal(source) }
    }

    private func perform() {
        // The handler may cancel the host, and with it let go of the loop.
        withExtendedLifetime(self) {
            state.withLock { $0.loop }?.process(inMode: mode)
            state.withLock { $0.resume(watch) }
        }
    }

    /// Any thread, any number of times.
    func end() {
        let held = state.withLock { state in
            defer { (state.loop, state.source) = (nil, nil) }
            // One that is suspended must not be let go of: dispatch_release(3).
            if state.source != nil { watch.cancel() }
            state.resume(watch)
            return (loop: state.loop, source: state.source)
        }
        if let source = held.source { hrt_run_loop_source_remove(source) }
        withExtendedLifetime(held.loop) {}
    }
}
#endif
