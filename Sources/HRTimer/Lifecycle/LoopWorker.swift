import CHRTimer
import Glibc
public import HRTimerCore

/// A thread that works as long as its loop has something to do: it ends when its last timer is invalidated.
///
///     try LoopWorker(name: "poller") { loop in
///         loop.add(LoopTimer(timeInterval: .seconds(1), repeats: true) { timer in
///             if poll() == .done { timer.invalidate() }   // and the thread is gone
///         }, forMode: .default)
///     }
///
/// What `Thread` and `RunLoop.current.run()` do together. The loop runs in the default mode; sources, triggers and
/// blocks keep it running as timers do. The thread holds itself: nobody needs to keep the worker. It blocks all
/// signals. For a thread that waits for work, see `TimerLoop.thread(name:time:)`.
public final class LoopWorker: Sendable {
    /// The thread's loop; once the thread has ended it takes nothing any more.
    public let loop: TimerLoop
    private let end: Latch

    /// Starts the thread, which calls `setUp` and then runs its loop. At most 15 bytes of its name are kept.
    ///
    /// With nothing added it ends at once. Throws EAGAIN if there is no room for a thread, EMFILE or ENFILE if there
    /// are no descriptors for its loop.
    @discardableResult
    public init(
        name: String = "loopworker",
        time: TimeBase = .current,
        setUp: @escaping @Sendable (TimerLoop) -> Void
    ) throws(TimerError) {
        let loop = TimerLoop(time: time)
        if let failure = loop.waiter.failure { throw failure }
        loop.reserve()
        let end = Latch()
        let turn = time.virtual?.expectTurn("the worker \(name)")
        let thread = try startThread {
            name.withCString { hrt_thread_set_name($0) }
            let work = { @Sendable in
                Self.work(loop, setUp)
                end.open()
            }
            if let turn { turn.run(work) } else { work() }
        }
        pthread_detach(thread)
        self.loop = loop
        self.end = end
    }

    /// The whole life of the calling thread, apart from its last words.
    private static func work(_ loop: TimerLoop, _ setUp: @Sendable (TimerLoop) -> Void) {
        guard loop.claim() else { return }
        CurrentLoop.adopt(loop)
        setUp(loop)
        loop.run()
        // Now and not with the thread: whoever waits finds all handlers freed.
        loop.end()
    }

    /// Whether the thread has done its work.
    public var isFinished: Bool { end.isOpen }

    /// Ends the work early: after the handler that may be running its timers are invalid, their handlers freed. Does
    /// not wait.
    public func cancel() {
        loop.refuseToRun()
    }

    /// Blocks the calling thread until the work is done and all its handlers are freed. Called from a handler of this
    /// worker it returns at once, since it would wait for itself.
    @available(*, noasync)
    public func wait() {
        if CurrentLoop.value === loop { return }
        end.wait()
    }

    /// The same for asynchronous functions: no thread of theirs waits.
    public func wait() async {
        if CurrentLoop.value === loop { return }
        await end.opened()
    }
}
