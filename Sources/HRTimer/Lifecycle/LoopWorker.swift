// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
public import HRTimerCore

/// A thread that works as long as its loop has something to do: it ends when its last timer is invalidated.
///
///     try LoopWorker(name: "poller") { loop in
///         loop.add(LoopTimer(timeInterval: .seconds(1), repeats: true) { timer in
///             if poll() == .done { timer.invalidate() }   // and the thread is gone
///         }, forMode: .default)
///     }
///
/// A `LoopThread` that ends when it is idle: what `Thread` and `RunLoop.current.run()` do together. The loop runs in the
/// default mode; sources, triggers and blocks keep it running as timers do, and `loop.stop()` does not end it. The thread
/// holds itself: no reference to the worker need be kept. It blocks the signals that its maker blocks. For a thread that waits
/// for work, see `TimerLoop.thread(name:precision:realTime:time:)`. Any thread may use it; its handlers run one after the other.
public final class LoopWorker: Sendable {
    /// The thread's loop; once the thread has ended, nothing can be added to it.
    public let loop: TimerLoop
    private let thread: LoopThread

    /// Starts the thread, which calls `setUp` and then runs its loop.
    ///
    /// At most 15 bytes of the name are kept.
    ///
    /// `precision` is that of the loop. `realTime` is requested for the thread, see `settingResults`; without it, and above
    /// `.coalesced`, a timer slack of 1 ns is requested. If nothing was added, the thread ends at once. Throws EAGAIN if no
    /// thread can be made, EMFILE or ENFILE if there are no descriptors for its loop.
    @discardableResult
    public init(
        name: String = "loopworker",
        precision: TimerPrecision = .coalesced,
        realTime: RealTimeSettings? = nil,
        time: TimeBase = .current,
        setUp: @escaping @Sendable (TimerLoop) -> Void
    ) throws(TimerError) {
        thread = try LoopThread(
            name: name,
            precision: precision,
            realTime: realTime,
            time: time,
            endsWhenIdle: true,
            setUp
        )
        loop = thread.loop
    }

    /// What the kernel granted and refused of `realTime`: one result for each requested setting; none without.
    ///
    /// Waits until the thread has begun to run.
    @available(*, noasync, message: "await awaitSettingResults() instead")
    public var settingResults: [SettingResult] { thread.settingResults }

    /// `settingResults` for asynchronous functions: no thread of theirs waits.
    public func awaitSettingResults() async -> [SettingResult] { await thread.awaitSettingResults() }

    /// Whether the thread has done its work.
    public var isFinished: Bool { thread.hasEnded.isOpen }

    /// Ends the work early: after the handler that may be running, its timers are invalid and their handlers freed.
    ///
    /// Does not wait, unlike `LoopThread.shutdown()`: see `wait()`.
    public func cancel() {
        loop.refuseToRun()
    }

    /// Blocks the calling thread until the work is done and all its handlers are freed.
    ///
    /// From a handler of this worker it returns at once, since it would wait for itself.
    @available(*, noasync)
    public func wait() {
        if loop.isOnItsThread { return }
        thread.hasEnded.wait()
    }

    /// Waits as `wait()` does, for asynchronous functions: no thread of theirs waits.
    public func wait() async {
        if loop.isOnItsThread { return }
        await thread.hasEnded.opened()
    }
}
#endif
