// SPDX-License-Identifier: Apache-2.0
// The DRM source against a real kernel, in the guest of Tests/Vkms/run: nothing here is faked.
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "vs_drm.h"

#define EXPECT(condition) expect(condition, #condition, __LINE__)

static int failures;

static void expect(int holds, const char *text, int line) {
    if (holds) return;
    printf("line %d: not true: %s\n", line, text);
    failures++;
}

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

// Returns 1 with a sample, 0 if none came within two seconds, or a negative errno.
static int next(vs_source *source, vs_sample *sample) {
    while (1) {
        int status = vs_take(source, sample);
        if (status != 0) return status;
        struct pollfd waiting = {.fd = vs_descriptor(source), .events = POLLIN};
        if (poll(&waiting, 1, 2000) == 0) return 0;
    }
}

// Takes every refresh for a second or so: exact, in order, and at the rate that the mode says.
static void check_refreshes(vs_source *source) {
    int64_t numerator, denominator;
    vs_told_rate(source, &numerator, &denominator);
    EXPECT(numerator > 0);
    double period_ns = 1e9 * (double)denominator / (double)numerator;
    vs_sample first = {0}, sample = {0};
    EXPECT(vs_request(source, 1) == 0);
    EXPECT(vs_request(source, 1) == -EBUSY);
    EXPECT(next(source, &first) == 1);
    int64_t last_ns = first.time_ns;
    for (int count = 0; count < 60; count++) {
        EXPECT(vs_request(source, 1) == 0);
        EXPECT(next(source, &sample) == 1);
        EXPECT(sample.flags == 0 && sample.time_ns > last_ns && sample.time_ns <= now_ns());
        last_ns = sample.time_ns;
    }
    double elapsed_ns = (double)(sample.time_ns - first.time_ns);
    double found_ns = elapsed_ns / (double)(sample.sequence - first.sequence);
    printf("told %.3f ns, found %.3f ns\n", period_ns, found_ns);
    EXPECT(found_ns / period_ns > 0.999999 && found_ns / period_ns < 1.000001);
    uint64_t before = sample.sequence;
    EXPECT(vs_request(source, 20) == 0);
    EXPECT(next(source, &sample) == 1);
    EXPECT(sample.sequence >= before + 20);
}

// The display's master switches it off while an answer is awaited.
static void check_off(int master, vs_source *source) {
    uint32_t id = 0;
    vs_drm_resources resources = {.crtc_ids = (uint64_t)(uintptr_t)&id, .crtcs = 1};
    EXPECT(ioctl(master, _IOWR('d', VS_DRM_MODE_GETRESOURCES, vs_drm_resources), &resources) == 0);
    vs_sample sample = {0};
    // The last sample is long past: 60 refreshes after it would be the next one.
    EXPECT(vs_request(source, 1) == 0);
    EXPECT(next(source, &sample) == 1);
    EXPECT(vs_request(source, 60) == 0);
    vs_drm_crtc off = {.crtc_id = id};
    EXPECT(ioctl(master, _IOWR('d', 0xa2, vs_drm_crtc), &off) == 0);  // MODE_SETCRTC
    EXPECT(next(source, &sample) == 1);
    EXPECT(sample.flags == VS_BOGUS);
    EXPECT(vs_request(source, 1) == -EINVAL);
    EXPECT(vs_request(source, 1) == -EINVAL);
    vs_source *second;
    const char *failure;
    EXPECT(vs_drm_open(NULL, NULL, &second, &failure) == -ENXIO);
}

// Checks what a user may do. The child's exit status is the number of failed expectations.
static void check_user(gid_t group, int expected) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        failures = 0;
        EXPECT(setgroups(0, NULL) == 0 && setgid(group) == 0 && setuid(1000) == 0);
        vs_source *source;
        const char *failure;
        int status = vs_drm_open(NULL, NULL, &source, &failure);
        EXPECT(status == expected);
        if (status == 0) check_refreshes(source);
        fflush(stdout);
        _exit(failures);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT(status == 0);
}

int main(void) {
    // The first to open the card is master of its display.
    int master = open("/dev/dri/card0", O_RDWR | O_CLOEXEC);
    EXPECT(master >= 0);
    vs_source *source;
    const char *failure;
    int status = vs_drm_open(NULL, NULL, &source, &failure);
    if (status != 0) {
        printf("cannot %s: %s\n", failure, strerror(-status));
        return 1;
    }
    check_refreshes(source);
    check_user(44, 0);
    check_user(1000, -EACCES);
    check_off(master, source);
    vs_close(source);
    close(master);
    return failures != 0;
}
