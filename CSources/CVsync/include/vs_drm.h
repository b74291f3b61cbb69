// SPDX-License-Identifier: Apache-2.0
#ifndef VS_DRM_H
#define VS_DRM_H

#include <stdint.h>
#include <sys/types.h>

#include "CVsync.h"

#ifdef __cplusplus
extern "C" {
#endif

// The kernel's interface to a card's refreshes, as in <drm/drm.h> and <drm/drm_mode.h>, which
// Debian's linux-libc-dev does not have. It is part of the kernel's ABI, so it cannot change.

typedef struct {
    uint64_t capability, value;
} vs_drm_cap;

typedef struct {
    uint64_t fb_ids, crtc_ids, connector_ids, encoder_ids;  // addresses
    uint32_t fbs, crtcs, connectors, encoders;
    uint32_t min_width, max_width, min_height, max_height;
} vs_drm_resources;

typedef struct {
    uint32_t clock_khz;
    uint16_t hdisplay, hsync_start, hsync_end, htotal, hskew;
    uint16_t vdisplay, vsync_start, vsync_end, vtotal, vscan;
    uint32_t vrefresh, flags, type;
    char name[32];
} vs_drm_mode;

typedef struct {
    uint64_t connectors;
    uint32_t connector_count, crtc_id, fb_id, x, y, gamma_size, mode_valid;
    vs_drm_mode mode;
} vs_drm_crtc;

typedef struct {
    uint32_t crtc_id, active;
    uint64_t sequence;
    int64_t sequence_ns;
} vs_drm_get_sequence;

typedef struct {
    uint32_t crtc_id, flags;
    uint64_t sequence, user_data;
} vs_drm_queue_sequence;

// The request; the kernel writes the answer to the same memory.
typedef struct {
    uint32_t type, sequence;
    long signal;  // in the answer: the seconds
    long tval_usec;
} vs_drm_wait_vblank;

typedef struct {
    uint32_t tv_sec, tv_usec, sequence, crtc_id;
} vs_drm_vblank;

typedef struct {
    int64_t time_ns;
    uint64_t sequence;
} vs_drm_sequence;

// An event: type 1 from WAIT_VBLANK, type 3 from QUEUE_SEQUENCE.
typedef struct {
    uint32_t type, length;
    uint64_t user_data;
    union {
        vs_drm_vblank vblank;
        vs_drm_sequence crtc;
    };
} vs_drm_event;

enum {
    VS_DRM_EVENT_VBLANK = 1,
    VS_DRM_EVENT_CRTC_SEQUENCE = 3,
    VS_DRM_CAP_TIMESTAMP_MONOTONIC = 6,
    VS_DRM_SEQUENCE_RELATIVE = 1,
    VS_DRM_SEQUENCE_NEXT_ON_MISS = 2,
    VS_DRM_VBLANK_RELATIVE = 1,
    VS_DRM_VBLANK_EVENT = 0x4000000,
    VS_DRM_VBLANK_NEXT_ON_MISS = 0x10000000,
    VS_DRM_VBLANK_CRTC_SHIFT = 1,
};

// The numbers of the ioctls. The rest of a request's code is the size of its structure.
enum {
    VS_DRM_GET_CAP = 0x0c,
    VS_DRM_WAIT_VBLANK = 0x3a,
    VS_DRM_CRTC_GET_SEQUENCE = 0x3b,
    VS_DRM_CRTC_QUEUE_SEQUENCE = 0x3c,
    VS_DRM_MODE_GETRESOURCES = 0xa0,
    VS_DRM_MODE_GETCRTC = 0xa1,
};

// The system calls, so that a test can replace the kernel. Errors are -1, with errno set.
typedef struct {
    int (*_Nonnull open)(const char *_Nonnull path);
    // `number` is one of the above.
    int (*_Nonnull ioctl)(int fd, int number, void *_Nonnull argument);
    ssize_t (*_Nonnull read)(int fd, void *_Nonnull buffer, size_t bytes);
} vs_drm_calls;

// Opens a source of the refreshes of a card's first CRTC that is on. `card` is the path of a
// primary node, or NULL for the first usable one of /dev/dri/card0 to card15. `calls` is NULL for
// the kernel's. Needs only the right to open the node (group video, or the seat's ACL). Writes the
// source, or a static string that says what failed. Returns -ENOENT without a card, -EACCES without
// that right, -ENOTSUP if the driver counts no refreshes or stamps them on another clock, -ENXIO if
// no CRTC is on, -ENOMEM.
int vs_drm_open(const char *_Nullable card, const vs_drm_calls *_Nullable calls,
                vs_source *_Nullable *_Nonnull out_source,
                const char *_Nullable *_Nonnull out_failure);

#ifdef __cplusplus
}
#endif

#endif
