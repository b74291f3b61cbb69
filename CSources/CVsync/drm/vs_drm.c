// SPDX-License-Identifier: Apache-2.0
#ifdef __linux__
#include "vs_drm.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../vs_source.h"

enum { CRTCS = 32, CARDS = 16, INTERLACE = 1 << 4, DOUBLE_SCAN = 1 << 5 };

typedef struct {
    vs_source source;
    const vs_drm_calls *calls;
    uint32_t crtc_id;
    uint32_t crtc_index;  // its index among the card's CRTCs, which WAIT_VBLANK takes
    int has_queue;        // CRTC_QUEUE_SEQUENCE; else WAIT_VBLANK
    int is_waiting;
    uint64_t serial;
    uint64_t requested;  // 0 if the request was relative
    uint64_t last;
    int knows_last;
} vs_drm;

static int kernel_open(const char *path) { return open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK); }

static unsigned size_of(int number) {
    switch (number) {
    case VS_DRM_GET_CAP: return sizeof(vs_drm_cap);
    case VS_DRM_WAIT_VBLANK: return sizeof(vs_drm_wait_vblank);
    case VS_DRM_CRTC_GET_SEQUENCE: return sizeof(vs_drm_get_sequence);
    case VS_DRM_CRTC_QUEUE_SEQUENCE: return sizeof(vs_drm_queue_sequence);
    case VS_DRM_MODE_GETRESOURCES: return sizeof(vs_drm_resources);
    default: return sizeof(vs_drm_crtc);
    }
}

static int kernel_ioctl(int fd, int number, void *argument) {
    return ioctl(fd, _IOC(_IOC_READ | _IOC_WRITE, 'd', number, size_of(number)), argument);
}

static const vs_drm_calls kernel_calls = {kernel_open, kernel_ioctl, read};

// Returns 0 or a negative errno. drm_ioctl restarts itself after a signal, where it can.
static int call(const vs_drm_calls *calls, int fd, int number, void *argument) {
    int status;
    do status = HRT_STATUS(calls->ioctl(fd, number, argument));
    while (status == -EAGAIN);
    return status;
}

static int queue(vs_drm *drm, uint64_t refreshes) {
    vs_drm_queue_sequence request = {
        .crtc_id = drm->crtc_id,
        .flags = VS_DRM_SEQUENCE_NEXT_ON_MISS,
        .sequence = drm->requested,
        .user_data = drm->serial,
    };
    if (!drm->knows_last) {
        request.flags |= VS_DRM_SEQUENCE_RELATIVE;
        request.sequence = refreshes;
    }
    return call(drm->calls, drm->source.fd, VS_DRM_CRTC_QUEUE_SEQUENCE, &request);
}

static int wait_vblank(vs_drm *drm, uint64_t refreshes) {
    vs_drm_wait_vblank request = {
        .type = VS_DRM_VBLANK_EVENT | VS_DRM_VBLANK_NEXT_ON_MISS |
                drm->crtc_index << VS_DRM_VBLANK_CRTC_SHIFT,
        .sequence = (uint32_t)drm->requested,
        .signal = (long)drm->serial,
    };
    if (!drm->knows_last) {
        request.type |= VS_DRM_VBLANK_RELATIVE;
        request.sequence = (uint32_t)refreshes;
    }
    return call(drm->calls, drm->source.fd, VS_DRM_WAIT_VBLANK, &request);
}

static int drm_request(vs_source *source, uint64_t refreshes) {
    vs_drm *drm = (vs_drm *)source;
    if (drm->is_waiting) return -EBUSY;
    drm->serial = (drm->serial + 1) & INT32_MAX;
    drm->requested = drm->knows_last ? drm->last + refreshes : 0;
    int status = drm->has_queue ? queue(drm, refreshes) : wait_vblank(drm, refreshes);
    // EINVAL while the CRTC is off: its count may differ when it is on again.
    if (status == 0)
        drm->is_waiting = 1;
    else
        drm->knows_last = 0;
    return status;
}

// Returns 1 if the event answers the request.
static int tell(vs_drm *drm, const vs_drm_event *event, vs_sample *out_sample) {
    if (!drm->is_waiting || event->user_data != drm->serial) return 0;
    uint64_t sequence;
    int64_t time_ns;
    if (event->type == VS_DRM_EVENT_CRTC_SEQUENCE) {
        sequence = event->crtc.sequence;
        time_ns = event->crtc.time_ns;
    } else if (event->type == VS_DRM_EVENT_VBLANK) {
        // The count has only 32 bits; its difference from the last is right even if it wraps.
        int32_t step = (int32_t)(event->vblank.sequence - (uint32_t)drm->last);
        sequence = drm->knows_last ? drm->last + (uint64_t)(int64_t)step : event->vblank.sequence;
        time_ns = event->vblank.tv_sec * INT64_C(1000000000) + event->vblank.tv_usec * 1000;
    } else {
        return 0;
    }
    // An event that is pending when a CRTC is switched off comes at once, with a count below the
    // requested one.
    int is_bogus = time_ns <= 0 || (drm->knows_last && sequence < drm->requested);
    drm->is_waiting = 0;
    drm->last = sequence;
    drm->knows_last = !is_bogus;
    *out_sample = (vs_sample){
        .time_ns = is_bogus ? 0 : time_ns,
        .sequence = sequence,
        .flags = is_bogus ? VS_BOGUS : 0,
    };
    return 1;
}

static int drm_take(vs_source *source, vs_sample *out_sample) {
    vs_drm *drm = (vs_drm *)source;
    // The kernel returns whole events (drm_read in drm_file.c).
    _Alignas(vs_drm_event) char buffer[1024];
    while (1) {
        long bytes = HRT_CALL(drm->calls->read(drm->source.fd, buffer, sizeof buffer));
        if (bytes == -EAGAIN) return 0;
        if (bytes < 0) return (int)bytes;
        if (bytes == 0) return -ENODEV;
        int has_sample = 0;
        for (size_t at = 0; at + sizeof(vs_drm_event) <= (size_t)bytes;) {
            const vs_drm_event *event = (const void *)(buffer + at);
            if (event->length < sizeof(vs_drm_event)) break;
            if (tell(drm, event, out_sample)) has_sample = 1;
            at += event->length;
        }
        if (has_sample) return 1;
    }
}

static void drm_close(vs_source *source) {
    close(source->fd);
    free(source);
}

static const vs_ops drm_ops = {drm_request, drm_take, drm_close};

// Finds the call that reports the CRTC's refreshes. Returns 1 if it is on, 0 if it is off, -ENOTSUP
// if no call does.
static int is_on(vs_drm *drm, const vs_drm_crtc *crtc) {
    vs_drm_get_sequence now = {.crtc_id = crtc->crtc_id};
    int status = call(drm->calls, drm->source.fd, VS_DRM_CRTC_GET_SEQUENCE, &now);
    drm->has_queue = status == 0;
    if (status == 0) return now.active != 0;
    // EINVAL: the CRTC is off, or an old kernel does not have the ioctl.
    if (!crtc->mode_valid) return 0;
    vs_drm_wait_vblank old = {.type = VS_DRM_VBLANK_RELATIVE | drm->crtc_index
                                                                   << VS_DRM_VBLANK_CRTC_SHIFT};
    // A wait for zero refreshes from now is answered at once.
    return call(drm->calls, drm->source.fd, VS_DRM_WAIT_VBLANK, &old) == 0 ? 1 : -ENOTSUP;
}

static void read_told_rate(vs_drm *drm, const vs_drm_crtc *crtc) {
    const vs_drm_mode *mode = &crtc->mode;
    int64_t dots = (int64_t)mode->clock_khz * 1000;
    int64_t all = (int64_t)mode->htotal * mode->vtotal;
    if (mode->flags & INTERLACE) dots *= 2;
    if (mode->flags & DOUBLE_SCAN) all *= 2;
    if (mode->vscan > 1) all *= mode->vscan;
    if (!crtc->mode_valid || dots <= 0 || all <= 0) return;
    drm->source.told_numerator = dots;
    drm->source.told_denominator = all;
}

static int find_crtc(vs_drm *drm, const char **out_failure) {
    *out_failure = "list the card's CRTCs";
    uint32_t ids[CRTCS] = {0};
    vs_drm_resources resources = {.crtc_ids = (uint64_t)(uintptr_t)ids, .crtcs = CRTCS};
    int status = call(drm->calls, drm->source.fd, VS_DRM_MODE_GETRESOURCES, &resources);
    if (status != 0) return status;
    *out_failure = "find a CRTC that is on";
    status = -ENXIO;
    for (uint32_t index = 0; index < resources.crtcs && index < CRTCS; index++) {
        vs_drm_crtc crtc = {.crtc_id = ids[index]};
        if (call(drm->calls, drm->source.fd, VS_DRM_MODE_GETCRTC, &crtc) != 0) continue;
        drm->crtc_id = ids[index];
        drm->crtc_index = index;
        int answer = is_on(drm, &crtc);
        if (answer == 1) {
            read_told_rate(drm, &crtc);
            return 0;
        }
        if (answer < 0) status = answer;
    }
    return status;
}

static int fill(vs_drm *drm, const char **out_failure) {
    *out_failure = "have the card's refreshes on CLOCK_MONOTONIC";
    vs_drm_cap cap = {.capability = VS_DRM_CAP_TIMESTAMP_MONOTONIC};
    int status = call(drm->calls, drm->source.fd, VS_DRM_GET_CAP, &cap);
    if (status != 0 || cap.value == 0) return -ENOTSUP;
    return find_crtc(drm, out_failure);
}

static int open_card(const char *path, const vs_drm_calls *calls, vs_source **out_source,
                     const char **out_failure) {
    *out_failure = "open a card of /dev/dri";
    int fd = (int)HRT_CALL(calls->open(path));
    if (fd < 0) return fd;
    vs_drm *drm = calloc(1, sizeof *drm);
    if (!drm) {
        close(fd);
        return -ENOMEM;
    }
    drm->source.ops = &drm_ops;
    drm->source.fd = fd;
    drm->calls = calls;
    int status = fill(drm, out_failure);
    if (status != 0) {
        drm_close(&drm->source);
        return status;
    }
    *out_source = &drm->source;
    *out_failure = NULL;
    return 0;
}

int vs_drm_open(const char *card, const vs_drm_calls *calls, vs_source **out_source,
                const char **out_failure) {
    *out_source = NULL;
    if (!calls) calls = &kernel_calls;
    if (card) return open_card(card, calls, out_source, out_failure);
    int status = -ENOENT;
    *out_failure = "open a card of /dev/dri";
    for (int number = 0; number < CARDS; number++) {
        char path[32];
        snprintf(path, sizeof path, "/dev/dri/card%d", number);
        const char *failure;
        int answer = open_card(path, calls, out_source, &failure);
        if (answer == 0) {
            *out_failure = NULL;
            return 0;
        }
        // The error of a card that exists is more useful than ENOENT of one that does not.
        if (answer != -ENOENT || status == -ENOENT) {
            status = answer;
            *out_failure = failure;
        }
    }
    return status;
}
#endif
