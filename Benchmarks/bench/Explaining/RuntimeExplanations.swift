// SPDX-License-Identifier: Apache-2.0
// Event loops, Foundation, Dispatch, Swift's runtime, and this library.
extension Explanation {
    private static let apple = "https://developer.apple.com/documentation"
    private static let sleepManual = "\(apple)/swift/task/sleep(until:tolerance:clock:)"
    private static let sourceManual = "dispatch_source_create(3)"
    private static let ownManual = "its documentation comment"

    static let libraries: [Explanation] = [
        Explanation("foundation.timer", "Timer on a RunLoop", "\(apple)/foundation/timer")
            .against(
                "kernel.timerfd-read",
                "A timerfd beneath, and much above: dates in floating point on the wall clock, and a search through the loop's "
                    + "timers for each change."
            )
            .traps(.wallClock),
        Explanation("foundation.timer-tolerance", "Timer with a tolerance", "\(apple)/foundation/timer")
            .against(
                "foundation.timer",
                every: 10_000_000,
                fires: 50,
                "With a tolerance it is a Dispatch source, and the tolerance is used even where it shares no wake-up."
            ),
        Explanation("foundation.thread-sleep", "Thread.sleep(until:)", "\(apple)/foundation/thread")
            .traps(.slack, .relative, .wallClock),
        Explanation("foundation.run-until", "RunLoop.run(until:)", "\(apple)/foundation/runloop")
            .against(
                "foundation.thread-sleep",
                "It returns at once where the loop has neither timers nor sources, and goes through the whole loop otherwise."
            ),
        Explanation(
            "dispatch.source-strict-spin",
            "DispatchSource.makeTimerSource(flags: .strict), and a loop that reads the clock",
            sourceManual
        )
        .against(
            "dispatch.source-strict",
            "A margin that is chosen once is too short on one machine and dear on another."
        ),
        Explanation("dispatch.source*", "DispatchSource.makeTimerSource(…)", sourceManual)
            .against(
                "kernel.timerfd-epoll",
                "A thread of Dispatch waits in epoll for a timerfd and hands the source to a thread of the pool: two threads "
                    + "are woken for a fire."
            )
            .says("The leeway is 0 only where it is asked for: schedule(deadline:) has one of its own."),
        Explanation("dispatch.async-after", "DispatchQueue.asyncAfter(deadline:)", "dispatch_after(3)")
            .against(
                "dispatch.source-strict",
                every: 20_000_000,
                fires: 30,
                "Its leeway is a tenth of the delay, 1 ms at least and 60 s at most, and cannot be chosen. It is used where "
                    + "another timer's wake-up is near: a program with more timers sees more of it."
            ),
        Explanation("dispatch.semaphore-wait", "DispatchSemaphore.wait(timeout:)", "dispatch_semaphore_wait(3)")
            .traps(.slack, .wallClock),
        Explanation("libevent.default", "event_add(…) on a plain base", "event2/event.h")
            .against(
                "libevent.precise",
                "Its clock is CLOCK_MONOTONIC_COARSE, which stands still between ticks, and it waits in whole milliseconds."
            ),
        Explanation("libevent.precise", "event_add(…), EVENT_BASE_FLAG_PRECISE_TIMER", "event2/event.h")
            .against(
                "libevent.timerfd",
                "Timeouts are relative and in microseconds, and a timerfd is armed anew in every turn of the loop."
            ),
        Explanation("libevent.timerfd", "a timerfd as an event", "event2/event.h, timerfd_create(2)")
            .against("kernel.timerfd-epoll", "What a loop around the same calls adds."),
        Explanation("libuv.timer", "uv_timer_start(…)", "https://docs.libuv.org/en/v1.x/timer.html")
            .against(
                "kernel.epoll-pwait2",
                "Its timeouts are whole milliseconds, and count from when the turn of its loop began."
            ),
        Explanation("asio.steady-timer", "boost::asio::steady_timer::async_wait(…)", "Boost.Asio, steady_timer")
            .against("kernel.epoll-pwait2", "Its loop waits in epoll for a timerfd, which it arms by what remains."),
    ]

    private static let oneMoreHop = "The task goes on where its executor has a thread free: one more hop."
    private static let rearmedByWhatRemains = Trap.against(
        "kernel.timerfd-epoll",
        "Its timerfd is armed with what remains, and only if that is earlier."
    )
    private static let drifts = Trap("scheduleRepeatedTask counts from the end of the task: it drifts.")

    static let runtimes: [Explanation] = [
        Explanation("swift.task-sleep", "Task.sleep(until:clock:)", sleepManual)
            .against(
                "swift.task-sleep-zero-tolerance",
                every: 20_000_000,
                fires: 30,
                "Without a tolerance it has Dispatch's leeway: a tenth of the delay, used where another timer's wake-up is near."
            )
            .says(oneMoreHop),
        Explanation("swift.task-sleep-zero-tolerance", "Task.sleep(until:tolerance: .zero)", sleepManual)
            .against("kernel.timerfd-epoll", oneMoreHop),
        Explanation("swift.task-sleep-for", "Task.sleep(for:)", sleepManual)
            .against(
                "swift.task-sleep",
                "It is relative: what passes between the look at the clock and the call is added to each sleep."
            )
            .says("Its clock is CLOCK_BOOTTIME: it goes on while the system is suspended."),
        Explanation("swift.timerfd-executor", "a TaskExecutor with one timerfd", "timerfd_create(2), SE-0417")
            .against(
                "kernel.timerfd-epoll",
                "A task goes on where it slept: no other thread is woken. Each sleep is one more continuation."
            ),
        Explanation(
            "swift.async-timer-sequence",
            "AsyncTimerSequence",
            "https://github.com/apple/swift-async-algorithms"
        )
        .against(
            "swift.task-sleep-zero-tolerance",
            "Its ticks are on a grid; those that a slow reader missed come at once, one after another."
        ),
        Explanation("nio.schedule-task", "EventLoop.scheduleTask", "NIOCore").traps(rearmedByWhatRemains, drifts),
        Explanation("nio.schedule-callback", "EventLoop.scheduleCallback", "NIOCore")
            .traps(rearmedByWhatRemains, drifts),
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

    static let own: [Explanation] =
        [
            Explanation(
                "hrtimer.source.precise.budget-0.5",
                "TimerSource, its engine with a spinBudget of 0.5 and a spinCoverage of 0.999",
                ownManual
            )
            .against(
                "hrtimer.source.precise",
                "What the last percentile costs: it spins for what nearly all wake-ups take."
            ),
            Explanation(
                "hrtimer.engine.normal.slice-inherited",
                "TimerEngine.schedule(at:every:), its engine with a timeSlice of nil",
                ownManual
            )
            .against(
                "hrtimer.engine.normal",
                "What the short slice is worth: beside threads that compute, its thread waits for their longer ones."
            ),
            Explanation("hrtimer.executors.task-sleep", "Task.sleep(until:) under TimerExecutors.install()", ownManual)
                .against(
                    "swift.task-sleep",
                    "An engine wakes for it, earlier by the usual wake latency. The task goes on in the pool, one hop later."
                ),
            precise("hrtimer.executors.task-sleep", "Task.sleep(until:) under TimerExecutors.install()", normal: ""),
            precise("hrtimer.display-link", "DisplayLink.add(to:forMode:)", normal: ""),
            notEarlier("hrtimer.display-link*", "DisplayLink.add(to:forMode:)"),
            notEarlier("hrtimer.ticks", "MonotonicClock.ticks(every:)"),
        ]
        + ownCalls.flatMap { id, call in [notEarlier("\(id).normal", call), precise(id, call, normal: ".normal")] }

    private static func precise(_ id: String, _ call: String, normal: String) -> Explanation {
        Explanation("\(id).precise", call, ownManual)
            .against(
                id + normal,
                "It is exact because it spins: it wakes a learned margin before the deadline, within a budget."
            )
    }

    private static func notEarlier(_ id: String, _ call: String) -> Explanation {
        Explanation(id, call, ownManual)
            .against(
                "\(Subject.referenceID).slack-1",
                "It cannot be earlier than the kernel wakes its thread, which sleeps absolutely and with a slack of 1 ns."
            )
    }
}
