import CBench
import CHRTimer

extension Subject {
    /// What Linux itself offers. The loops are in C: CBench, kernel_*.c.
    static let kernel: [Subject] = [
        Subject(referenceID, "clock_nanosleep(2), absolute; with the thread's timer slack, 50 us by default") {
            try $0.fill(cbench_clock_nanosleep_abs)
        },
        Subject(
            "\(referenceID).slack-1",
            "the same on a thread with timer slack 1 ns, as this library's threads have: compare those with this"
        ) {
            try $0.fillWithLeastSlack(cbench_clock_nanosleep_abs)
        },
        Subject("kernel.futex-abs", "futex(2), FUTEX_WAIT_BITSET with an absolute timeout, default slack") {
            try $0.fill(cbench_futex_abs)
        },
        Subject(
            "kernel.futex-abs.slack-1",
            "the same on a thread with timer slack 1 ns, as this library's threads have"
        ) {
            try $0.fillWithLeastSlack(cbench_futex_abs)
        },
        Subject("kernel.timerfd-read", "blocking read of a timerfd armed absolutely; no timer slack") {
            try $0.fill(cbench_timerfd_read)
        },
        Subject("kernel.timerfd-epoll", "epoll_wait on a timerfd armed absolutely, then read; no timer slack") {
            try $0.fill(cbench_timerfd_epoll)
        },
        Subject("kernel.epoll-wait", "timeout of epoll_wait(2), relative, rounded up to whole ms; default slack") {
            try $0.fill(cbench_epoll_wait)
        },
        Subject("kernel.epoll-pwait2", "timeout of epoll_pwait2(2), relative, in ns; default slack or 0.1 %") {
            try $0.fill(cbench_epoll_pwait2)
        },
        Subject("kernel.spin-clock", "reads the clock until it is time: all of a processor, and the lower bound") {
            try $0.fill(cbench_spin_clock)
        },
        Subject("kernel.spin-tsc", "the same with the processor's counter, and the clock for the last word") {
            try $0.fill(cbench_spin_tsc, orSay: "this processor has no invariant counter")
        },
        Subject("kernel.umwait", "stands still in the processor until the counter is there: umonitor, umwait") {
            try $0.fill(cbench_umwait, orSay: "this processor has no umwait (CPUID waitpkg)")
        },
        Subject("kernel.hybrid", "sleeps until 60 us before the deadline, then reads the clock; default slack") {
            try $0.fill(cbench_hybrid)
        },
    ]
}

extension BlockRecorder {
    /// On a thread that ends with its block, as every block's does.
    fileprivate func fillWithLeastSlack(_ loop: (UnsafeMutablePointer<cbench_block>) -> CInt) throws {
        let status = hrt_thread_set_timer_slack_ns(1)
        if status != 0 { throw BenchError("timer slack cannot be set (errno \(-status))") }
        try fill(loop)
    }
}
