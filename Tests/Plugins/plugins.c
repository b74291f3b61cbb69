// SPDX-License-Identifier: Apache-2.0
// Loads shared objects that each have a copy of the C core, as plugins do, and uses each copy in a
// thread. Its arguments are their paths. A C library keeps about 1.6 KiB for the thread-local
// storage of all objects that are loaded later and need it at a fixed place (the initial-exec
// model); dlopen(3) fails when that is used up.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "hrt_recorder.h"

typedef struct {
    void (*add)(hrt_recorder *recorder, const hrt_record *record);
    hrt_recorder *recorder;
} plugin;

static void *use(void *context) {
    plugin *used = context;
    hrt_record record = {.begin_ns = 1};
    used->add(used->recorder, &record);
    return used->recorder;
}

static void *find(void *library, const char *name) {
    void *found = dlsym(library, name);
    if (found == NULL) fprintf(stderr, "%s\n", dlerror());
    if (found == NULL) exit(1);
    return found;
}

int main(int count, char **paths) {
    for (int number = 1; number < count; number++) {
        void *library = dlopen(paths[number], RTLD_NOW | RTLD_LOCAL);
        if (library == NULL) {
            fprintf(stderr, "plugin %d of %d cannot be loaded: %s\n", number, count - 1, dlerror());
            return 1;
        }
        int (*create)(size_t, hrt_recorder **) = find(library, "hrt_recorder_create");
        plugin used = {find(library, "hrt_recorder_add"), NULL};
        pthread_t thread;
        void *recorded = NULL;
        if (create(16, &used.recorder) != 0 || pthread_create(&thread, NULL, use, &used) != 0 ||
            pthread_join(thread, &recorded) != 0 || recorded == NULL) {
            fprintf(stderr, "plugin %d does not work\n", number);
            return 1;
        }
    }
    printf("%d plugins, each with a copy of the C core, are loaded and work\n", count - 1);
    return 0;
}
