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
#define HRT_CALL(call)                         \
    ({                                         \
        long result_;                          \
        do result_ = (call);                   \
        while (result_ < 0 && errno == EINTR); \
        result_ < 0 ? -(long)errno : result_;  \
    })

// Evaluates to 0 or a negative errno, like HRT_CALL but without the descriptor or count.
#define HRT_STATUS(call)                     \
    ({                                       \
        long status_ = HRT_CALL(call);       \
        status_ < 0 ? (int)status_ : 0;      \
    })

// Evaluates to 0 if the expression says that a function succeeded, and otherwise to the negative
// errno: -ENOMEM if the function sets none, as some of libevent's.
#define HRT_DONE(succeeds)       \
    ({                           \
        errno = ENOMEM;          \
        (succeeds) ? 0 : -errno; \
    })

// Makes the system call by its instruction; returns its result or a negative errno. For the sleep
// of a thread that must be exact: syscall(2) and the location of errno are functions of the C
// library, and after milliseconds of idleness each is a page of code that is in no TLB
// (Benchmarks/cold-lines).
static inline long hrt_direct_call(long number, long a, long b, long c, long d, long e, long f) {
    long result;
    do {
#if defined(__x86_64__)
        // x86-64 psABI, A.2.1: the kernel overwrites rcx and r11.
        register long r10 __asm__("r10") = d;
        register long r8 __asm__("r8") = e;
        register long r9 __asm__("r9") = f;
        __asm__ volatile("syscall"
                         : "=a"(result)
                         : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                         : "rcx", "r11", "memory");
#elif defined(__aarch64__)
        register long x8 __asm__("x8") = number;
        register long x0 __asm__("x0") = a;
        register long x1 __asm__("x1") = b;
        register long x2 __asm__("x2") = c;
        register long x3 __asm__("x3") = d;
        register long x4 __asm__("x4") = e;
        register long x5 __asm__("x5") = f;
        __asm__ volatile("svc 0"
                         : "+r"(x0)
                         : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                         : "memory");
        result = x0;
#else
        result = syscall(number, a, b, c, d, e, f);
        if (result < 0) result = -(long)errno;
#endif
    } while (result == -EINTR);
    return result;
}

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
