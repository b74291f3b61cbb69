#if os(Linux)
import CHRTimer
import HRTimerCore
import HRTimerLibc

/// The thread of a `LoopThread`, whose loop is kept alive, or of a `LoopWorker`, whose loop is not.
struct RunningLoop: Sendable {
    /// The thread, which the owner joins or detaches.
    let thread: pthread_t
    let settingResults = ThreadSettingResults()
    /// Opened by the thread when its loop has ended and all handlers are freed.
    let hasEnded = Latch()

    /// Starts the thread, which calls `setUp` and then runs the loop in the default mode until `refuseToRun()` is called, or
    /// until a loop that is not kept alive has nothing left. Messages of a virtual time name the thread by `kind` and `name`.
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
            // For handlers that sleep; the timerfd that the loop waits by is exempt from slack. Cannot fail, since 1 is
            // within the range.
            if precision > .coalesced { _ = hrt_thread_set_timer_slack_ns(1) }
            work()
        }
    }
}

extension TimerLoop {
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
#endif
