/// What a reader should know about a subject before reading its figures.
struct Explanation: Sendable {
    /// The call, or the calls, that wait.
    let call: String
    /// The manual page or document that describes it.
    let manual: String
    let traps: [Trap]

    init(_ call: String, _ manual: String, _ traps: [Trap]) {
        self.call = call
        self.manual = manual
        self.traps = traps
    }

    /// Returns the explanation of a subject; every subject has one.
    static func of(_ subject: Subject) -> Explanation? {
        let id = subject.id
        let plain = id.hasSuffix(".slack-1") ? String(id.dropLast(8)) : id
        return kernelByHand(id) ?? kernelSleep(plain) ?? kernelWait(plain) ?? kernelTimer(plain) ?? other(plain)
    }

    private static func kernelSleep(_ id: String) -> Explanation? {
        switch id {
        case "kernel.clock-nanosleep-abs":
            Explanation("clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, …)", "clock_nanosleep(2)", [.slack(id)])
        case "kernel.clock-nanosleep-rel":
            Explanation("clock_nanosleep(CLOCK_MONOTONIC, 0, …)", "clock_nanosleep(2)", [.slack(id), .relative(id)])
        case "kernel.nanosleep":
            Explanation("nanosleep(…)", "nanosleep(2)", [.slack(id), .relative(id)])
        case "kernel.futex-abs":
            Explanation("futex(FUTEX_WAIT_BITSET_PRIVATE, absolute timeout)", "futex(2)", [.slack(id)])
        case "kernel.futex-rel":
            Explanation("futex(FUTEX_WAIT_PRIVATE, relative timeout)", "futex(2)", [.slack(id), .relative(id)])
        case "kernel.spin-clock", "kernel.spin-tsc", "kernel.umwait":
            Explanation(
                id == "kernel.umwait" ? "umonitor, umwait" : "no call at all",
                id == "kernel.umwait" ? "Intel SDM, volume 2" : "vdso(7)",
                [
                    .against(
                        Subject.referenceID,
                        id,
                        "It never sleeps: a whole processor for each waiting thread, and others must wait for it.",
                        by: .processorTime
                    )
                ]
            )
        default: nil
        }
    }

    /// Explains what programs write themselves, and the limits for them.
    private static func kernelByHand(_ id: String) -> Explanation? {
        switch id {
        case "kernel.bare-loop.slack-1":
            Explanation(
                "clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, …)",
                "clock_nanosleep(2)",
                [
                    .against(
                        Subject.referenceID,
                        id,
                        "It keeps no account and leaves no deadline out: one that was missed is fired late all the same.",
                        by: .processorTime
                    )
                ]
            )
        case "kernel.hop.slack-1":
            Explanation(
                "clock_nanosleep(…) on one thread, futex(FUTEX_WAKE_PRIVATE) to another",
                "futex(2)",
                [
                    .against(
                        "\(Subject.referenceID).slack-1",
                        id,
                        "Two threads are woken one after the other, each from idleness.",
                        by: .processorTime
                    )
                ]
            )
        case "kernel.sdl-delay-precise":
            Explanation("naps by clock_nanosleep(…), then reading the clock", "clock_nanosleep(2)", [fixedMargin(id)])
        case "kernel.spin-sleep":
            Explanation("clock_nanosleep(…), then sched_yield()", "sched_yield(2)", [fixedMargin(id)])
        case _ where id.hasPrefix("kernel.hybrid"):
            Explanation("clock_nanosleep(…), then reading the clock", "clock_nanosleep(2)", [fixedMargin(id)])
        default: nil
        }
    }

    private static func fixedMargin(_ id: String) -> Trap {
        .against(
            Subject.referenceID,
            id,
            "A fixed margin is spun away at every fire, and a wake-up later than the margin is late all the same.",
            by: .processorTime
        )
    }

    private static func kernelWait(_ id: String) -> Explanation? {
        switch id {
        case "kernel.epoll-wait":
            Explanation("epoll_wait(…, timeout in ms)", "epoll_wait(2)", [.wholeMilliseconds(id), .pollRule(id)])
        case "kernel.poll":
            Explanation("poll(NULL, 0, timeout in ms)", "poll(2)", [.wholeMilliseconds(id), .pollRule(id)])
        case "kernel.epoll-pwait2":
            Explanation("epoll_pwait2(…, timespec)", "epoll_pwait2(2)", [.pollRule(id), .slack(id), .relative(id)])
        case "kernel.ppoll":
            Explanation("ppoll(NULL, 0, timespec)", "poll(2)", [.pollRule(id), .slack(id), .relative(id)])
        case "kernel.select":
            Explanation("select(0, …, timeval)", "select(2)", [.pollRule(id), .slack(id), .relative(id)])
        case "kernel.pselect":
            Explanation("pselect(0, …, timespec)", "select(2)", [.pollRule(id), .slack(id), .relative(id)])
        case "kernel.cond-clockwait":
            Explanation(
                "pthread_cond_clockwait(CLOCK_MONOTONIC)",
                "pthread_cond_clockwait(3)",
                [.slack(id), Trap("It may return for no reason: the deadline must be looked at again.")]
            )
        case "kernel.cond-timedwait":
            Explanation("pthread_cond_timedwait(…)", "pthread_cond_timedwait(3)", [.slack(id), .wallClock])
        case "kernel.sem-clockwait":
            Explanation("sem_clockwait(CLOCK_MONOTONIC)", "sem_wait(3)", [.slack(id)])
        case "kernel.sem-timedwait": Explanation("sem_timedwait(…)", "sem_wait(3)", [.slack(id), .wallClock])
        case "kernel.mq-timedreceive":
            Explanation("mq_timedreceive(…)", "mq_receive(3)", [.slack(id), .wallClock])
        case "kernel.sigtimedwait": Explanation("sigtimedwait(…)", "sigwaitinfo(2)", [.slack(id), .relative(id)])
        case "kernel.semtimedop": Explanation("semtimedop(…)", "semop(2)", [.slack(id), .relative(id)])
        case "kernel.so-rcvtimeo":
            Explanation(
                "setsockopt(SO_RCVTIMEO), recv(…)",
                "socket(7)",
                [
                    .against(
                        Subject.referenceID,
                        id,
                        every: 10_000_000,
                        fires: 30,
                        "It counts in the kernel's ticks of 1 to 10 ms (CONFIG_HZ), rounded up, and one more so as not to be "
                            + "early. A timeout of 0 is no timeout."
                    )
                ]
            )
        default: nil
        }
    }

    private static func kernelTimer(_ id: String) -> Explanation? {
        switch id {
        case "kernel.timerfd-read":
            Explanation("timerfd_settime(TFD_TIMER_ABSTIME), read(…)", "timerfd_create(2)", [slackless(id)])
        case "kernel.timerfd-periodic":
            Explanation(
                "timerfd_settime(first, interval), read(…)",
                "timerfd_create(2)",
                [
                    slackless(id),
                    Trap("read gives the number of expirations since the last one: more than 1 is missed deadlines."),
                ]
            )
        case "kernel.timerfd-epoll":
            Explanation(
                "timerfd_settime(…), epoll_wait(…), read(…)",
                "timerfd_create(2), epoll(7)",
                [
                    against("kernel.timerfd-read", id, "Three system calls a fire, where a plain read has two.")
                ]
            )
        case "kernel.timerfd-epoll-et":
            Explanation(
                "timerfd_settime(…), epoll_wait(EPOLLET)",
                "timerfd_create(2), epoll(7)",
                [
                    against("kernel.timerfd-epoll", id, "Without the read: arming it anew makes the next edge.")
                ]
            )
        case "kernel.timer-create-signal", "kernel.setitimer":
            Explanation(
                id == "kernel.setitimer" ? "setitimer(ITIMER_REAL)" : "timer_create(SIGEV_SIGNAL), timer_settime(…)",
                id == "kernel.setitimer" ? "setitimer(2)" : "timer_create(2)",
                [
                    against(
                        "kernel.timerfd-read",
                        id,
                        "The signal goes to the process: any thread that does not block it may get it, and its system calls "
                            + "end with EINTR. There is one signal however many expiries there were."
                    ),
                    Trap.exemptFromSlack,
                ]
            )
        case "kernel.timer-create-thread-id":
            Explanation("timer_create(SIGEV_THREAD_ID), sigwaitinfo(…)", "timer_create(2)", [slackless(id)])
        case "kernel.timer-create-thread":
            Explanation(
                "timer_create(SIGEV_THREAD)",
                "timer_create(2), sigevent(3type)",
                [
                    against(
                        "kernel.timerfd-read",
                        id,
                        "The C library makes a thread for each expiry, and a helper that stays."
                    )
                ]
            )
        case "kernel.io-uring-timeout", "kernel.io-uring-enter-timeout":
            Explanation(
                id == "kernel.io-uring-timeout"
                    ? "IORING_OP_TIMEOUT, IORING_TIMEOUT_ABS" : "io_uring_enter(EXT_ARG, timespec)",
                "io_uring_enter(2)",
                [
                    slackless(id),
                    Trap("Often forbidden: kernel.io_uring_disabled, and the seccomp filters of containers."),
                ]
            )
        case "kernel.sched-deadline":
            Explanation(
                "sched_setattr(SCHED_DEADLINE), sched_yield()",
                "sched(7)",
                [
                    against(
                        Subject.referenceID,
                        id,
                        "The scheduler wakes the thread before all others, and puts it off when its runtime is spent. Its clock is "
                            + "the scheduler's own, which drifts against CLOCK_MONOTONIC."
                    )
                ]
            )
        default: nil
        }
    }

    /// A trap for a call without slack: compared with a call that has slack.
    private static func slackless(_ id: String) -> Trap {
        against(Subject.referenceID, id, Trap.exemptFromSlack.text)
    }

    private static func against(_ rivalID: String, _ id: String, _ text: String) -> Trap {
        .against(rivalID, id, text, by: rivalID == Subject.referenceID ? .lateness : .processorTime)
    }
}
