// Event loops, Foundation, Dispatch, Swift's runtime, and this library.
extension Explanation {
    static func other(_ id: String) -> Explanation? {
        foundation(id) ?? dispatch(id) ?? runtime(id) ?? own(id)
    }

    private static func foundation(_ id: String) -> Explanation? {
        switch id {
        case "foundation.timer":
            Explanation(
                "Timer on a RunLoop",
                "https://developer.apple.com/documentation/foundation/timer",
                [
                    .against(
                        "kernel.timerfd-read",
                        id,
                        "A timerfd beneath, and much above: dates in floating point on the wall clock, and a search through the "
                            + "loop's timers for each change.",
                        by: .processorTime
                    ),
                    .wallClock,
                ]
            )
        case "foundation.timer-tolerance":
            Explanation(
                "Timer with a tolerance",
                "https://developer.apple.com/documentation/foundation/timer",
                [
                    .against(
                        "foundation.timer",
                        id,
                        every: 10_000_000,
                        fires: 50,
                        "With a tolerance it is a Dispatch source, and the tolerance is used even where it shares no wake-up."
                    )
                ]
            )
        case "foundation.thread-sleep":
            Explanation(
                "Thread.sleep(until:)",
                "https://developer.apple.com/documentation/foundation/thread",
                [
                    .slack(id), .relative(id), .wallClock,
                ]
            )
        case "foundation.run-until":
            Explanation(
                "RunLoop.run(until:)",
                "https://developer.apple.com/documentation/foundation/runloop",
                [
                    .against(
                        "foundation.thread-sleep",
                        id,
                        "It returns at once where the loop has neither timers nor sources, and goes through the whole loop "
                            + "otherwise.",
                        by: .processorTime
                    )
                ]
            )
        default: nil
        }
    }

    private static func dispatch(_ id: String) -> Explanation? {
        let manual = "dispatch_source_create(3)"
        switch id {
        case "dispatch.source", "dispatch.source-strict", "dispatch.source-global":
            return Explanation(
                "DispatchSource.makeTimerSource(…)",
                manual,
                [
                    .against(
                        "kernel.timerfd-epoll",
                        id,
                        "A thread of Dispatch waits in epoll for a timerfd and hands the source to a thread of the pool: two "
                            + "threads are woken for a fire."
                    ),
                    Trap("The leeway is 0 only where it is asked for: schedule(deadline:) has one of its own."),
                ]
            )
        case "dispatch.source-strict-spin":
            return Explanation(
                "DispatchSource.makeTimerSource(flags: .strict), and a loop that reads the clock",
                manual,
                [
                    .against(
                        "dispatch.source-strict",
                        id,
                        "A margin that is chosen once is too short on one machine and dear on another.",
                        by: .processorTime
                    )
                ]
            )
        case "dispatch.async-after":
            return Explanation(
                "DispatchQueue.asyncAfter(deadline:)",
                "dispatch_after(3)",
                [
                    .against(
                        "dispatch.source-strict",
                        id,
                        every: 20_000_000,
                        fires: 30,
                        "Its leeway is a tenth of the delay, 1 ms at least and 60 s at most, and cannot be chosen. It is used "
                            + "where another timer's wake-up is near: a program with more timers sees more of it."
                    )
                ]
            )
        case "dispatch.semaphore-wait":
            return Explanation(
                "DispatchSemaphore.wait(timeout:)",
                "dispatch_semaphore_wait(3)",
                [.slack(id), .wallClock]
            )
        default: return nil
        }
    }

    private static func runtime(_ id: String) -> Explanation? {
        let sleepManual = "https://developer.apple.com/documentation/swift/task/sleep(until:tolerance:clock:)"
        switch id {
        case "libevent.default":
            return Explanation(
                "event_add(…) on a plain base",
                "event2/event.h",
                [
                    .against(
                        "libevent.precise",
                        id,
                        "Its clock is CLOCK_MONOTONIC_COARSE, which stands still between ticks, and it waits in whole milliseconds."
                    )
                ]
            )
        case "libevent.precise":
            return Explanation(
                "event_add(…), EVENT_BASE_FLAG_PRECISE_TIMER",
                "event2/event.h",
                [
                    .against(
                        "libevent.timerfd",
                        id,
                        "Timeouts are relative and in microseconds, and a timerfd is armed anew in every turn of the loop.",
                        by: .processorTime
                    )
                ]
            )
        case "libevent.timerfd":
            return Explanation(
                "a timerfd as an event",
                "event2/event.h, timerfd_create(2)",
                [
                    .against("kernel.timerfd-epoll", id, "What a loop around the same calls adds.", by: .processorTime)
                ]
            )
        case "swift.task-sleep":
            return Explanation(
                "Task.sleep(until:clock:)",
                sleepManual,
                [
                    .against(
                        "swift.task-sleep-zero-tolerance",
                        id,
                        every: 20_000_000,
                        fires: 30,
                        "Without a tolerance it has Dispatch's leeway: a tenth of the delay, used where another timer's wake-up is "
                            + "near."
                    ),
                    Trap("The task goes on where its executor has a thread free: one more hop."),
                ]
            )
        case "swift.task-sleep-zero-tolerance":
            return Explanation(
                "Task.sleep(until:tolerance: .zero)",
                sleepManual,
                [
                    .against(
                        "kernel.timerfd-epoll",
                        id,
                        "The task goes on where its executor has a thread free: one more hop."
                    )
                ]
            )
        case "swift.task-sleep-for":
            return Explanation(
                "Task.sleep(for:)",
                sleepManual,
                [
                    .against(
                        "swift.task-sleep",
                        id,
                        "It is relative: what passes between the look at the clock and the call is added to each sleep."
                    ),
                    Trap("Its clock is CLOCK_BOOTTIME: it goes on while the system is suspended."),
                ]
            )
        case "swift.timerfd-executor":
            return Explanation(
                "a TaskExecutor with one timerfd",
                "timerfd_create(2), SE-0417",
                [
                    .against(
                        "kernel.timerfd-epoll",
                        id,
                        "A task goes on where it slept: no other thread is woken. Each sleep is one more continuation.",
                        by: .processorTime
                    )
                ]
            )
        case "libuv.timer", "asio.steady-timer":
            return Explanation(
                id == "libuv.timer" ? "uv_timer_start(…)" : "boost::asio::steady_timer::async_wait(…)",
                id == "libuv.timer" ? "https://docs.libuv.org/en/v1.x/timer.html" : "Boost.Asio, steady_timer",
                [
                    .against(
                        "kernel.epoll-pwait2",
                        id,
                        id == "libuv.timer"
                            ? "Its timeouts are whole milliseconds, and count from when the turn of its loop began."
                            : "Its loop waits in epoll for a timerfd, which it arms by what remains."
                    )
                ]
            )
        case "swift.async-timer-sequence":
            return Explanation(
                "AsyncTimerSequence",
                "https://github.com/apple/swift-async-algorithms",
                [
                    .against(
                        "swift.task-sleep-zero-tolerance",
                        id,
                        "Its ticks are on a grid; those that a slow reader missed come at once, one after another."
                    )
                ]
            )
        case "nio.schedule-task", "nio.schedule-callback":
            return Explanation(
                "EventLoop.\(id == "nio.schedule-task" ? "scheduleTask" : "scheduleCallback")",
                "NIOCore",
                [
                    .against(
                        "kernel.timerfd-epoll",
                        id,
                        "Its timerfd is armed with what remains, and only if that is earlier."
                    ),
                    Trap("scheduleRepeatedTask counts from the end of the task: it drifts."),
                ]
            )
        default: return nil
        }
    }

    private static func own(_ id: String) -> Explanation? {
        guard id.hasPrefix("hrtimer.") else { return nil }
        let call =
            switch id.split(separator: ".")[1] {
            case "engine": "TimerEngine.schedule(at:every:)"
            case "source": "TimerSource.schedule(deadline:repeating:)"
            case "loop-timer": "LoopTimer on a TimerLoop"
            case "display-link": "DisplayLink.add(to:forMode:)"
            case "clock-sleep": "MonotonicClock.sleep(until:)"
            case "executor-sleep": "MonotonicClock.sleep(until:) on a TimerExecutor"
            default: "Task.sleep(until:) under TimerExecutors.install()"
            }
        if id == "hrtimer.source.precise.budget-0.5" {
            return Explanation(
                "TimerSource, its engine with a spinBudget of 0.5 and a spinCoverage of 0.999",
                "its documentation comment",
                [
                    .against(
                        "hrtimer.source.precise",
                        id,
                        "What the last percentile costs: it spins for what nearly all wake-ups take.",
                        by: .processorTime
                    )
                ]
            )
        }
        if id == "hrtimer.executors.task-sleep" {
            return Explanation(
                call,
                "its documentation comment",
                [
                    .against(
                        "swift.task-sleep",
                        id,
                        "An engine wakes for it, earlier by the usual wake latency. The task goes on in the pool, one hop later."
                    )
                ]
            )
        }
        let isPrecise = id.hasSuffix(".precise")
        let twin = isPrecise ? String(id.dropLast(8)) : id
        let normal = Subject.all.contains { $0.id == twin + ".normal" } ? twin + ".normal" : twin
        return Explanation(
            call,
            "its documentation comment",
            isPrecise
                ? [
                    .against(
                        normal,
                        id,
                        "It is exact because it spins: it wakes a learned margin before the deadline, within a budget.",
                        by: .processorTime
                    )
                ]
                : [
                    .against(
                        Subject.referenceID + ".slack-1",
                        id,
                        "It cannot be earlier than the kernel wakes its thread, which sleeps absolutely and with a slack of "
                            + "1 ns."
                    )
                ]
        )
    }
}
