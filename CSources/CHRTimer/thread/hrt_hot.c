#ifdef __linux__
#include "../include/hrt_hot.h"
#include "../include/hrt_fork.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

_Thread_local hrt_touched_memory hrt_touched[HRT_TOUCHED_COUNT];

// The Swift runtime, which is not linked where the C core is used alone.
__attribute__((weak)) void swift_retain(void);
__attribute__((weak)) void swift_release(void);

// The code and the data of the vDSO that a reading of the clock touches; NULL until they are found,
// and where there are none.
static const char *vdso_code, *vdso_data;
static pthread_once_t vdso_once = PTHREAD_ONCE_INIT;

static void find_vdso_code(void) {
    void *library = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (library == NULL) return;
    vdso_code = dlsym(library, "__vdso_clock_gettime");
    dlclose(library);
}

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

static void find_vdso(void) {
    find_vdso_code();
    find_vdso_data();
}

void hrt_find_vdso(void) { pthread_once(&vdso_once, find_vdso); }

// Not before hrt_find_vdso, which each wait and loop calls when it is made.
static void note_same_for_all(void) {
    enum { FUNCTION = 128, VDSO_CODE = 320, VDSO_DATA = 256 };
    hrt_note_touched(HRT_TOUCHED_FORKS, &hrt_fork_count, sizeof hrt_fork_count);
    hrt_note_touched(HRT_TOUCHED_CLOCK, (const void *)clock_gettime, FUNCTION);
    hrt_note_touched(HRT_TOUCHED_VDSO_CODE, vdso_code, VDSO_CODE);
    hrt_note_touched(HRT_TOUCHED_VDSO_DATA, vdso_data, VDSO_DATA);
    hrt_note_touched(HRT_TOUCHED_RETAIN, (const void *)swift_retain, FUNCTION);
    hrt_note_touched(HRT_TOUCHED_RELEASE, (const void *)swift_release, FUNCTION);
}

HRT_HOT
const hrt_touched_memory *hrt_touched_here(void) {
    if (hrt_touched[HRT_TOUCHED_CLOCK].address == NULL) note_same_for_all();
    return hrt_touched;
}
#endif
