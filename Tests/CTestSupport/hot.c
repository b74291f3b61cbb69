#include "../../CSources/CHRTimer/include/hrt_hot.h"

#include "CTestSupport.h"

static size_t common_bytes(void) { return (size_t)(__stop_hrt_hot - __start_hrt_hot); }

size_t ctest_hot_engine_bytes(void) {
    return common_bytes() + (size_t)(__stop_hrt_hot_engine - __start_hrt_hot_engine);
}

size_t ctest_hot_loop_bytes(void) {
    return common_bytes() + (size_t)(__stop_hrt_hot_loop - __start_hrt_hot_loop);
}

bool ctest_hot_begins_with_a_page(void) {
    const char *begins[] = {__start_hrt_hot, __start_hrt_hot_engine, __start_hrt_hot_loop,
                            __start_hrt_hot_source};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
        if ((uintptr_t)begins[i] % 4096 != 0) return false;
    }
    return true;
}

const void *ctest_touched(int kind) { return hrt_touched[kind].address; }

size_t ctest_touched_bytes(int kind) { return hrt_touched[kind].bytes; }
