#ifndef CVSYNC_H
#define CVSYNC_H

#include <stddef.h>
#include <stdint.h>

// CVsync: a display's refreshes, as servers and the kernel report them. Each kind of source needs
// nothing to be built: client libraries are loaded when a source is opened (dlopen(3)), the
// kernel's structures are declared here.
//
// * A source is one descriptor that is readable when there is something to take. There is no
// thread, and nothing blocks but opening, which may wait for a server's answer.
// * Each request is answered by one sample. Nothing is reported that was not requested.
// * Units stand last in a name. Instants are on CLOCK_MONOTONIC.
// * Status is 0, or a negative errno; results go through the last parameters.
// * A source belongs to one thread at a time. A child of fork(2) must neither use nor close one: it
// would speak on its parent's connection.
typedef struct vs_source vs_source;

// What a sample is like.
enum {
    // The source does not count refreshes: the sequence means nothing.
    VS_NO_SEQUENCE = 1,
    // An answer, but no refresh: the display sleeps, is off, or counts from another number now. Who
    // asks again at once may get the same answer again at once, without end.
    VS_BOGUS = 2,
    // No answer: a surface's frame was shown, and its instant is reported later. The request is
    // still under way.
    VS_SHOWN = 4,
};

// One refresh.
typedef struct {
    int64_t time_ns;    // when it was
    uint64_t sequence;  // which it was
    uint32_t flags;     // VS_NO_SEQUENCE | VS_BOGUS | VS_SHOWN
} vs_sample;

// An X server's refreshes, by the Present extension: those of the screen's corner at the given
// position, in pixels. The display is named as for XOpenDisplay(3); NULL for $DISPLAY. Writes the
// source, or what could not be done, in words that nobody frees. -ENOENT without the libraries
// (libxcb.so.1, libxcb-present.so.0), -ECONNREFUSED without a server, or if it refuses us,
// -ETIMEDOUT if it does not begin to answer in time, -ENOTSUP without Present, -ENOMEM.
int vs_x11_open(const char *_Nullable display, int16_t x, int16_t y, int answer_within_ms,
                vs_source *_Nullable *_Nonnull out_source,
                const char *_Nullable *_Nonnull out_failure);

// The refreshes that a Wayland compositor reports of a surface: of the application's wl_display and
// wl_surface, which live until the source is closed or detached. `library` is NULL for the
// system's, else it lives as long as the source. Frame callbacks and wp_presentation go with
// commits of the surface. Writes the source, or what could not be done. -ENOENT without the library
// (libwayland-client.so.0), -ETIMEDOUT if the compositor does not answer in time, -EPIPE or another
// errno if the connection is broken.
struct vs_wl;
int vs_wayland_open(void *_Nonnull display, void *_Nonnull surface, int flags, int answer_within_ms,
                    const struct vs_wl *_Nullable library,
                    vs_source *_Nullable *_Nonnull out_source,
                    const char *_Nullable *_Nonnull out_failure);

enum {
    // The source commits the surface with each request, as it is then. Else requests go with the
    // application's own commits, before each of which it calls vs_wayland_will_commit.
    VS_WAYLAND_COMMITS = 1,
    // The source reads the connection too. Else only what others have read is taken, and nothing
    // says when: the descriptor is never readable.
    VS_WAYLAND_READS = 2,
};

// As vs_take, but takes only what others have read from the connection: it reads nothing itself.
int vs_wayland_take_read(vs_source *_Nonnull source, vs_sample *_Nonnull out_sample);

enum {
    // The source has read the connection since the last call: what poll(2) said before is old.
    VS_WAYLAND_HAS_READ = 1,
    // The display's own queue, which is the application's, has events that wait to be dispatched.
    VS_WAYLAND_OTHERS_WAIT = 2,
};

// What those who watch the connection cannot learn from its descriptor any more: a set of the
// above. Dispatches nothing of theirs.
int vs_wayland_others(vs_source *_Nonnull source);

// The descriptor of the application's connection, by the number that the application knows; -1 once
// detached.
int vs_wayland_connection(const vs_source *_Nonnull source);

// 1 if the request under way goes with the commit that follows, 2 if only a new callback does that
// shows that the surface is shown; 0 if there is no request, or all of it is on its way already.
int vs_wayland_will_commit(vs_source *_Nonnull source);

// Lets go of display and surface. The source is lost then; its descriptor stays until it is closed.
void vs_wayland_detach(vs_source *_Nonnull source);

// Readable when there may be something to take. Belongs to the source.
int vs_descriptor(const vs_source *_Nonnull source);

// Asks for the refresh `refreshes` after the last that was reported, at least 1, or for the next if
// that has passed. At most one request is under way: another one meanwhile is -EBUSY. -EPIPE once
// the source is lost; other errno of the source's own.
int vs_request(vs_source *_Nonnull source, uint64_t refreshes);

// 1 if there was an answer, 0 if there is none yet. A negative errno if the source is lost: nothing
// will come any more, and it can only be closed.
int vs_take(vs_source *_Nonnull source, vs_sample *_Nonnull out_sample);

// What the source says its rate is, as a fraction; 0/1 if it says nothing. Often wrong.
void vs_told_rate(const vs_source *_Nonnull source, int64_t *_Nonnull out_numerator,
                  int64_t *_Nonnull out_denominator);

void vs_close(vs_source *_Nonnull source);

#endif
