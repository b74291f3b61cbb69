// SPDX-License-Identifier: Apache-2.0
#ifdef __linux__
#include "include/hrt_run_loop.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

// CFRunLoopSourceContext of version 0, CFRunLoop.h in swift-corelibs-foundation.
typedef struct {
    long version;
    void *info;
    const void *(*retain)(const void *info);
    void (*release)(const void *info);
    const void *(*copy_description)(const void *info);
    unsigned char (*equal)(const void *info, const void *other);
    unsigned long (*hash)(const void *info);
    void (*schedule)(void *info, void *loop, const void *mode);
    void (*cancel)(void *info, void *loop, const void *mode);
    void (*perform)(void *info);
} source_context;

static struct {
    void *(*current_loop)(void);
    void *(*create)(const void *allocator, long order, source_context *context);
    void (*add)(void *loop, void *source, const void *mode);
    void (*invalidate)(void *source);
    void (*signal)(void *source);
    void (*wake)(void *loop);
    const void *(*retain)(const void *object);
    void (*release)(const void *object);
    const void **common_modes;
} foundation;

static pthread_once_t is_looked_up = PTHREAD_ONCE_INIT;

// POSIX lets dlsym return functions as object pointers (dlsym(3)).
static void look_up(const char *name, void *out_symbol) {
    *(void **)out_symbol = dlsym(RTLD_DEFAULT, name);
}

static void look_up_all(void) {
    look_up("CFRunLoopGetCurrent", &foundation.current_loop);
    look_up("CFRunLoopSourceCreate", &foundation.create);
    look_up("CFRunLoopAddSource", &foundation.add);
    look_up("CFRunLoopSourceInvalidate", &foundation.invalidate);
    look_up("CFRunLoopSourceSignal", &foundation.signal);
    look_up("CFRunLoopWakeUp", &foundation.wake);
    look_up("CFRetain", &foundation.retain);
    look_up("CFRelease", &foundation.release);
    look_up("kCFRunLoopCommonModes", &foundation.common_modes);
}

static int is_there(void) {
    pthread_once(&is_looked_up, look_up_all);
    return foundation.current_loop != NULL && foundation.create != NULL && foundation.add != NULL &&
           foundation.invalidate != NULL && foundation.signal != NULL && foundation.wake != NULL &&
           foundation.retain != NULL && foundation.release != NULL &&
           foundation.common_modes != NULL;
}

// The info of Foundation's source, which is also the caller's handle.
struct hrt_run_loop_source {
    hrt_run_loop_calls calls;
    void *context;
    void *loop;  // not retained: the run loop retains the source
    void *source;
};

static void perform(void *info) {
    hrt_run_loop_source *source = info;
    source->calls.perform(source->context);
}

static void cancel(void *info, void *loop, const void *mode) {
    (void)loop, (void)mode;
    hrt_run_loop_source *source = info;
    source->calls.ended(source->context);
}

static void release(const void *info) {
    hrt_run_loop_source *source = (hrt_run_loop_source *)info;
    source->calls.release(source->context);
    free(source);
}

int hrt_run_loop_source_add(hrt_run_loop_calls calls, void *context,
                            hrt_run_loop_source **out_source) {
    if (!is_there()) return -ENOSYS;
    hrt_run_loop_source *source = malloc(sizeof *source);
    if (source == NULL) return -ENOMEM;
    source_context description = {
        .info = source, .release = release, .cancel = cancel, .perform = perform};
    void *loop = foundation.current_loop();
    void *made = foundation.create(NULL, 0, &description);
    if (made == NULL) {
        free(source);
        return -ENOMEM;
    }
    *source =
        (hrt_run_loop_source){.calls = calls, .context = context, .loop = loop, .source = made};
    *out_source = source;
    foundation.add(loop, made, *foundation.common_modes);
    return 0;
}

void hrt_run_loop_source_hold(hrt_run_loop_source *source) {
    foundation.retain(source->loop);
    foundation.retain(source->source);
}

void hrt_run_loop_source_signal(hrt_run_loop_source *source) {
    // Copied, because the last release of Foundation's source frees `source`.
    void *made = source->source, *loop = source->loop;
    foundation.signal(made);
    foundation.wake(loop);
    foundation.release(made);
    foundation.release(loop);
}

void hrt_run_loop_source_remove(hrt_run_loop_source *source) {
    void *made = source->source;
    foundation.invalidate(made);
    // Frees `source` with the last reference, which a running run loop may hold.
    foundation.release(made);
}
#endif
