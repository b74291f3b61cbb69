// Event loops, Foundation, Dispatch, Swift's runtime, and this library.
extension Explanation {
    private static let apple = "https://developer.apple.com/documentation"
    private static let sleepManual = "\(apple)/swift/task/sleep(until:tolerance:clock:)"
    private static let sourceManual = "dispatch_source_create(3)"
    private static let ownManual = "its documentation comment"

    static let libraries = [
        ExplanationRow(
            "foundation.timer",
            "Timer on a RunLoop",
            "\(apple)/foundation/timer",
            .dearer(
                than: "kernel.timerfd-read",
                "A timerfd beneath, and much above: dates in floating point on the wall clock, and a search through the loop's "
                    + "timers for each change."
            ),
            .wallClock
        ),
        ExplanationRow(
            "foundation.timer-tolerance",
            "Timer with a tolerance",
            "\(apple)/foundation/timer",
            .later(
                than: "foundation.timer",
                every: 10_000_000,
                fires: 50,
                "With a tolerance it is a Dispatch source, and the tolerance is used even where it shares no wake-up."
            )
        ),
        ExplanationRow(
            "foundation.thread-sleep",
            "Thread.sleep(until:)",
            "\(apple)/foundation/thread",
            .slack,
            .relative,
            .wallClock
        ),
        ExplanationRow(
            "foundation.run-until",
            "RunLoop.run(until:)",
            "\(apple)/foundation/runloop",
            .dearer(
                than: "foundation.thread-sleep",
                "It returns at once where the loop has neither timers nor sources, and goes through the whole loop otherwise."
            )
        ),
        ExplanationRow(
            "dispatch.source-strict-spin",
            "DispatchSource.makeTimerSource(flags: .strict), and a loop that reads the clock",
            sourceManual,
            .dearer(
                than: "dispatch.source-strict",
                "A margin that is chosen once is too short on one machine and dear on another."
            )
        ),
        ExplanationRow(
            "dispatch.source*",
            "DispatchSource.makeTimerSource(…)",
            sourceManual,
            .later(
                than: "kernel.timerfd-epoll",
                "A thread of Dispatch waits in epoll for a timerfd and hands the source to a thread of the pool: two threads "
                    + "are woken for a fire."
            ),
            .says("The leeway is 0 only where it is asked for: schedule(deadline:) has one of its own.")
        ),
        ExplanationRow(
            "dispatch.async-after",
            "DispatchQueue.asyncAfter(deadline:)",
            "dispatch_after(3)",
            .later(
                than: "dispatch.source-strict",
                every: 20_000_000,
                fires: 30,
                "Its leeway is a tenth of the delay, 1 ms at least and 60 s at most, and cannot be chosen. It is used where "
                    + "another timer's wake-up is near: a program with more timers sees more of it."
            )
        ),
        ExplanationRow(
            "dispatch.semaphore-wait",
            "DispatchSemaphore.wait(timeout:)",
            "dispatch_semaphore_wait(3)",
            .slack,
            .wallClock
        ),
        ExplanationRow(
            "libevent.default",
            "event_add(…) on a plain base",
            "event2/event.h",
            .later(
                than: "libevent.precise",
                "Its clock is CLOCK_MONOTONIC_COARSE, which stands still between ticks, and it waits in whole milliseconds."
            )
        ),
        ExplanationRow(
            "libevent.precise",
            "event_add(…), EVENT_BASE_FLAG_PRECISE_TIMER",
            "event2/event.h",
            .dearer(
                than: "libevent.timerfd",
                "Timeouts are relative and in microseconds, and a timerfd is armed anew in every turn of the loop."
            )
        ),
        ExplanationRow(
            "libevent.timerfd",
            "a timerfd as an event",
            "event2/event.h, timerfd_create(2)",
            .dearer(than: "kernel.timerfd-epoll", "What a loop around the same calls adds.")
        ),
        ExplanationRow(
            "libuv.timer",
            "uv_timer_start(…)",
            "https://docs.libuv.org/en/v1.x/timer.html",
            .later(
                than: "kernel.epoll-pwait2",
                "Its timeouts are whole milliseconds, and count from when the turn of its loop began."
            )
        ),
        ExplanationRow(
            "asio.steady-timer",
            "boost::asio::steady_timer::async_wait(…)",
            "Boost.Asio, steady_timer",
            .later(
                than: "kernel.epoll-pwait2",
                "Its loop waits in epoll for a timerfd, which it arms by what remains."
            )
        ),
    ]

    private static let oneMoreHop = "The task goes on where its executor has a thread free: one more hop."
    private static let rearmedByWhatRemains = TrapKind.later(
        than: "kernel.timerfd-epoll",
        "Its timerfd is armed with what remains, and only if that is earlier."
    )
    private static let drifts = TrapKind.says("scheduleRepeatedTask counts from the end of the task: it drifts.")

    static let runtimes = [
        ExplanationRow(
            "swift.task-sleep",
            "Task.sleep(until:clock:)",
            sleepManual,
            .later(
                than: "swift.task-sleep-zero-tolerance",
                every: 20_000_000,
                fires: 30,
                "Without a tolerance it has Dispatch's leeway: a tenth of the delay, used where another timer's wake-up is near."
            ),
            .says(oneMoreHop)
        ),
        ExplanationRow(
            "swift.task-sleep-zero-tolerance",
            "Task.sleep(until:tolerance: .zero)",
            sleepManual,
            .later(than: "kernel.timerfd-epoll", oneMoreHop)
        ),
        ExplanationRow(
            "swift.task-sleep-for",
            "Task.sleep(for:)",
            sleepManual,
            .later(
                than: "swift.task-sleep",
                "It is relative: what passes between the look at the clock and the call is added to each sleep."
            ),
            .says("Its clock is CLOCK_BOOTTIME: it goes on while the system is suspended.")
        ),
        ExplanationRow(
            "swift.timerfd-executor",
            "a TaskExecutor with one timerfd",
            "timerfd_create(2), SE-0417",
            .dearer(
                than: "kernel.timerfd-epoll",
                "A task goes on where it slept: no other thread is woken. Each sleep is one more continuation."
            )
        ),
        ExplanationRow(
            "swift.async-timer-sequence",
            "AsyncTimerSequence",
            "https://github.com/apple/swift-async-algorithms",
            .later(
                than: "swift.task-sleep-zero-tolerance",
                "Its ticks are on a grid; those that a slow reader missed come at once, one after another."
            )
        ),
        ExplanationRow("nio.schedule-task", "EventLoop.scheduleTask", "NIOCore", rearmedByWhatRemains, drifts),
        ExplanationRow("nio.schedule-callback", "EventLoop.scheduleCallback", "NIOCore", rearmedByWhatRemains, drifts),
    ]

    /// Our own calls, each with the subject that a precise one is compared with.
    private static let ownCalls = [
        ("hrtimer.engine", "TimerEngine.schedule(at:every:)"),
        ("hrtimer.source", "TimerSource.schedule(deadline:repeating:)"),
        ("hrtimer.source.dispatch-queue", "TimerSource.schedule(deadline:repeating:)"),
        ("hrtimer.loop-timer", "LoopTimer on a TimerLoop"),
        ("hrtimer.clock-sleep", "MonotonicClock.sleep(until:)"),
        ("hrtimer.executor-sleep", "MonotonicClock.sleep(until:) on a TimerExecutor"),
    ]

    static let own =
        [
            ExplanationRow(
                "hrtimer.source.precise.budget-0.5",
                "TimerSource, its engine with a spinBudget of 0.5 and a spinCoverage of 0.999",
                ownManual,
                .dearer(
                    than: "hrtimer.source.precise",
                    "What the last percentile costs: it spins for what nearly all wake-ups take."
                )
            ),
            ExplanationRow(
                "hrtimer.executors.task-sleep",
                "Task.sleep(until:) under TimerExecutors.install()",
                ownManual,
                .later(
                    than: "swift.task-sleep",
                    "An engine wakes for it, earlier by the usual wake latency. The task goes on in the pool, one hop later."
                )
            ),
            precise("hrtimer.executors.task-sleep", "Task.sleep(until:) under TimerExecutors.install()", normal: ""),
            precise("hrtimer.display-link", "DisplayLink.add(to:forMode:)", normal: ""),
            notEarlier("hrtimer.display-link*", "DisplayLink.add(to:forMode:)"),
            notEarlier("hrtimer.ticks", "MonotonicClock.ticks(every:)"),
        ]
        + ownCalls.flatMap { id, call in [notEarlier("\(id).normal", call), precise(id, call, normal: ".normal")] }

    private static func precise(_ id: String, _ call: String, normal: String) -> ExplanationRow {
        ExplanationRow(
            "\(id).precise",
            call,
            ownManual,
            .dearer(
                than: id + normal,
                "It is exact because it spins: it wakes a learned margin before the deadline, within a budget."
            )
        )
    }

    private static func notEarlier(_ id: String, _ call: String) -> ExplanationRow {
        ExplanationRow(
            id,
            call,
            ownManual,
            .later(
                than: "\(Subject.referenceID).slack-1",
                "It cannot be earlier than the kernel wakes its thread, which sleeps absolutely and with a slack of 1 ns."
            )
        )
    }
}
