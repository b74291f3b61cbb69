import CBench
import Glibc

extension Subject {
    /// Timers that Linux keeps for a program. The loops are in C: CBench, kernel_timerfd.c, kernel_signal.c,
    /// kernel_io_uring.c and kernel_deadline.c.
    static let kernelTimers: [Subject] = [
        wait(
            "kernel.timerfd-periodic",
            "blocking read of a timerfd armed once for all deadlines; no timer slack",
            cbench_timerfd_periodic
        ),
        wait(
            "kernel.timerfd-epoll-et",
            "epoll_wait on a timerfd, edge-triggered and never read; no timer slack",
            cbench_timerfd_epoll_et
        ),
        wait(
            "kernel.timer-create-signal",
            "timer_create(2), a signal to the process, taken by sigwaitinfo(2); in a child process",
            cbench_timer_create_signal
        ),
        wait(
            "kernel.timer-create-thread-id",
            "timer_create(2), a signal to one thread, taken by sigwaitinfo(2)",
            cbench_timer_create_thread_id
        ),
        wait(
            "kernel.timer-create-thread",
            "timer_create(2), a new thread for each expiry",
            unless: [ENOTSUP: "Thread Sanitizer does not know the C library's own threads"],
            cbench_timer_create_thread
        ),
        wait(
            "kernel.setitimer",
            "setitimer(2), relative, in us: SIGALRM, taken by sigwaitinfo(2); in a child process",
            cbench_setitimer
        ),
        wait(
            "kernel.io-uring-timeout",
            "IORING_OP_TIMEOUT, absolute; no timer slack",
            unless: withoutRing,
            cbench_io_uring_timeout
        ),
        wait(
            "kernel.io-uring-enter-timeout",
            "timeout of io_uring_enter(2), relative",
            unless: withoutRing,
            cbench_io_uring_enter_timeout
        ),
        wait(
            "kernel.sched-deadline",
            "SCHED_DEADLINE with the interval for its period: sched_yield(2) sleeps until the next",
            isOnOurClock: false,
            unless: [
                EPERM: "SCHED_DEADLINE takes CAP_SYS_NICE, and a thread that may run on every processor",
                EINVAL: "SCHED_DEADLINE takes no such period (sched_deadline_period_min_us is 100 by default)",
                EBUSY: "the kernel admits no more SCHED_DEADLINE threads",
            ],
            cbench_sched_deadline
        ),
    ]

    private static let withoutRing: [CInt: String] = [
        ENOSYS: "this kernel has no io_uring with this timeout (ENOSYS)",
        EPERM: "io_uring is forbidden here: kernel.io_uring_disabled, or a seccomp filter (EPERM)",
        EACCES: "io_uring is forbidden here (EACCES)",
    ]
}
