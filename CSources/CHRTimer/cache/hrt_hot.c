#ifdef __linux__
#include "../include/hrt_hot.h"
#include "../include/hrt_clock.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

// The linker aligns a section as its most aligned part. These are the first parts, because this
// directory is the first one that is linked: so each section begins with a page, and lies in as few
// pages as it can. Elsewhere in the section they would leave a gap, no more.
#define PAGE_ALIGNED(name) \
    __attribute__((section(#name), aligned(4096), used)) static void begin_##name(void) {}
PAGE_ALIGNED(hrt_hot)
PAGE_ALIGNED(hrt_hot_engine)
PAGE_ALIGNED(hrt_hot_loop)
PAGE_ALIGNED(hrt_hot_precise)
PAGE_ALIGNED(hrt_hot_source)
PAGE_ALIGNED(hrt_hot_wheel)

_Thread_local hrt_touched_memory hrt_touched[HRT_TOUCHED_COUNT];

// The data that a reading of the clock touches; NULL until they are found, and where there are
// none.
static const char *vdso_data;
static pthread_once_t vdso_once = PTHREAD_ONCE_INIT;

static void find_vdso_data(void) {
    FILE *maps = fopen("/proc/self/maps", "re");
    if (maps == NULL) return;
    char line[512];
    while (vdso_data == NULL && fgets(line, sizeof line, maps) != NULL) {
        unsigned long start;
        if (strstr(line, "[vvar]") != NULL && sscanf(line, "%lx", &start) == 1)
            vdso_data = (const char *)start;
    }
    fclose(maps);
}

void hrt_find_vdso(void) { pthread_once(&vdso_once, find_vdso_data); }

// Not before hrt_find_vdso, which each wait and loop calls when it is made.
static void note_same_for_all(void) {
    enum { CLOCK = 320, CLOCK_DATA = 256 };
    hrt_clock_function *clock = hrt_clock_of_vdso != NULL ? hrt_clock_of_vdso : clock_gettime;
    hrt_note_touched(HRT_TOUCHED_HOT_DATA, __start_hrt_hot_data,
                     (size_t)(__stop_hrt_hot_data - __start_hrt_hot_data));
    hrt_note_touched(HRT_TOUCHED_CLOCK_CODE, (const void *)clock, CLOCK);
    hrt_note_touched(HRT_TOUCHED_CLOCK_DATA, vdso_data, CLOCK_DATA);
}

HRT_HOT
const hrt_touched_memory *hrt_touched_here(void) {
    if (hrt_touched[HRT_TOUCHED_HOT_DATA].address == NULL) note_same_for_all();
    return hrt_touched;
}
#endif
