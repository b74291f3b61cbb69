// SPDX-License-Identifier: Apache-2.0
#ifndef VS_WAYLAND_H
#define VS_WAYLAND_H

#include <time.h>

#include "../vs_source.h"
#include "vs_wl.h"

// Some compositors never answer: sway 0.15 without a screen never reported a presentation.
enum { FEEDBACKS = 8 };

typedef struct vs_wayland vs_wayland;

// A pending wp_presentation_feedback.
typedef struct {
    vs_wayland *owner;
    vs_wl_proxy *proxy;  // NULL if the place is free
} vs_feedback;

struct vs_wayland {
    vs_source source;
    const vs_wl *wl;
    vs_wl_proxy *display;     // a wrapper of the application's
    vs_wl_proxy *connection;  // the application's display; NULL once detached
    vs_wl_queue *queue;
    vs_wl_proxy *surface;       // a wrapper of the application's
    vs_wl_proxy *registry;      // only while the source is being opened
    vs_wl_proxy *presentation;  // NULL if the compositor has none
    clockid_t clock;            // the clock of the compositor's timestamps
    int commits, reads;
    int has_read;  // since the last call of vs_wayland_others
    // WANTED: the request goes with the next commit.
    enum { IDLE, WANTED, SENT } state;
    vs_wl_proxy *frame;  // a wl_callback
    vs_feedback feedbacks[FEEDBACKS];
    // Frame callbacks in a row without a presentation; from FEEDBACKS on, their times are used.
    int unpresented;
    unsigned frames;  // reported by callbacks
    int has_presented;
    int is_shown;  // a frame was shown, which is still to be reported
    vs_sample sample;
    int has_sample;
};

extern const vs_wl_interface vs_wayland_presentation;

// Requests a frame callback and a presentation with the next commit. Returns the same as
// vs_wayland_will_commit.
int vs_wayland_ask(vs_wayland *wayland);

// Destroys the pending requests' objects.
void vs_wayland_forget(vs_wayland *wayland);

#endif
