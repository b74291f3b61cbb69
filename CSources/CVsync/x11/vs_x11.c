// SPDX-License-Identifier: Apache-2.0
#ifdef __linux__
#include <errno.h>
#include <stdlib.h>

#include "../vs_source.h"
#include "vs_xcb.h"

enum {
    INPUT_ONLY = 2,              // XCB_WINDOW_CLASS_INPUT_ONLY
    OVERRIDE_REDIRECT = 1 << 9,  // XCB_CW_OVERRIDE_REDIRECT
    COMPLETE_NOTIFY = 1,         // XCB_PRESENT_EVENT_COMPLETE_NOTIFY
    COMPLETE_NOTIFY_MASK = 2,
    KIND_NOTIFY_MSC = 1,  // XCB_PRESENT_COMPLETE_KIND_NOTIFY_MSC
    MODE_INTERLACE = 1 << 4,
    MODE_DOUBLE_SCAN = 1 << 5,
};

typedef struct {
    vs_source source;
    const vs_xcb *xcb;
    xcb_connection *connection;
    xcb_special_event *events;
    uint32_t window;
    uint32_t serial;
    enum { IDLE, FINDING, WAITING } state;
    uint64_t refreshes;  // as requested
    uint64_t target_msc;
    uint64_t last_msc;
    int knows_last;
} vs_x11;

static int has_failed(vs_x11 *x11) { return x11->xcb->has_error(x11->connection) != 0; }

// A target of 0, with a divisor of 0, requests the present count at once.
static int notify(vs_x11 *x11, uint64_t target_msc) {
    x11->target_msc = target_msc;
    x11->serial++;
    x11->xcb->present_notify(x11->connection, x11->window, x11->serial, target_msc, 0, 0);
    return x11->xcb->flush(x11->connection) <= 0 || has_failed(x11) ? -EPIPE : 0;
}

static int x11_request(vs_source *source, uint64_t refreshes) {
    vs_x11 *x11 = (vs_x11 *)source;
    if (x11->state != IDLE) return -EBUSY;
    x11->refreshes = refreshes;
    x11->state = x11->knows_last ? WAITING : FINDING;
    return notify(x11, x11->knows_last ? x11->last_msc + refreshes : 0);
}

// Returns 1 if the event answers a request.
static int tell(vs_x11 *x11, const xcb_present_complete *event, vs_sample *out_sample) {
    if (event->event_type != COMPLETE_NOTIFY || event->kind != KIND_NOTIFY_MSC) return 0;
    if (event->serial != x11->serial || x11->state == IDLE) return 0;
    uint64_t last_msc = x11->last_msc;
    x11->last_msc = event->msc;
    x11->knows_last = 1;
    if (x11->state == FINDING) {
        // Xvfb stamps this answer with the present instant, which is no refresh.
        x11->state = WAITING;
        (void)notify(x11, event->msc + x11->refreshes);
        return 0;
    }
    x11->state = IDLE;
    int is_bogus = event->msc < x11->target_msc || event->msc <= last_msc || event->ust_us == 0 ||
                   event->ust_us > INT64_MAX / 1000;
    *out_sample = (vs_sample){
        .time_ns = is_bogus ? 0 : (int64_t)event->ust_us * 1000,
        .sequence = event->msc,
        .flags = is_bogus ? VS_BOGUS : 0,
    };
    return 1;
}

static int x11_take(vs_source *source, vs_sample *out_sample) {
    vs_x11 *x11 = (vs_x11 *)source;
    xcb_present_complete *event;
    while ((event = x11->xcb->poll_special(x11->connection, x11->events))) {
        int has_sample = tell(x11, event, out_sample);
        free(event);
        if (has_sample) return 1;
    }
    // No other events are selected; an error means that the server refused a request.
    uint8_t *other;
    int has_error = 0;
    while ((other = x11->xcb->poll_for_event(x11->connection))) {
        if (*other == 0) has_error = 1;
        free(other);
    }
    if (has_failed(x11)) return -EPIPE;
    return has_error ? -EPROTO : 0;
}

static void x11_close(vs_source *source) {
    vs_x11 *x11 = (vs_x11 *)source;
    if (x11->events) x11->xcb->unregister_special(x11->connection, x11->events);
    x11->xcb->disconnect(x11->connection);
    free(x11);
}

static const vs_ops x11_ops = {x11_request, x11_take, x11_close};

static void read_mode(vs_x11 *x11, const xcb_randr_mode *mode) {
    int64_t lines = mode->vtotal;
    int64_t dots = mode->dot_clock;
    if (mode->flags & MODE_DOUBLE_SCAN) lines *= 2;
    if (mode->flags & MODE_INTERLACE) dots *= 2;
    if (dots > 0 && lines * mode->htotal > 0) {
        x11->source.told_numerator = dots;
        x11->source.told_denominator = lines * mode->htotal;
    }
}

// Reads the mode's rate of the CRTC at the position: zero on Xvfb, an invented one on Xwayland.
static void read_told_rate(vs_x11 *x11, uint32_t root, int16_t at_x, int16_t at_y) {
    const vs_xcb *xcb = x11->xcb;
    const uint8_t *data = xcb->randr ? xcb->extension_data(x11->connection, xcb->randr) : NULL;
    // The ninth byte of a reply to QueryExtension says whether the server has the extension.
    if (!data || !data[8]) return;
    xcb_cookie cookie = xcb->randr_resources(x11->connection, root);
    xcb_randr_resources *resources = xcb->randr_resources_reply(x11->connection, cookie, NULL);
    if (!resources) return;
    const uint32_t *crtcs = xcb->randr_crtcs(resources);
    const xcb_randr_mode *modes = xcb->randr_modes(resources);
    for (uint16_t index = 0; index < resources->crtcs; index++) {
        cookie = xcb->randr_crtc(x11->connection, crtcs[index], resources->config_timestamp);
        xcb_randr_crtc *crtc = xcb->randr_crtc_reply(x11->connection, cookie, NULL);
        if (!crtc) continue;
        int is_there = crtc->mode != 0 && at_x >= crtc->x && at_x - crtc->x < crtc->width &&
                       at_y >= crtc->y && at_y - crtc->y < crtc->height;
        for (uint16_t mode = 0; is_there && mode < resources->modes; mode++) {
            if (modes[mode].id == crtc->mode) read_mode(x11, &modes[mode]);
        }
        free(crtc);
    }
    free(resources);
}

// Returns whether the server has Present and answers it. The version is that of a server of 2013.
static int has_present(vs_x11 *x11) {
    const uint8_t *data = x11->xcb->extension_data(x11->connection, x11->xcb->present);
    if (!data || !data[8]) return 0;
    xcb_cookie cookie = x11->xcb->present_version(x11->connection, 1, 0);
    void *reply = x11->xcb->present_version_reply(x11->connection, cookie, NULL);
    free(reply);
    return reply != NULL;
}

// Creates a window of one pixel that is never shown. Its position selects the display whose
// refreshes are reported.
static void make_window(vs_x11 *x11, uint32_t root, int16_t x, int16_t y) {
    const vs_xcb *xcb = x11->xcb;
    uint32_t is_unmanaged = 1;
    x11->window = xcb->generate_id(x11->connection);
    xcb->create_window(x11->connection, 0, x11->window, root, x, y, 1, 1, 0, INPUT_ONLY, 0,
                       OVERRIDE_REDIRECT, &is_unmanaged);
    uint32_t id = xcb->generate_id(x11->connection);
    x11->events = xcb->register_special(x11->connection, xcb->present, id, NULL);
    xcb->present_select(x11->connection, id, x11->window, COMPLETE_NOTIFY_MASK);
    xcb->flush(x11->connection);
}

static uint32_t root_of(vs_x11 *x11, int screen) {
    xcb_screen_iterator roots = x11->xcb->roots(x11->xcb->setup(x11->connection));
    while (roots.rem > 1 && screen-- > 0) x11->xcb->screen_next(&roots);
    return roots.rem > 0 ? roots.data->root : 0;
}

static int fill(vs_x11 *x11, int screen, int16_t x, int16_t y, const char **out_failure) {
    *out_failure = "connect to the X server";
    if (has_failed(x11)) return -ECONNREFUSED;
    *out_failure = "find the Present extension on the X server";
    if (!has_present(x11)) return -ENOTSUP;
    uint32_t root = root_of(x11, screen);
    make_window(x11, root, x, y);
    read_told_rate(x11, root, x, y);
    *out_failure = "watch a window of the X server";
    if (!x11->events || has_failed(x11)) return -EPIPE;
    x11->source.fd = x11->xcb->descriptor(x11->connection);
    return 0;
}

int vs_x11_open(const char *display, int16_t x, int16_t y, int answer_within_ms,
                vs_source **out_source, const char **out_failure) {
    *out_source = NULL;
    *out_failure = "load libxcb.so.1 and libxcb-present.so.0";
    const vs_xcb *xcb = vs_xcb_load();
    if (!xcb) return -ENOENT;
    *out_failure = "connect to the X server";
    int status = vs_x11_answers(display, answer_within_ms);
    if (status != 0) return status;
    vs_x11 *x11 = calloc(1, sizeof *x11);
    if (!x11) return -ENOMEM;
    x11->source.ops = &x11_ops;
    x11->xcb = xcb;
    int screen = 0;
    // Never NULL: a failed connection is an object with an error.
    x11->connection = xcb->connect(display, &screen);
    status = fill(x11, screen, x, y, out_failure);
    if (status != 0) {
        x11_close(&x11->source);
        return status;
    }
    *out_source = &x11->source;
    *out_failure = NULL;
    return 0;
}
#endif
