#ifndef HRT_STATUS_H
#define HRT_STATUS_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// System calls are made through this file, and nothing else reads or writes errno (make lint). The
// exceptions are calls that cannot fail (clock_gettime(2), PR_GET_TIMERSLACK, sigaction(2) for a
// signal that had an action before), calls whose failure has one answer whatever the reason
// (mmap(2) and its kin, FUTEX_WAKE), functions that return their error (pthread_create(3)), and
// close(2): it must not be made again, as the descriptor is gone even after EINTR.

// What a call gives, or a negative errno: intro(2). A call that a signal's handler ended (EINTR) is
// made again, with the same arguments: deadlines in them are absolute. signal(7), "Interruption of
// system calls".
#define HRT_CALL(call)                         \
    ({                                         \
        long result_;                          \
        do result_ = (call);                   \
        while (result_ < 0 && errno == EINTR); \
        result_ < 0 ? -(long)errno : result_;  \
    })

// The same as 0 or a negative errno: a descriptor, or a count, is 0.
#define HRT_STATUS(call)                     \
    ({                                       \
        long status_ = HRT_CALL(call);       \
        status_ < 0 ? (int)status_ : 0;      \
    })

// 0 if a function succeeds that says so otherwise, and else the negative errno: -ENOMEM where it
// sets none, as some of libevent's.
#define HRT_DONE(succeeds)       \
    ({                           \
        errno = ENOMEM;          \
        (succeeds) ? 0 : -errno; \
    })

// For an errno that only a bug of this library can cause: prints the operation and aborts. To go on
// could mean to wait on a descriptor that other code has opened since.
static inline _Noreturn void hrt_impossible(const char *operation, int error) {
    fprintf(stderr, "CHRTimer: impossible failure of %s: %s\n", operation, strerror(error));
    abort();
}

// The result of HRT_CALL, HRT_STATUS or HRT_DONE, where every failure is such a one.
static inline long hrt_must(const char *operation, long result) {
    if (result < 0) hrt_impossible(operation, (int)-result);
    return result;
}

// For what a signal's handler calls: the code that the signal interrupted finds errno as it was.
// signal-safety(7)
static inline int hrt_kept_errno(void) { return errno; }
static inline void hrt_restore_errno(int kept) { errno = kept; }

#endif
