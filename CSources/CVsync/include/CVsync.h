// SPDX-License-Identifier: Apache-2.0
#ifndef CVSYNC_H
#define CVSYNC_H

#include <stddef.h>
#include <stdint.h>

// Only clang knows these.
#ifndef __clang__
#define _Nonnull
#define _Nullable
#endif

#ifdef __cplusplus
extern "C" {
#endif

// CVsync: a display's refreshes, as servers and the kernel report them. No source needs a -dev
// package to be built: client libraries are loaded when a source is opened (dlopen(3)), and the
// kernel's structures are declared here.
//
// * A source has one descriptor that is readable when there is something to take. It has no thread,
//   and only opening it blocks, as that may wait for a server's answer.
// * Each request is answered by one sample. Nothing is reported that was not requested.
// * A name ends with its unit. Instants are on CLOCK_MONOTONIC.
// * A status is 0, or a negative errno; results are written through the last parameters.
// * A source belongs to one thread at a time. A child of fork(2) must neither use nor close one, as
//   it would write to its parent's connection.
typedef struct vs_source vs_source;

// Flags of a sample.
enum {
    // The source does not count refreshes: the sequence is invalid.
    VS_NO_SEQUENCE = 1,
    // An answer that reports no refresh: the display sleeps, is off, or its count has restarted. A
    // caller that requests again at once may get the same answer at once, endlessly.
    VS_BOGUS = 2,
    // Not the answer yet: a surface's frame was shown, and its instant is reported later. The
    // request is still pending.
    VS_SHOWN = 4,
};

// One refresh.
typedef struct {
    int64_t time_ns;    // the instant of the refresh
    uint64_t sequence;  // its number
    uint32_t flags;     // VS_NO_SEQUENCE | VS_BOGUS | VS_SHOWN
} vs_sample;

// Opens a source of an X server's refreshes, by the Present extension, for the display at the given
// position, in pixels from the screen's corner. The X display is named as for XOpenDisplay(3); NULL
// for $DISPLAY. Writes the source, or a static string that says what failed. Returns -ENOENT
// without the libraries (libxcb.so.1, libxcb-present.so.0), -ECONNREFUSED if there is no server or
// it refuses the connection, -ETIMEDOUT if it does not begin to answer in time, -ENOTSUP without
// Present, -ENOMEM.
int vs_x11_open(const char *_Nullable display, int16_t x, int16_t y, int answer_within_ms,
                vs_source *_Nullable *_Nonnull out_source,
                const char *_Nullable *_Nonnull out_failure);

// Opens a source of the refreshes that a Wayland compositor reports for the application's
// wl_surface on its wl_display. Both must live until the source is closed or detached. `library` is
// NULL for the system's; otherwise it must live as long as the source. Frame callbacks and
// wp_presentation are bound to commits of the surface. Writes the source, or a static string that
// says what failed. Returns -ENOENT without the library (libwayland-client.so.0), -ETIMEDOUT if the
// compositor does not answer in time, -EPIPE or another errno if the connection is broken.
struct vs_wl;
int vs_wayland_open(void *_Nonnull display, void *_Nonnull surface, int flags, int answer_within_ms,
                    const struct vs_wl *_Nullable library,
                    vs_source *_Nullable *_Nonnull out_source,
                    const char *_Nullable *_Nonnull out_failure);

enum {
    // The source commits the surface's current state with each request. Without this flag, requests
    // go with the application's commits; it calls vs_wayland_will_commit before each.
    VS_WAYLAND_COMMITS = 1,
    // The source also reads the connection. Without this flag, it takes only what others have read,
    // and its descriptor is never readable.
    VS_WAYLAND_READS = 2,
};

// Takes an answer like vs_take, but only from what others have read from the connection: it reads
// nothing itself.
int vs_wayland_take_read(vs_source *_Nonnull source, vs_sample *_Nonnull out_sample);

enum {
    // The source has read the connection since the last call: an earlier result of poll(2) is
    // outdated.
    VS_WAYLAND_HAS_READ = 1,
    // The display's default queue, which is the application's, has events to be dispatched.
    VS_WAYLAND_OTHERS_WAIT = 2,
};

// Returns a set of the above flags: what other readers of the connection can no longer learn from
// its descriptor. Dispatches none of their events.
int vs_wayland_others(vs_source *_Nonnull source);

// Returns the descriptor of the application's connection, by the number that the application knows;
// -1 once detached.
int vs_wayland_connection(const vs_source *_Nonnull source);

// Announces the application's next commit. Returns 1 if the pending request goes with it, 2 if only
// a new frame callback does, which shows that the surface is visible, and 0 if there is no request
// or it has been sent completely.
int vs_wayland_will_commit(vs_source *_Nonnull source);

// Releases the display and the surface. The source is lost then; its descriptor stays open until
// the source is closed.
void vs_wayland_detach(vs_source *_Nonnull source);

// Returns a descriptor that is readable when there may be something to take. Belongs to the source.
int vs_descriptor(const vs_source *_Nonnull source);

// Requests the refresh that is `refreshes` (at least 1) after the last reported one, or the next
// one if that has passed. At most one request is pending: a second one fails with -EBUSY. Returns
// -EPIPE once the source is lost, or another errno of the source's own.
int vs_request(vs_source *_Nonnull source, uint64_t refreshes);

// Takes an answer. Returns 1 if there was one, 0 if there is none yet, and a negative errno if the
// source is lost: then no answer will come, and the source can only be closed.
int vs_take(vs_source *_Nonnull source, vs_sample *_Nonnull out_sample);

// Writes the rate that the source claims, as a fraction; 0/1 if it claims none. Often wrong.
void vs_told_rate(const vs_source *_Nonnull source, int64_t *_Nonnull out_numerator,
                  int64_t *_Nonnull out_denominator);

void vs_close(vs_source *_Nonnull source);

#ifdef __cplusplus
}
#endif

#endif
