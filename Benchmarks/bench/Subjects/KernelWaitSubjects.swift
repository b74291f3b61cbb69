import CBench
import Glibc

extension Subject {
    /// Further waits of Linux and its C library. The loops are in C: CBench, kernel_relative.c and kernel_blocking.c.
    static let kernelWaits: [Subject] = [
        wait("kernel.clock-nanosleep-rel", "clock_nanosleep(2), relative; default slack", cbench_clock_nanosleep_rel),
        wait("kernel.nanosleep", "nanosleep(2), relative; default slack", cbench_nanosleep),
        wait("kernel.futex-rel", "futex(2), FUTEX_WAIT with a relative timeout, default slack", cbench_futex_rel),
        wait(
            "kernel.poll",
            "timeout of poll(2), relative, rounded up to whole ms; default slack or 0.1 %",
            cbench_poll
        ),
        wait("kernel.ppoll", "timeout of ppoll(2), relative, in ns; default slack or 0.1 %", cbench_ppoll),
        wait("kernel.select", "timeout of select(2), relative, in us; default slack or 0.1 %", cbench_select),
        wait("kernel.pselect", "timeout of pselect(2), relative, in ns; default slack or 0.1 %", cbench_pselect),
        wait(
            "kernel.cond-clockwait",
            "pthread_cond_clockwait(3) by CLOCK_MONOTONIC, absolute; default slack",
            cbench_cond_clockwait
        ),
        wait(
            "kernel.cond-timedwait",
            "pthread_cond_timedwait(3), absolute, by the wall clock; default slack",
            isOnOurClock: false,
            cbench_cond_timedwait
        ),
        wait(
            "kernel.sem-clockwait",
            "sem_clockwait(3) by CLOCK_MONOTONIC, absolute; default slack",
            cbench_sem_clockwait
        ),
        wait(
            "kernel.sem-timedwait",
            "sem_timedwait(3), absolute, by the wall clock; default slack",
            isOnOurClock: false,
            cbench_sem_timedwait
        ),
        wait(
            "kernel.mq-timedreceive",
            "mq_timedreceive(3), absolute, by the wall clock",
            isOnOurClock: false,
            cbench_mq_timedreceive
        ),
        wait("kernel.sigtimedwait", "sigtimedwait(2), relative, for no signal; default slack", cbench_sigtimedwait),
        wait("kernel.so-rcvtimeo", "SO_RCVTIMEO of recv(2), relative, in ticks of the kernel", cbench_so_rcvtimeo),
        wait("kernel.semtimedop", "semtimedop(2), relative", cbench_semtimedop),
    ]

    /// Returns a subject that a default run leaves out.
    static func wait(
        _ id: String,
        _ explanation: String,
        isOnOurClock: Bool = true,
        unless missing: [CInt: String] = [:],
        _ loop: @escaping @Sendable (UnsafeMutablePointer<cbench_block>) -> CInt
    ) -> Subject {
        Subject(id, explanation, isDefault: false, isOnOurClock: isOnOurClock) { recorder in
            var missing = missing
            // Compiled out of the kernel, or forbidden in a container.
            missing[ENOSYS] = missing[ENOSYS] ?? "this kernel, or this container, has no such call (ENOSYS)"
            try recorder.fill(loop, orSay: missing)
        }
    }
}
