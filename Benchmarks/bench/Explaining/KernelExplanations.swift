// SPDX-License-Identifier: Apache-2.0
// The waits and timers of Linux, and what programs write on top of them.
extension Explanation {
    private static let reference = Subject.referenceID
    private static let fixedMargin = Trap.against(
        reference,
        "A fixed margin is spun away at every fire, and a wake-up later than the margin is late all the same."
    )
    private static let spun = Trap.against(
        reference,
        "It never sleeps: a whole processor for each waiting thread, and others must wait for it."
    )
    private static let toTheProcess = Trap.against(
        "kernel.timerfd-read",
        "The signal goes to the process: any thread that does not block it may get it, and its system calls end with "
            + "EINTR. There is one signal however many expiries there were."
    )
    private static let forbidden = Trap(
        "Often forbidden: kernel.io_uring_disabled, and the seccomp filters of containers."
    )

    static let kernelWaits: [Explanation] = [
        Explanation(
            "kernel.bare-loop.slack-1",
            "clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, …)",
            "clock_nanosleep(2)"
        )
        .against(
            reference,
            "It keeps no account and leaves no deadline out: one that was missed is fired late all the same."
        ),
        Explanation(
            "kernel.sdl-delay-precise",
            "naps by clock_nanosleep(…), then reading the clock",
            "clock_nanosleep(2)"
        )
        .traps(fixedMargin),
        Explanation("kernel.spin-sleep", "clock_nanosleep(…), then sched_yield()", "sched_yield(2)").traps(fixedMargin),
        Explanation("kernel.called*", "clock_nanosleep(…), then reading the clock, then a call", "clock_nanosleep(2)")
            .traps(fixedMargin),
        Explanation(
            "\(reference).slack-1.slice-100us",
            "sched_setattr(…, sched_runtime 100 µs), then clock_nanosleep(…)",
            "sched_setattr(2)"
        )
        .against(
            "\(reference).slack-1",
            "It matters beside threads that compute, and before Linux 6.12 the kernel ignores it without an error."
        ),
        Explanation("kernel.hybrid*", "clock_nanosleep(…), then reading the clock", "clock_nanosleep(2)")
            .traps(fixedMargin),
        Explanation(reference, "clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, …)", "clock_nanosleep(2)")
            .traps(.slack),
        Explanation("kernel.clock-nanosleep-rel", "clock_nanosleep(CLOCK_MONOTONIC, 0, …)", "clock_nanosleep(2)")
            .traps(.slack, .relative),
        Explanation("kernel.nanosleep", "nanosleep(…)", "nanosleep(2)").traps(.slack, .relative),
        Explanation("kernel.futex-abs", "futex(FUTEX_WAIT_BITSET_PRIVATE, absolute timeout)", "futex(2)").traps(.slack),
        Explanation("kernel.futex-rel", "futex(FUTEX_WAIT_PRIVATE, relative timeout)", "futex(2)")
            .traps(.slack, .relative),
        Explanation("kernel.spin-*", "no call at all", "vdso(7)").traps(spun),
        Explanation("kernel.umwait", "umonitor, umwait", "Intel SDM, volume 2").traps(spun),
        Explanation("kernel.epoll-wait", "epoll_wait(…, timeout in ms)", "epoll_wait(2)")
            .traps(.wholeMilliseconds, .pollRule),
        Explanation("kernel.poll", "poll(NULL, 0, timeout in ms)", "poll(2)").traps(.wholeMilliseconds, .pollRule),
        Explanation("kernel.epoll-pwait2", "epoll_pwait2(…, timespec)", "epoll_pwait2(2)")
            .traps(.pollRule, .slack, .relative),
        Explanation("kernel.ppoll", "ppoll(NULL, 0, timespec)", "poll(2)").traps(.pollRule, .slack, .relative),
        Explanation("kernel.select", "select(0, …, timeval)", "select(2)").traps(.pollRule, .slack, .relative),
        Explanation("kernel.pselect", "pselect(0, …, timespec)", "select(2)").traps(.pollRule, .slack, .relative),
        Explanation("kernel.cond-clockwait", "pthread_cond_clockwait(CLOCK_MONOTONIC)", "pthread_cond_clockwait(3)")
            .traps(.slack)
            .says("It may return for no reason: the deadline must be looked at again."),
        Explanation("kernel.cond-timedwait", "pthread_cond_timedwait(…)", "pthread_cond_timedwait(3)")
            .traps(.slack, .wallClock),
        Explanation("kernel.sem-clockwait", "sem_clockwait(CLOCK_MONOTONIC)", "sem_wait(3)").traps(.slack),
        Explanation("kernel.sem-timedwait", "sem_timedwait(…)", "sem_wait(3)").traps(.slack, .wallClock),
        Explanation("kernel.mq-timedreceive", "mq_timedreceive(…)", "mq_receive(3)").traps(.slack, .wallClock),
        Explanation("kernel.sigtimedwait", "sigtimedwait(…)", "sigwaitinfo(2)").traps(.slack, .relative),
        Explanation("kernel.semtimedop", "semtimedop(…)", "semop(2)").traps(.slack, .relative),
        Explanation("kernel.so-rcvtimeo", "setsockopt(SO_RCVTIMEO), recv(…)", "socket(7)")
            .against(
                reference,
                every: 10_000_000,
                fires: 30,
                "It counts in the kernel's ticks of 1 to 10 ms (CONFIG_HZ), rounded up, and one more so as not to be early. A "
                    + "timeout of 0 is no timeout."
            ),
    ]

    static let kernelTimers: [Explanation] = [
        Explanation("kernel.timerfd-read", "timerfd_settime(TFD_TIMER_ABSTIME), read(…)", "timerfd_create(2)")
            .traps(.noSlack),
        Explanation("kernel.timerfd-periodic", "timerfd_settime(first, interval), read(…)", "timerfd_create(2)")
            .traps(.noSlack)
            .says("read gives the number of expirations since the last one: more than 1 is missed deadlines."),
        Explanation(
            "kernel.timerfd-epoll",
            "timerfd_settime(…), epoll_wait(…), read(…)",
            "timerfd_create(2), epoll(7)"
        )
        .against("kernel.timerfd-read", "Three system calls a fire, where a plain read has two."),
        Explanation(
            "kernel.timerfd-epoll-et",
            "timerfd_settime(…), epoll_wait(EPOLLET)",
            "timerfd_create(2), epoll(7)"
        )
        .against("kernel.timerfd-epoll", "Without the read: arming it anew makes the next edge."),
        Explanation("kernel.timer-create-signal", "timer_create(SIGEV_SIGNAL), timer_settime(…)", "timer_create(2)")
            .traps(toTheProcess)
            .says(Trap.exempt),
        Explanation("kernel.setitimer", "setitimer(ITIMER_REAL)", "setitimer(2)")
            .traps(toTheProcess)
            .says(Trap.exempt),
        Explanation(
            "kernel.timer-create-thread-id",
            "timer_create(SIGEV_THREAD_ID), sigwaitinfo(…)",
            "timer_create(2)"
        )
        .traps(.noSlack),
        Explanation("kernel.timer-create-thread", "timer_create(SIGEV_THREAD)", "timer_create(2), sigevent(3type)")
            .against("kernel.timerfd-read", "The C library makes a thread for each expiry, and a helper that stays."),
        Explanation("kernel.io-uring-timeout", "IORING_OP_TIMEOUT, IORING_TIMEOUT_ABS", "io_uring_enter(2)")
            .traps(.noSlack, forbidden),
        Explanation("kernel.io-uring-enter-timeout", "io_uring_enter(EXT_ARG, timespec)", "io_uring_enter(2)")
            .traps(.noSlack, forbidden),
        Explanation("kernel.sched-deadline", "sched_setattr(SCHED_DEADLINE), sched_yield()", "sched(7)")
            .against(
                reference,
                "The scheduler wakes the thread before all others, and puts it off when its runtime is spent. Its clock is the "
                    + "scheduler's own, which drifts against CLOCK_MONOTONIC."
            ),
    ]
}
