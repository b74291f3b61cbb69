#ifdef __linux__
#include "../include/hrt_hot.h"

_Thread_local hrt_touched_memory hrt_touched[HRT_TOUCHED_COUNT];

static inline void prefetch_pages(const char *start, const char *stop) {
    for (const char *page = start; page < stop; page += 4096) hrt_prefetch_read(page, 1);
}

HRT_HOT
void hrt_prefetch_fire(void) {
    // The stack of a loop's pass and of an engine's turn, relative to the frame that wakes.
    enum { STACK_BELOW = 768, STACK_ABOVE = 1536 };
    // One line per page first, so that the pages' translations are looked up side by side.
    for (int kind = 0; kind < HRT_TOUCHED_COUNT; kind++)
        hrt_prefetch(hrt_touched[kind].address, 1);
    prefetch_pages(__start_hrt_hot, __stop_hrt_hot);
    for (int kind = 0; kind < HRT_TOUCHED_COUNT; kind++)
        hrt_prefetch(hrt_touched[kind].address, hrt_touched[kind].bytes);
    hrt_prefetch((const char *)__builtin_frame_address(0) - STACK_BELOW,
                 STACK_BELOW + STACK_ABOVE);
    hrt_prefetch_read(__start_hrt_hot, (size_t)(__stop_hrt_hot - __start_hrt_hot));
}

HRT_HOT
void hrt_prefetch_code(const char *start, const char *stop) {
    prefetch_pages(start, stop);
    hrt_prefetch_read(start, (size_t)(stop - start));
}
#endif
