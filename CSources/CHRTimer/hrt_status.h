// SPDX-License-Identifier: Apache-2.0
#ifndef HRT_STATUS_H
#define HRT_STATUS_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// System calls are made through this file, and no other code reads or writes errno (`make lint`).
// The exceptions are calls that cannot fail (clock_gettime(2), PR_GET_TIMERSLACK, sigaction(2) for
// a signal that had an action before), calls whose failure has one answer whatever the reason
// (mmap(2) and its kin, FUTEX_WAKE), functions that return their error (pthread_sigmask(3)), and
// close(2), which must not be repeated: the descriptor is gone even after EINTR.

// Evaluates to the call's result, or to a negative errno: intro(2). A call that a signal handler
// interrupted (EINTR) is repeated with the same arguments: deadlines in them are absolute.
// signal(7), "Interruption of system calls".
#define HRT_CALL(call)                                                                             \
    ({                                                                                             \
        long result_;                                                                              \
        do result_ = (call);                                                                       \
        while (result_ < 0 && errno == EINTR);                                                     \
        result_ < 0 ? -(long)errno : result_;                                                      \
    })

// Evaluates to 0 or a negative errno, like HRT_CALL but without the descriptor or count.
#define HRT_STATUS(call)                                                                           \
    ({                                                                                             \
        long status_ = HRT_CALL(call);                                                             \
        status_ < 0 ? (int)status_ : 0;                                                            \
    })

// Evaluates to 0 if the expression says that a function succeeded, and otherwise to the negative
// errno: -ENOMEM if the function sets none, as some of libevent's.
#define HRT_DONE(succeeds)                                                                         \
    ({                                                                                             \
        errno = ENOMEM;                                                                            \
        (succeeds) ? 0 : -errno;                                                                   \
    })

// For an errno that only a bug of this library can cause: prints the operation and aborts.
// Continuing could mean waiting on a descriptor that other code has opened since.
static inline _Noreturn void hrt_impossible(const char *operation, int error) {
    fprintf(stderr, "CHRTimer: impossible failure of %s: %s\n", operation, strerror(error));
    abort();
}

// Returns the result of HRT_CALL, HRT_STATUS or HRT_DONE, where every failure is impossible.
static inline long hrt_must(const char *operation, long result) {
    if (result < 0) hrt_impossible(operation, (int)-result);
    return result;
}

// For functions that a signal handler calls: save and restore errno, so that the code which the
// signal interrupted finds it unchanged. signal-safety(7)
static inline int hrt_kept_errno(void) { return errno; }
static inline void hrt_restore_errno(int kept) { errno = kept; }

#endif
