// SPDX-License-Identifier: Apache-2.0
#ifdef __linux__
#include "include/hrt_main_queue.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "../CHRTimer/hrt_status.h"
#include "../CHRTimer/include/hrt_fork.h"

// dlsym does not find the functions of a statically linked libdispatch; these declarations do. They
// are NULL where it is not linked.
__attribute__((weak)) int _dispatch_get_main_queue_handle_4CF(void);
__attribute__((weak)) void _dispatch_main_queue_callback_4CF(void *ignored);
__attribute__((weak)) bool _dispatch_is_fork_of_multithreaded_parent(void);

static struct {
    int (*descriptor)(void);
    void (*drain)(void *ignored);
    bool (*is_broken)(void);
} dispatch;

static pthread_once_t is_looked_up = PTHREAD_ONCE_INIT;

// POSIX lets dlsym return functions as object pointers (dlsym(3)).
static void look_up(const char *name, void *out_function) {
    *(void **)out_function = dlsym(RTLD_DEFAULT, name);
}

static void look_up_all(void) {
    look_up("_dispatch_get_main_queue_handle_4CF", &dispatch.descriptor);
    look_up("_dispatch_main_queue_callback_4CF", &dispatch.drain);
    look_up("_dispatch_is_fork_of_multithreaded_parent", &dispatch.is_broken);
    if (dispatch.descriptor == NULL) dispatch.descriptor = _dispatch_get_main_queue_handle_4CF;
    if (dispatch.drain == NULL) dispatch.drain = _dispatch_main_queue_callback_4CF;
    if (dispatch.is_broken == NULL) dispatch.is_broken = _dispatch_is_fork_of_multithreaded_parent;
}

int hrt_main_queue_check(void) {
    pthread_once(&is_looked_up, look_up_all);
    bool is_broken = dispatch.is_broken != NULL ? dispatch.is_broken() : hrt_fork_generation() != 0;
    if (is_broken) return -ENOTSUP;
    int probe = (int)HRT_CALL(eventfd(0, EFD_CLOEXEC));
    if (probe < 0) return probe;
    close(probe);
    return 0;
}

int hrt_main_queue_descriptor(void) {
    int status = hrt_main_queue_check();
    if (status != 0) return status;
    if (dispatch.descriptor == NULL || dispatch.drain == NULL) return -ENOTSUP;
    int fd = dispatch.descriptor();
    return fd < 0 ? -ENOTSUP : fd;
}

void hrt_main_queue_drain(int fd) {
    // Read before the drain, so that blocks submitted after this make it readable again. EAGAIN:
    // another loop that serves the main queue, such as Foundation's, has read it.
    uint64_t posts;
    int status = HRT_STATUS(read(fd, &posts, sizeof posts));
    if (status != -EAGAIN) hrt_must("read of the main queue's eventfd", status);
    dispatch.drain(NULL);
}
#endif
