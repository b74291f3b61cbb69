// SPDX-License-Identifier: Apache-2.0
#ifdef __linux__
#include "hrt_futex.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../hrt_status.h"

// FUTEX_WAIT_BITSET takes an absolute timeout; FUTEX_WAIT would take a relative one (futex(2)).
static int sleep_operation(hrt_clock clock) {
    return FUTEX_WAIT_BITSET_PRIVATE | (clock == HRT_CLOCK_WALL ? FUTEX_CLOCK_REALTIME : 0);
}

int hrt_futex_probe(hrt_clock clock) {
    _Atomic uint32_t word = 1;
    int status = HRT_STATUS(
        syscall(SYS_futex, &word, sleep_operation(clock), 0, NULL, NULL, FUTEX_BITSET_MATCH_ANY));
    return status == -EAGAIN ? 0 : status;
}

bool hrt_futex_sleep(const _Atomic uint32_t *word, hrt_clock clock, int64_t deadline_ns) {
    int operation = sleep_operation(clock);
    struct timespec deadline = hrt_timespec_from_ns(deadline_ns);
    struct timespec *timeout = deadline_ns == HRT_NEVER ? NULL : &deadline;
    int status =
        HRT_STATUS(syscall(SYS_futex, word, operation, 0, timeout, NULL, FUTEX_BITSET_MATCH_ANY));
    switch (status) {
    case -ETIMEDOUT: return true;
    case 0: return false;        // woken, or a spurious wake-up, which futex(2) allows
    case -EAGAIN: return false;  // the word was no longer 0: a wake came first
    default: hrt_impossible("futex", -status);
    }
}

void hrt_futex_wait(const _Atomic uint32_t *word, uint32_t expected) {
    int status = HRT_STATUS(syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, NULL, NULL, 0));
    // -EAGAIN: the word does not have the expected value. The caller reads it again.
    if (status != -EAGAIN) hrt_must("futex", status);
}

static void wake(_Atomic uint32_t *word, int most) {
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, most, NULL, NULL, 0);
}

void hrt_futex_wake(_Atomic uint32_t *word) { wake(word, 1); }

void hrt_futex_wake_all(_Atomic uint32_t *word) { wake(word, INT_MAX); }
#endif
