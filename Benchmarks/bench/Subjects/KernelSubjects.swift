// SPDX-License-Identifier: Apache-2.0
import CBench
import CHRTimer
import Glibc

extension Subject {
    /// The waits and timers of Linux and its C library. The loops are in C: CBench, kernel_*.c.
    static let kernel: [Subject] = usual.map { $0.subject(isDefault: true) } + others.map { $0.subject() }

    /// libevent's timers, each on its own base. The loops are in C: CBench, kernel_libevent.c.
    static let libevent: [Subject] = [
        CLoop("libevent.default", "libevent timer, one-shot; a coarse clock, and waits in whole ms") {
            cbench_libevent_default($0)
        },
        CLoop("libevent.precise", "the same on a base with EVENT_BASE_FLAG_PRECISE_TIMER", cbench_libevent_precise),
        CLoop("libevent.timerfd", "a timerfd armed absolutely, watched by libevent", cbench_libevent_timerfd),
    ].map { $0.subject(isDefault: true) }

    private static let usual = [
        CLoop(referenceID, "clock_nanosleep(2), absolute; with the thread's timer slack, 50 us by default") {
            cbench_clock_nanosleep_abs($0)
        },
        CLoop(
            "\(referenceID).slack-1",
            "the same on a thread with timer slack 1 ns, as this library's threads have: compare those with this",
            slack_ns: 1
        ) {
            cbench_clock_nanosleep_abs($0)
        },
        CLoop("kernel.futex-abs", "futex(2), FUTEX_WAIT_BITSET with an absolute timeout, default slack") {
            cbench_futex_abs($0)
        },
        CLoop(
            "kernel.futex-abs.slack-1",
            "the same on a thread with timer slack 1 ns, as this library's threads have",
            slack_ns: 1
        ) {
            cbench_futex_abs($0)
        },
        CLoop("kernel.timerfd-read", "blocking read of a timerfd armed absolutely; no timer slack") {
            cbench_timerfd_read($0)
        },
        CLoop("kernel.timerfd-epoll", "epoll_wait on a timerfd armed absolutely, then read; no timer slack") {
            cbench_timerfd_epoll($0)
        },
        CLoop("kernel.epoll-wait", "timeout of epoll_wait(2), relative, rounded up to whole ms; default slack") {
            cbench_epoll_wait($0)
        },
        CLoop("kernel.epoll-pwait2", "timeout of epoll_pwait2(2), relative, in ns; default slack or 0.1 %") {
            cbench_epoll_pwait2($0)
        },
        CLoop("kernel.spin-clock", "reads the clock until it is time: all of a processor, and the lower bound") {
            cbench_spin_clock($0)
        },
        CLoop(
            "kernel.spin-tsc",
            "the same with the processor's counter, and the clock for the last word",
            unless: [ENOTSUP: "this processor has no invariant counter"]
        ) {
            cbench_spin_tsc($0)
        },
        CLoop(
            "kernel.umwait",
            "stands still in the processor until the counter is there: umonitor, umwait",
            unless: [ENOTSUP: "this processor has no umwait (CPUID waitpkg)"]
        ) {
            cbench_umwait($0)
        },
        CLoop("kernel.hybrid", "sleeps until 60 us before the deadline, then reads the clock; default slack") {
            cbench_hybrid($0, 60_000)
        },
        CLoop(
            "kernel.bare-loop.slack-1",
            "clock_nanosleep(2), absolute, and a stamp, nothing else; timer slack 1 ns: the least that a fire can cost",
            slack_ns: 1
        ) {
            cbench_bare_loop($0)
        },
    ]

    private static let others =
        [
            CLoop(
                "\(referenceID).slack-1.slice-100us",
                "the same, with a time slice of 100 us, which this library's threads ask for too (Linux 6.12)",
                slack_ns: 1,
                slice_ns: UInt64(HRT_LEAST_SLICE_NS),
                unless: [ENOTSUP: "this kernel has one slice for all threads (before Linux 6.12)"]
            ) {
                cbench_clock_nanosleep_abs($0)
            },
            CLoop(
                "kernel.sdl-delay-precise",
                "the algorithm of SDL_DelayPrecise: naps of 1 ms, and a spin by the longest one of the call; slack 1 ns",
                slack_ns: 1
            ) {
                cbench_sdl_delay_precise($0)
            },
            CLoop(
                "kernel.spin-sleep",
                "the algorithm of Rust's spin_sleep: sleeps until 125 us before the deadline, then yields; slack 1 ns",
                slack_ns: 1
            ) {
                cbench_spin_sleep($0)
            },
        ] + fixedMargins + calls + timers

    /// The hybrid at several margins that a program might choose: its loop alone, and with a handler that it calls.
    private static let fixedMargins = [20, 40, 60, 80, 120, 200].flatMap { (margin_us: Int64) in
        [
            CLoop(
                "kernel.hybrid.slack-1.\(margin_us)us",
                "sleeps until \(margin_us) us before the deadline, then reads the clock; timer slack 1 ns",
                slack_ns: 1
            ) { cbench_hybrid($0, margin_us * 1000) },
            CLoop(
                "kernel.called.slack-1.\(margin_us)us",
                "the same, and calls a handler through a pointer, which takes the stamp, as a program's own does",
                slack_ns: 1
            ) { cbench_called($0, margin_us * 1000) },
        ]
    }

    private static let calls = [
        CLoop("kernel.clock-nanosleep-rel", "clock_nanosleep(2), relative; default slack", cbench_clock_nanosleep_rel),
        CLoop("kernel.nanosleep", "nanosleep(2), relative; default slack", cbench_nanosleep),
        CLoop("kernel.futex-rel", "futex(2), FUTEX_WAIT with a relative timeout, default slack", cbench_futex_rel),
        CLoop("kernel.poll", "timeout of poll(2), relative, rounded up to whole ms; default slack or 0.1 %") {
            cbench_poll($0)
        },
        CLoop("kernel.ppoll", "timeout of ppoll(2), relative, in ns; default slack or 0.1 %", cbench_ppoll),
        CLoop("kernel.select", "timeout of select(2), relative, in us; default slack or 0.1 %", cbench_select),
        CLoop("kernel.pselect", "timeout of pselect(2), relative, in ns; default slack or 0.1 %", cbench_pselect),
        CLoop("kernel.cond-clockwait", "pthread_cond_clockwait(3) by CLOCK_MONOTONIC, absolute; default slack") {
            cbench_cond_clockwait($0)
        },
        CLoop(
            "kernel.cond-timedwait",
            "pthread_cond_timedwait(3), absolute, by the wall clock; default slack",
            isOnOurClock: false
        ) {
            cbench_cond_timedwait($0)
        },
        CLoop("kernel.sem-clockwait", "sem_clockwait(3) by CLOCK_MONOTONIC, absolute; default slack") {
            cbench_sem_clockwait($0)
        },
        CLoop(
            "kernel.sem-timedwait",
            "sem_timedwait(3), absolute, by the wall clock; default slack",
            isOnOurClock: false
        ) {
            cbench_sem_timedwait($0)
        },
        CLoop("kernel.mq-timedreceive", "mq_timedreceive(3), absolute, by the wall clock", isOnOurClock: false) {
            cbench_mq_timedreceive($0)
        },
        CLoop("kernel.sigtimedwait", "sigtimedwait(2), relative, for no signal; default slack", cbench_sigtimedwait),
        CLoop("kernel.so-rcvtimeo", "SO_RCVTIMEO of recv(2), relative, in ticks of the kernel", cbench_so_rcvtimeo),
        CLoop("kernel.semtimedop", "semtimedop(2), relative", cbench_semtimedop),
    ]

    private static let timers = [
        CLoop("kernel.timerfd-periodic", "blocking read of a timerfd armed once for all deadlines; no timer slack") {
            cbench_timerfd_periodic($0)
        },
        CLoop("kernel.timerfd-epoll-et", "epoll_wait on a timerfd, edge-triggered and never read; no timer slack") {
            cbench_timerfd_epoll_et($0)
        },
        CLoop(
            "kernel.timer-create-signal",
            "timer_create(2), a signal to the process, taken by sigwaitinfo(2); in a child process"
        ) {
            cbench_timer_create_signal($0)
        },
        CLoop("kernel.timer-create-thread-id", "timer_create(2), a signal to one thread, taken by sigwaitinfo(2)") {
            cbench_timer_create_thread_id($0)
        },
        CLoop(
            "kernel.timer-create-thread",
            "timer_create(2), a new thread for each expiry",
            unless: [ENOTSUP: "Thread Sanitizer does not know the C library's own threads"]
        ) {
            cbench_timer_create_thread($0)
        },
        CLoop("kernel.setitimer", "setitimer(2), relative, in us: SIGALRM, taken by sigwaitinfo(2); in a child process")
        {
            cbench_setitimer($0)
        },
        CLoop("kernel.io-uring-timeout", "IORING_OP_TIMEOUT, absolute; no timer slack", unless: withoutRing) {
            cbench_io_uring_timeout($0)
        },
        CLoop("kernel.io-uring-enter-timeout", "timeout of io_uring_enter(2), relative", unless: withoutRing) {
            cbench_io_uring_enter_timeout($0)
        },
        CLoop(
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

/// A subject whose loop is in C.
private struct CLoop: Sendable {
    let id: String
    let explanation: String
    let isOnOurClock: Bool
    /// The timer slack of its thread; nil for what the thread has.
    let slack_ns: UInt64?
    /// The time slice of its thread, likewise.
    let slice_ns: UInt64?
    /// For each errno that means missing hardware, the reason.
    let missing: [CInt: String]
    let loop: @Sendable (UnsafeMutablePointer<cbench_block>) -> CInt

    init(
        _ id: String,
        _ explanation: String,
        isOnOurClock: Bool = true,
        slack_ns: UInt64? = nil,
        slice_ns: UInt64? = nil,
        unless missing: [CInt: String] = [:],
        _ loop: @escaping @Sendable (UnsafeMutablePointer<cbench_block>) -> CInt
    ) {
        self.id = id
        self.explanation = explanation
        self.isOnOurClock = isOnOurClock
        self.slack_ns = slack_ns
        self.slice_ns = slice_ns
        // Compiled out of the kernel, or forbidden in a container.
        let withoutCall = [ENOSYS: "this kernel, or this container, has no such call (ENOSYS)"]
        self.missing = missing.merging(withoutCall) { own, _ in own }
        self.loop = loop
    }

    func subject(isDefault: Bool = false) -> Subject {
        Subject(id, explanation, isDefault: isDefault, isOnOurClock: isOnOurClock) { [self] recorder in
            // The thread ends with its block, as every block's thread does.
            let status = slack_ns.map { hrt_thread_set_timer_slack_ns($0) } ?? 0
            if status != 0 { throw BenchError("timer slack cannot be set (errno \(-status))") }
            let refusal = slice_ns.map { -hrt_thread_set_slice_ns($0, false) } ?? 0
            if let reason = missing[refusal] { throw MissingHardware(description: reason) }
            if refusal != 0 { throw BenchError("the time slice cannot be set (errno \(refusal))") }
            try recorder.fill(loop, orSay: missing)
        }
    }
}
