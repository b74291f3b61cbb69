#ifdef __linux__
#include "../clock/hrt_futex.h"
#include "hrt_wait_parts.h"
#include "../include/hrt_hot.h"

HRT_HOT_ENGINE
int hrt_wait_futex_until(hrt_wait *wait, int64_t deadline_ns) {
    const hrt_touched_memory *touched = hrt_touched_here();
    for (;;) {
        bool is_over = hrt_futex_sleep(&wait->woken, wait->clock, deadline_ns);
        HRT_PREFETCH_FIRE(hrt_hot_engine, touched);
        if (hrt_wait_consume_wake(wait) == HRT_WAIT_WOKEN) return HRT_WAIT_WOKEN;
        if (is_over) return HRT_WAIT_TIMED_OUT;
    }
}

void hrt_wait_futex_wake(hrt_wait *wait) { hrt_futex_wake(&wait->woken); }
#endif
