import CBench
import CHRTimer

extension Subject {
    /// The waits of Linux itself. The loops are in C: CBench, kernel_*.c.
    static let kernel: [Subject] =
        [
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
                try $0.fill { cbench_hybrid($0, 60_000) }
            },
            Subject(
                "kernel.bare-loop.slack-1",
                "clock_nanosleep(2), absolute, and a stamp, nothing else; timer slack 1 ns: the least that a fire can cost"
            ) {
                try $0.fillWithLeastSlack(cbench_bare_loop)
            },
            Subject(
                "kernel.hop.slack-1",
                "a thread that sleeps until the deadline and wakes another by futex(2): the least for what goes on elsewhere",
                isDefault: false
            ) {
                try $0.fill(cbench_hop)
            },
            Subject(
                "kernel.sdl-delay-precise",
                "the algorithm of SDL_DelayPrecise: naps of 1 ms, and a spin by the longest one of the call; slack 1 ns",
                isDefault: false
            ) {
                try $0.fillWithLeastSlack(cbench_sdl_delay_precise)
            },
            Subject(
                "kernel.spin-sleep",
                "the algorithm of Rust's spin_sleep: sleeps until 125 us before the deadline, then yields; slack 1 ns",
                isDefault: false
            ) {
                try $0.fillWithLeastSlack(cbench_spin_sleep)
            },
        ] + fixedMargins

    /// The hybrid at several margins that a program might choose.
    private static let fixedMargins = [20, 40, 60, 80, 120, 200].map { (margin_us: Int64) in
        Subject(
            "kernel.hybrid.slack-1.\(margin_us)us",
            "sleeps until \(margin_us) us before the deadline, then reads the clock; timer slack 1 ns",
            isDefault: false
        ) {
            try $0.fillWithLeastSlack { cbench_hybrid($0, margin_us * 1000) }
        }
    }
}

extension BlockRecorder {
    /// Sets the slack of the thread, which ends with its block, as every block's thread does.
    fileprivate func fillWithLeastSlack(_ loop: (UnsafeMutablePointer<cbench_block>) -> CInt) throws {
        let status = hrt_thread_set_timer_slack_ns(1)
        if status != 0 { throw BenchError("timer slack cannot be set (errno \(-status))") }
        try fill(loop)
    }
}
