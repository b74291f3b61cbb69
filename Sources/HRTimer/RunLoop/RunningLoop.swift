#if os(Linux)
import CHRTimer
import HRTimerCore
import HRTimerLibc

/// A thread that runs a loop of its own: a `LoopThread`'s, whose loop is kept alive, or a `LoopWorker`'s, whose is not.
struct RunningLoop: Sendable {
    /// For the owner to join or detach.
    let thread: pthread_t
    let settingResults = ThreadSettingResults()
    /// Opened by the thread when its loop has ended and all handlers are freed.
    let hasEnded = Latch()

    /// Starts the thread, which calls `setUp` and then runs the loop in the default mode until `refuseToRun()`, or until it has
    /// nothing left and is not kept alive. `kind` and `name` name the thread in messages of a virtual time.
    ///
    /// Throws EAGAIN if there is no room for a thread, EMFILE or ENFILE if there are no descriptors for its loop.
    init(
        _ loop: TimerLoop,
        _ kind: String,
        _ name: String,
        _ realTime: RealTimeSettings?,
        _ setUp: @escaping @Sendable (TimerLoop) -> Void = { _ in }
    ) throws(TimerError) {
        if let failure = loop.waiter.failure { throw failure }
        loop.reserve()
        let precision = loop.precision
        let work = loop.time.onThread("\(kind) \(name)") { [settingResults, hasEnded] in
            settingResults.withSettings(realTime, threadName: name) { wakeLatency in
                loop.waiter.wakeLatency = wakeLatency
                loop.runUntilEnded(setUp)
            }
            hasEnded.open()
        }
        thread = try startThread {
            name.withCString { hrt_thread_set_name($0) }
            // For handlers that sleep: the timerfd that the loop waits by is exempt from slack. Cannot fail: 1 is within the
            // range.
            if precision > .coalesced { _ = hrt_thread_set_timer_slack_ns(1) }
            work()
        }
    }
}

extension TimerLoop {
    /// The whole life of the calling thread.
    fileprivate func runUntilEnded(_ setUp: @Sendable (TimerLoop) -> Void) {
        guard claim() else { return }
        // From here on the thread-specific value's destructor ends the loop, should a handler exit the thread.
        CurrentLoop.adopt(self)
        setUp(self)
        while canRun { run() }
        // Now and not with the thread: all handlers are freed when `hasEnded` opens.
        end()
    }

    /// False also if it is not kept alive, and has nothing to do: `run()` would return at once.
    private var canRun: Bool {
        state.withLock { state in
            guard let index = state.modes.known(.default) else { return false }
            return !state.isEnded && state.hasWork(in: index)
        }
    }
}
#endif
