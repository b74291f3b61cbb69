#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hrt_status.h"
#include "hrt_wait_parts.h"

int hrt_wait_futex_until(hrt_wait *wait, int64_t deadline_ns) {
    // FUTEX_WAIT_BITSET takes an absolute timeout; FUTEX_WAIT would take a relative one (futex(2)).
    int operation = FUTEX_WAIT_BITSET_PRIVATE | (wait->clock == HRT_CLOCK_WALL ? FUTEX_CLOCK_REALTIME : 0);
    struct timespec deadline = hrt_timespec_from_ns(deadline_ns);
    struct timespec *timeout = deadline_ns == HRT_NEVER ? NULL : &deadline;
    for (;;) {
        if (syscall(SYS_futex, &wait->woken, operation, 0, timeout, NULL, FUTEX_BITSET_MATCH_ANY) == 0) {
            // Woken, or for no reason at all, which futex(2) allows.
            if (hrt_wait_consume_wake(wait) == HRT_WAIT_WOKEN) return HRT_WAIT_WOKEN;
            continue;
        }
        switch (errno) {
            case ETIMEDOUT:
            case EAGAIN:  // the word was not 0 any more: a wake came first
                return hrt_wait_consume_wake(wait);
            case EINTR: continue;
            default: hrt_impossible("futex", errno);
        }
    }
}

void hrt_wait_futex_wake(hrt_wait *wait) {
    syscall(SYS_futex, &wait->woken, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
