#if os(Linux)
import CHRTimer
public import HRTimerCore
import HRTimerLibc

/// A thread that does nothing but run its loop, in the default mode, until `shutdown()` is called.
///
///     let worker = try TimerLoop.thread(name: "sampler")
///     worker.loop.add(timer, forMode: .default)
///     worker.shutdown()
///
/// It blocks all signals. It ends with `shutdown()`, or when its last reference goes; then its timers are invalid, their handlers
/// and its descriptors freed. `loop.stop()` does not end it: it runs its loop again. With `loop.isKeptAlive` set to false
/// it ends by itself when the default mode has nothing left, as `LoopWorker` does.
public final class LoopThread: Sendable {
    /// The thread's loop, kept alive while it has nothing to do. It takes nothing any more once the thread has ended.
    public let loop: TimerLoop
    private let running: RunningLoop
    /// Whether the thread was joined, which one caller of `shutdown()` does while it has the lock, and others wait for it.
    private let isJoined = Locked(false)

    init(
        name: String,
        precision: TimerPrecision,
        realTime: RealTimeSettings?,
        time: TimeBase
    ) throws(TimerError) {
        loop = TimerLoop(time: time, precision: precision)
        loop.isKeptAlive = true
        running = try RunningLoop(loop, "the loop's thread", name, realTime)
    }

    deinit {
        reportNotKept()
        shutdown()
        if loop.core.isInForkedChild { return }
        // Its own handler had the last reference: nobody else can join it.
        if isJoined.withLock({ !$0 }) { pthread_detach(running.thread) }
    }

    /// What the kernel granted and refused of `realTime`, one for each setting that was asked for; none without. Waits until
    /// the thread has begun to run.
    @available(*, noasync)
    public var settingResults: [SettingResult] { running.settingResults.all }

    /// `settingResults` for asynchronous functions: no thread of theirs waits.
    public func awaitSettingResults() async -> [SettingResult] { await running.settingResults.awaitAll() }

    /// Ends the thread, after the handler that may be running, and with it its loop: as `TimerEngine.shutdown()` does with an
    /// engine. It has ended when this returns, for everybody who calls it, unless this is called by one of its handlers.
    /// Idempotent. Any thread. `pthread_join(3)`.
    @available(*, noasync)
    public func shutdown() {
        guard mustJoin() else { return }
        running.hasEnded.wait()
        join()
    }

    /// The same for asynchronous functions: no thread of theirs waits.
    public func shutdown() async {
        guard mustJoin() else { return }
        await running.hasEnded.opened()
        // It waits for nobody any more.
        join()
    }

    /// Lets the loop run no more. False where there is no thread to wait for, or this is it.
    private func mustJoin() -> Bool {
        if loop.core.isInForkedChild { return false }
        loop.refuseToRun()
        // As long as it is not joined no other thread has its number; and after that there is nothing to wait for.
        return !isCurrent(running.thread)
    }

    private func join() {
        isJoined.withLock { isJoined in
            if !isJoined { pthread_join(running.thread, nil) }
            isJoined = true
        }
    }
}

extension TimerLoop {
    /// Starts a thread that runs a loop of its own. At most 15 bytes of its name are kept. The precision is the loop's; its
    /// thread's timer slack is 1 ns except in `.coalesced`, `PR_SET_TIMERSLACK(2const)`.
    ///
    /// With `realTime` the thread asks the kernel for that, its own timer slack among it, and
    /// `LoopThread.settingResults` has the results: what is refused is not fatal.
    ///
    /// Throws EAGAIN if there is no room for a thread, EMFILE or ENFILE if there are no descriptors for its loop.
    public static func thread(
        name: String = "timerloop",
        precision: TimerPrecision = .coalesced,
        realTime: RealTimeSettings? = nil,
        time: TimeBase = .current
    ) throws(TimerError) -> LoopThread {
        try LoopThread(name: name, precision: precision, realTime: realTime, time: time)
    }

    /// Stops all runs, nested ones too, and lets none begin.
    func refuseToRun() {
        state.withLock { $0.setEnded() }
        waiter.wake()
    }
}
#endif
