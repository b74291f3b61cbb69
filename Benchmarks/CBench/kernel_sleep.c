#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cbench_kernel.h"

int cbench_clock_nanosleep_abs(cbench_block *block) {
    int64_t woke_ns;
    do {
        struct timespec deadline = hrt_timespec_from_ns(block->next_deadline_ns);
        int error;
        do {
            error = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, NULL);
            woke_ns = cbench_now_ns();
        } while (error == EINTR);
        if (error != 0) return -error;
    } while (cbench_block_fire(block, woke_ns));
    return 0;
}

int cbench_futex_abs(cbench_block *block) {
    uint32_t never_woken = 0;
    int64_t woke_ns;
    do {
        struct timespec deadline = hrt_timespec_from_ns(block->next_deadline_ns);
        // FUTEX_WAIT takes a relative timeout, FUTEX_WAIT_BITSET an absolute one (futex(2)).
        do {
            long status = syscall(SYS_futex, &never_woken, FUTEX_WAIT_BITSET_PRIVATE, 0, &deadline,
                                  NULL, FUTEX_BITSET_MATCH_ANY);
            woke_ns = cbench_now_ns();
            if (status < 0 && errno != ETIMEDOUT && errno != EINTR) return -errno;
            if (status < 0 && errno == ETIMEDOUT) break;
        } while (true);  // interrupted, or a spurious wakeup, which futex(2) allows
    } while (cbench_block_fire(block, woke_ns));
    return 0;
}
