#ifndef HRT_STATUS_H
#define HRT_STATUS_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The result of a system call as 0 or a negative errno: intro(2). A descriptor counts as 0.
static inline int hrt_status(long result) { return result < 0 ? -errno : 0; }

// Repeats a call that a signal handler interrupted, with the same arguments: deadlines in them are
// absolute. signal(7), "Interruption of system calls".
#define HRT_RETRY(call)                                 \
    ({                                                  \
        long result_;                                   \
        do result_ = (call);                            \
        while (result_ < 0 && errno == EINTR);          \
        result_;                                        \
    })

// For an errno that only a bug of this library can cause: prints the operation and aborts. To go on
// could mean to wait on a descriptor that other code has opened since.
static inline _Noreturn void hrt_impossible(const char *operation, int error) {
    fprintf(stderr, "CHRTimer: impossible failure of %s: %s\n", operation, strerror(error));
    abort();
}

#endif
