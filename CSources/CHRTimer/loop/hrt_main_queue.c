#include "../include/hrt_main_queue.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "../hrt_status.h"

static struct {
    int (*descriptor)(void);
    void (*drain)(void *ignored);
    bool (*is_broken)(void);
} dispatch;

static pthread_once_t is_looked_up = PTHREAD_ONCE_INIT;

// POSIX has dlsym give functions as object pointers (dlsym(3)).
static void look_up(const char *name, void *out_function) {
    *(void **)out_function = dlsym(RTLD_DEFAULT, name);
}

static void look_up_all(void) {
    look_up("_dispatch_get_main_queue_handle_4CF", &dispatch.descriptor);
    look_up("_dispatch_main_queue_callback_4CF", &dispatch.drain);
    look_up("_dispatch_is_fork_of_multithreaded_parent", &dispatch.is_broken);
}

int hrt_main_queue_check(void) {
    pthread_once(&is_looked_up, look_up_all);
    if (dispatch.descriptor == NULL || dispatch.drain == NULL) return -ENOTSUP;
    if (dispatch.is_broken != NULL && dispatch.is_broken()) return -ENOTSUP;
    int probe = eventfd(0, EFD_CLOEXEC);
    if (probe < 0) return -errno;
    close(probe);
    return 0;
}

int hrt_main_queue_descriptor(void) {
    int status = hrt_main_queue_check();
    if (status != 0) return status;
    int fd = dispatch.descriptor();
    return fd < 0 ? -ENOTSUP : fd;
}

void hrt_main_queue_drain(int fd) {
    // Before the drain: what is posted after this makes it readable anew. Another loop that serves
    // the main queue too, as Foundation's, may have read it.
    uint64_t posts;
    if (read(fd, &posts, sizeof posts) < 0 && errno != EAGAIN && errno != EINTR)
        hrt_impossible("read of the main queue's eventfd", errno);
    dispatch.drain(NULL);
}
