import CHRTimer
import Glibc
public import HRTimerCore

/// A thread that does nothing but run its loop, in the default mode, until it is told to end.
///
///     let worker = try TimerLoop.thread(name: "sampler")
///     worker.loop.add(timer, forMode: .default)
///     worker.end()
///
/// It blocks all signals. It ends with `end()`, or when its last reference goes; then its timers are invalid, their handlers
/// and its descriptors freed. `loop.stop()` does not end it: it runs its loop again. With `loop.isKeptAlive` set to false
/// it ends by itself when the default mode has nothing left, as `LoopWorker` does.
public final class LoopThread: Sendable {
    /// The thread's loop, kept alive while it has nothing to do. It takes nothing any more once the thread has ended.
    public let loop: TimerLoop
    private let thread: pthread_t
    private let threadGrants: ThreadGrants
    /// Whether the thread was joined, which one caller of `end()` does while it has the lock, and others wait for it.
    private let isJoined = Locked(false)
    /// On a virtual time whose threads take turns: opened by the thread in its last one.
    private let hasEnded: Latch?

    init(
        name: String,
        precision: TimerPrecision,
        realTime: RealTimeSettings?,
        time: TimeBase
    ) throws(TimerError) {
        let loop = TimerLoop(time: time, precision: precision)
        if let failure = loop.waiter.failure { throw failure }
        loop.isKeptAlive = true
        loop.reserve()
        let grants = ThreadGrants()
        threadGrants = grants
        let turn = time.virtual?.expectTurn("the loop's thread \(name)")
        let hasEnded = turn.map { _ in Latch() }
        self.hasEnded = hasEnded
        thread = try startThread {
            name.withCString { hrt_thread_set_name($0) }
            // For handlers that sleep: the timerfd that the loop waits by is exempt from slack. Cannot fail: 1 is within the
            // range.
            if precision > .coalesced { _ = hrt_thread_set_timer_slack_ns(1) }
            let work = { grants.withSettings(realTime, threadName: name) { loop.runUntilEnded() } }
            guard let turn else { return work() }
            turn.run {
                work()
                hasEnded?.open()
            }
        }
        self.loop = loop
    }

    deinit {
        reportNotKept()
        end()
        if loop.core.isInherited { return }
        // Its own handler had the last reference: nobody else can join it.
        if isJoined.withLock({ !$0 }) { pthread_detach(thread) }
    }

    /// What the kernel granted and refused of `realTime`, one for each setting that was asked for; none without. Waits until
    /// the thread has begun to run.
    @available(*, noasync)
    public var grants: [SettingGrant] { threadGrants.all }

    /// `grants` for asynchronous functions: no thread of theirs waits.
    public func awaitGrants() async -> [SettingGrant] { await threadGrants.awaitAll() }

    /// Ends the thread, after the handler that may be running, and with it its loop: as `TimerEngine.shutdown()` does with an
    /// engine. It has ended when this returns, for everybody who calls it, unless this is called by one of its handlers.
    /// Idempotent. Any thread. `pthread_join(3)`.
    @available(*, noasync)
    public func end() {
        if loop.core.isInherited { return }
        loop.refuseToRun()
        // As long as it is not joined no other thread has its number; and after that there is nothing to wait for.
        if isCurrent(thread) { return }
        hasEnded?.wait()
        join()
    }

    private func join() {
        isJoined.withLock { isJoined in
            if !isJoined { pthread_join(thread, nil) }
            isJoined = true
        }
    }

    /// The same for asynchronous functions: no thread of theirs waits.
    public func end() async {
        if loop.core.isInherited { return }
        loop.refuseToRun()
        if isCurrent(thread) { return }
        guard let hasEnded else { return await onThreadOfItsOwn { self.end() } }
        await hasEnded.opened()
        // It waits for nobody any more.
        join()
    }
}

extension TimerLoop {
    /// Starts a thread that runs a loop of its own. At most 15 bytes of its name are kept. The precision is the loop's; its
    /// thread's timer slack is 1 ns except in `.coalesced`, `PR_SET_TIMERSLACK(2const)`.
    ///
    /// With `realTime` the thread asks the kernel for that, its own timer slack among it, and `LoopThread.grants` tells what
    /// came of it: what is refused is not fatal.
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

    /// The whole life of the calling thread.
    fileprivate func runUntilEnded() {
        guard claim() else { return }
        // From here on the thread-specific value's destructor ends the loop.
        CurrentLoop.adopt(self)
        while canRun { run() }
    }

    /// False also if it is not kept alive any more, and `run()` would return at once.
    private var canRun: Bool {
        state.withLock { state in
            guard let index = state.modes.known(.default) else { return false }
            return !state.isEnded && state.hasWork(in: index)
        }
    }

    /// Stops all runs, nested ones too, and lets none begin.
    func refuseToRun() {
        state.withLock { $0.setEnded() }
        waiter.wake()
    }
}
