// SPDX-License-Identifier: Apache-2.0
#ifndef HRT_CLOCK_SET_H
#define HRT_CLOCK_SET_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Opens a descriptor that notices when the wall clock is set. The caller closes it. Any thread.
// Returns 0, or a negative errno: -EMFILE, -ENFILE, -ENOMEM (timerfd_create(2)), or the one with
// which a filter of system calls refuses it; *out_fd is left alone then.
int hrt_clock_set_open(int *out_fd);

// Blocks until the wall clock is set, or the system resumes. Of several steps at once it notices
// one. One thread at a time. Returns 0, or the negative errno with which a filter of system calls
// refuses the read.
int hrt_clock_set_wait(int fd);

#ifdef __cplusplus
}
#endif

#endif
