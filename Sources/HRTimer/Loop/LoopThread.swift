// SPDX-License-Identifier: Apache-2.0
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
/// The thread blocks the signals that its maker blocks. It ends with `shutdown()`, or when the last reference to this object
/// goes. Then its timers are invalid, and their handlers and the loop's descriptors are freed. `loop.stop()` does not end the
/// thread, which runs its loop again. With `loop.isKeptAlive` set to false it ends when the default mode has nothing left, as a
/// `LoopWorker` does. Any thread may use it; its handlers run one after the other.
public final class LoopThread: Sendable {
    /// The thread's loop, kept alive while it has nothing to do.
    ///
    /// Nothing can be added to it once the thread has ended.
    public let loop: TimerLoop
    private let thread: pthread_t
    private let results = ThreadSettingResults()
    /// Opened by the thread when its loop has ended and all handlers are freed.
    let hasEnded = Latch()
    /// Whether the thread ends when its loop has nothing left, and is detached: a worker's.
    private let endsWhenIdle: Bool
    /// Whether the thread was joined. One caller of `shutdown()` joins it with the lock held; the others wait for that.
    private let isJoined = Locked(false)

    /// Starts the thread, which calls `setUp` and then runs the loop in the default mode. Messages of a virtual time name the
    /// thread by what it is and by its name.
    init(
        name: String,
        precision: TimerPrecision,
        realTime: RealTimeSettings?,
        time: TimeBase,
        endsWhenIdle: Bool = false,
        _ setUp: @escaping @Sendable (TimerLoop) -> Void = { _ in }
    ) throws(TimerError) {
        let loop = TimerLoop(time: time, precision: precision)
        if !endsWhenIdle { loop.isKeptAlive = true }
        self.loop = loop
        self.endsWhenIdle = endsWhenIdle
        if let failure = loop.waiter.failure { throw failure }
        loop.reserve()
        let kind = endsWhenIdle ? "the worker" : "the loop's thread"
        let work = time.onThread("\(kind) \(name)") { [results, hasEnded] in
            results.withSettings(realTime, threadName: name) { wakeLatency in
                loop.waiter.wakeLatency = wakeLatency
                loop.runUntilEnded(setUp)
            }
            hasEnded.open()
        }
        thread = try startThread {
            unsafe name.withCString { unsafe hrt_thread_set_name($0) }
            // For handlers that sleep; the timerfd that the loop waits by is exempt from slack. Cannot fail, since 1 is
            // within the range.
            if precision > .coalesced { _ = hrt_thread_set_timer_slack_ns(1) }
            // Refused by older kernels, as RealTimeSettings.timeSlice says.
            _ = hrt_thread_set_slice_ns(UInt64(HRT_LEAST_SLICE_NS), true)
            work()
        }
        if endsWhenIdle { pthread_detach(thread) }
    }

    deinit {
        if endsWhenIdle { return }
        reportNotKept()
        shutdown()
        if loop.core.isInForkedChild { return }
        // A handler of the thread released the last reference: nobody else can join the thread.
        if isJoined.withLock({ !$0 }) { pthread_detach(thread) }
    }

    /// What the kernel granted and refused of `realTime`: one result for each setting that was requested, none without
    /// `realTime`.
    ///
    /// Waits until the thread has begun to run.
    @available(*, noasync, message: "await awaitSettingResults() instead")
    public var settingResults: [SettingResult] { results.all }

    /// Returns `settingResults` to an asynchronous function, without blocking a thread.
    public func awaitSettingResults() async -> [SettingResult] { await results.awaitAll() }

    /// Ends the thread, and with it the loop, after the handler that may be running; see `TimerEngine.shutdown()`.
    ///
    /// When this returns, the thread has ended for every caller but its own handlers. Idempotent. Any thread.
    /// `pthread_join(3)`.
    @available(*, noasync)
    public func shutdown() {
        guard mustJoin() else { return }
        hasEnded.wait()
        join()
    }

    /// Ends the thread as the other `shutdown()` does, from an asynchronous function: the task waits, and no thread does.
    public func shutdown() async {
        guard mustJoin() else { return }
        await hasEnded.opened()
        // Blocks only briefly: the thread waits for nobody any more.
        join()
    }

    /// Makes the loop refuse to run. Returns false if there is no thread to wait for, or if this is that thread.
    private func mustJoin() -> Bool {
        if loop.core.isInForkedChild { return false }
        loop.refuseToRun()
        // As long as the thread is not joined, no other thread has its id; after that there is nothing to wait for.
        return !isCurrent(thread)
    }

    private func join() {
        isJoined.withLock { isJoined in
            if !isJoined { pthread_join(thread, nil) }
            isJoined = true
        }
    }
}

extension TimerLoop {
    /// Starts a thread that runs a loop of its own.
    ///
    /// At most 15 bytes of its name are kept. `precision` is the loop's; the timer slack of its thread is 1 ns except in
    /// `.coalesced`, see `PR_SET_TIMERSLACK(2const)`. Its time slice is 100 µs where the kernel grants that, see
    /// `RealTimeSettings.timeSlice`.
    ///
    /// With `realTime` the thread requests those settings from the kernel, its own timer slack and time slice among them. A refused setting is
    /// not fatal: `LoopThread.settingResults` has the results.
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

    /// Stops all runs, nested ones too, and lets no other run begin.
    func refuseToRun() {
        state.withLock { $0.setEnded() }
        waiter.wake()
    }

    /// Runs the loop for the whole life of the calling thread.
    fileprivate func runUntilEnded(_ setUp: @Sendable (TimerLoop) -> Void) {
        guard claim() else { return }
        // From here on the destructor of the thread-specific value ends the loop if a handler exits the thread.
        CurrentLoop.adopt(self)
        setUp(self)
        while canRun { run() }
        // Ends the loop here rather than at the thread's end, so that all handlers are freed when `hasEnded` opens.
        end()
    }

    /// Whether `run()` would not return at once: the loop has not ended, and it is kept alive or has something to do.
    private var canRun: Bool {
        state.withLock { state in
            guard let index = state.modes.known(.default) else { return false }
            return !state.isEnded && state.hasWork(in: index)
        }
    }
}

/// The kernel's answers to the settings of a loop's thread. The thread itself requests the settings before anything else.
final class ThreadSettingResults: Sendable {
    private let hasRequested = Latch()
    private let answers = Locked<[SettingResult]>([])

    /// Applies the settings to the calling thread, which must be the loop's, and calls `body`; without settings it calls
    /// `body` at once. `body` gets the bound on the wake latency, which is to be held while a precise timer is due soon.
    func withSettings(_ settings: RealTimeSettings?, threadName: String, _ body: (WakeLatency?) -> Void) {
        guard let settings else {
            hasRequested.open()
            return body(nil)
        }
        let applied = AppliedSettings(settings, threadName: threadName)
        let settingResults = applied.settingResults
        answers.withLock { $0 = settingResults }
        hasRequested.open()
        body(applied.wakeLatency)
        applied.giveBack()
    }

    @available(*, noasync)
    var all: [SettingResult] {
        hasRequested.wait()
        return answers.withLock { $0 }
    }

    func awaitAll() async -> [SettingResult] {
        await hasRequested.opened()
        return answers.withLock { $0 }
    }
}
#endif
