// SPDX-License-Identifier: Apache-2.0
#ifdef __linux__
#include "../clock/hrt_futex.h"
#include "hrt_wait_parts.h"

int hrt_wait_futex_until(hrt_wait *wait, int64_t deadline_ns) {
    for (;;) {
        bool is_over = hrt_futex_sleep(&wait->woken, wait->clock, deadline_ns);
        if (hrt_wait_consume_wake(wait) == HRT_WAIT_WOKEN) return HRT_WAIT_WOKEN;
        if (is_over) return HRT_WAIT_TIMED_OUT;
    }
}

void hrt_wait_futex_wake(hrt_wait *wait) { hrt_futex_wake(&wait->woken); }
#endif
