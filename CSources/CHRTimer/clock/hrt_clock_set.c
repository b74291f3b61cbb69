// SPDX-License-Identifier: Apache-2.0
#ifdef __linux__
#include "../include/hrt_clock_set.h"

#include <unistd.h>

#include "hrt_timerfd.h"

int hrt_clock_set_open(int *out_fd) {
    int fd = (int)HRT_CALL(timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC));
    if (fd < 0) return fd;
    int status = hrt_timerfd_notice_steps(fd);
    if (status != 0) {
        close(fd);
        return status;
    }
    *out_fd = fd;
    return 0;
}

int hrt_clock_set_wait(int fd) {
    for (;;) {
        uint64_t expirations;
        int status = HRT_STATUS(read(fd, &expirations, sizeof expirations));
        if (status == -ECANCELED) return 0;
        if (status != 0) return status;
    }
}
#endif
