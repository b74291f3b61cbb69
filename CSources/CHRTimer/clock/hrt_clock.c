#ifdef __linux__
#include "../include/hrt_clock.h"
#include "../include/hrt_hot.h"

#include <dlfcn.h>
#include <stdbool.h>

HRT_HOT_DATA hrt_clock_function *hrt_clock_of_vdso;

#ifdef __aarch64__
static const char name_in_vdso[] = "__kernel_clock_gettime";
#else
static const char name_in_vdso[] = "__vdso_clock_gettime";
#endif

// Returns what a loaded library has by that name; NULL if there is none. dlopen(3), RTLD_NOLOAD
static void *loaded(const char *library, const char *name) {
    void *handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == NULL) return NULL;
    void *found = dlsym(handle, name);
    dlclose(handle);  // it stays loaded
    return found;
}

// Whether clock_gettime(3) is glibc's, and not that of the program, of a preloaded library or of a
// sanitizer, which must be called.
static bool is_clock_of_libc(void) {
    return loaded("libc.so.6", "clock_gettime") == (void *)clock_gettime;
}

__attribute__((constructor)) static void find_vdso(void) {
    if (!is_clock_of_libc()) return;
    hrt_clock_of_vdso = (hrt_clock_function *)loaded("linux-vdso.so.1", name_in_vdso);
}
#endif
