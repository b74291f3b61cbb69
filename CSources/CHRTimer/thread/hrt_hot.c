#ifdef __linux__
#include "../include/hrt_hot.h"

_Thread_local hrt_touched_memory hrt_touched[HRT_TOUCHED_COUNT];

HRT_HOT
void hrt_prefetch_fire(void) {
    // Of a loop's pass and of an engine's turn, from the frame that wakes.
    enum { STACK_BELOW = 1536, STACK_ABOVE = 2560 };
    // Pages first, so that their translations are looked up side by side.
    for (int kind = 0; kind < HRT_TOUCHED_COUNT; kind++)
        hrt_prefetch(hrt_touched[kind].address, 1);
    for (const char *page = __start_hrt_hot; page < __stop_hrt_hot; page += 4096)
        hrt_prefetch_read(page, 1);
    for (int kind = 0; kind < HRT_TOUCHED_COUNT; kind++)
        hrt_prefetch(hrt_touched[kind].address, hrt_touched[kind].bytes);
    hrt_prefetch((const char *)__builtin_frame_address(0) - STACK_BELOW,
                 STACK_BELOW + STACK_ABOVE);
    hrt_prefetch_read(__start_hrt_hot, (size_t)(__stop_hrt_hot - __start_hrt_hot));
}
#endif
