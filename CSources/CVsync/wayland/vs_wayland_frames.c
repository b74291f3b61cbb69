// SPDX-License-Identifier: Apache-2.0
#ifdef __linux__
#include <stddef.h>

#include "vs_wayland.h"

// The requests and events of wp_presentation, version 1, from presentation-time.xml. The library
// does not check types that are NULL: those of the surface and the output.
static const vs_wl_interface feedback_interface;
static const vs_wl_interface *feedback_types[] = {NULL, &feedback_interface};
static const vs_wl_interface *no_types[7];

static const vs_wl_message presentation_methods[] = {{"destroy", "", no_types},
                                                     {"feedback", "on", feedback_types}};
static const vs_wl_message presentation_events[] = {{"clock_id", "u", no_types}};
const vs_wl_interface vs_wayland_presentation = {"wp_presentation",    1, 2,
                                                 presentation_methods, 1, presentation_events};

static const vs_wl_message feedback_events[] = {
    {"sync_output", "o", no_types},
    {"presented", "uuuuuuu", no_types},
    {"discarded", "", no_types},
};
static const vs_wl_interface feedback_interface = {
    "wp_presentation_feedback", 1, 0, NULL, 3, feedback_events};

enum { PRESENTATION_FEEDBACK = 1, RETRY_FRAMES = 64 };

static int64_t read_ns(clockid_t clock) {
    struct timespec now;
    if (clock_gettime(clock, &now) != 0) return 0;
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

// Returns how much CLOCK_MONOTONIC is ahead of the compositor's clock now; this may change.
static int64_t ahead_ns(const vs_wayland *wayland) {
    if (wayland->clock == CLOCK_MONOTONIC) return 0;
    int64_t before_ns = read_ns(CLOCK_MONOTONIC);
    int64_t theirs_ns = read_ns(wayland->clock);
    int64_t after_ns = read_ns(CLOCK_MONOTONIC);
    return before_ns + (after_ns - before_ns) / 2 - theirs_ns;
}

static int believes_frames(const vs_wayland *wayland) {
    return !wayland->presentation || wayland->unpresented >= FEEDBACKS;
}

static void answer(vs_wayland *wayland, int64_t time_ns, uint64_t sequence) {
    wayland->sample = (vs_sample){
        .time_ns = time_ns,
        .sequence = sequence,
        // Some compositors do not count refreshes.
        .flags = sequence == 0 ? VS_NO_SEQUENCE : 0,
    };
    wayland->has_sample = 1;
    wayland->state = IDLE;
}

static int has_feedback(const vs_wayland *wayland) {
    for (int place = 0; place < FEEDBACKS; place++) {
        if (wayland->feedbacks[place].proxy) return 1;
    }
    return 0;
}

// Requests again with the next commit. If there never was a presentation, none may ever come; the
// repeated requests find that out.
static void ask_again(vs_wayland *wayland) {
    wayland->state = WANTED;
    if (!wayland->commits) return;
    (void)vs_wayland_ask(wayland);
    wayland->wl->marshal(wayland->surface, VS_WL_SURFACE_COMMIT, NULL);
    (void)wayland->wl->flush(wayland->connection);
}

static void release(vs_feedback *feedback) {
    feedback->owner->wl->destroy(feedback->proxy);
    feedback->proxy = NULL;
}

static void on_sync_output(void *data, vs_wl_proxy *proxy, vs_wl_proxy *output) {
    (void)data, (void)proxy, (void)output;
}

static void on_presented(void *data, vs_wl_proxy *proxy, uint32_t seconds_high,
                         uint32_t seconds_low, uint32_t nanoseconds, uint32_t refresh_ns,
                         uint32_t sequence_high, uint32_t sequence_low, uint32_t flags) {
    (void)proxy, (void)flags;
    vs_feedback *feedback = data;
    vs_wayland *wayland = feedback->owner;
    release(feedback);
    wayland->unpresented = 0;
    wayland->has_presented = 1;
    // refresh_ns is 0 for a variable rate.
    wayland->source.told_numerator = refresh_ns > 0 ? 1000000000 : 0;
    wayland->source.told_denominator = refresh_ns;
    uint64_t seconds = (uint64_t)seconds_high << 32 | seconds_low;
    if (seconds > INT64_MAX / 1000000000 - 1 || wayland->state == IDLE) return;
    answer(wayland, (int64_t)seconds * 1000000000 + nanoseconds + ahead_ns(wayland),
           (uint64_t)sequence_high << 32 | sequence_low);
}

static void on_discarded(void *data, vs_wl_proxy *proxy) {
    (void)proxy;
    vs_feedback *feedback = data;
    vs_wayland *wayland = feedback->owner;
    release(feedback);
    if (wayland->state == SENT && !wayland->frame && !has_feedback(wayland)) ask_again(wayland);
}

// Converts a callback's time: 32 bits of ms of an unspecified clock, in all compositors that were
// seen the presentations'. If it is far from that clock's time, the frame counts as shown now.
static int64_t frame_ns(const vs_wayland *wayland, uint32_t time_ms) {
    int64_t now_ns = read_ns(wayland->clock);
    int32_t age_ms = (int32_t)((uint32_t)(now_ns / 1000000) - time_ms);
    int64_t at_ns = now_ns;
    // The middle of the ms, as the fraction is unknown.
    if (age_ms >= -50 && age_ms <= 50) at_ns = (now_ns / 1000000 - age_ms) * 1000000 + 500000;
    return at_ns + ahead_ns(wayland);
}

static void on_frame(void *data, vs_wl_proxy *proxy, uint32_t time_ms) {
    vs_wayland *wayland = data;
    wayland->wl->destroy(proxy);
    wayland->frame = NULL;
    if (wayland->state != SENT) return;
    wayland->is_shown = 1;
    // The frame was shown, even if its feedback is discarded. Commits of a hidden window have no
    // callback, so that their discarded feedback does not count here.
    if (wayland->unpresented < FEEDBACKS) wayland->unpresented++;
    if (believes_frames(wayland)) {
        wayland->frames++;
        answer(wayland, frame_ns(wayland, time_ms), 0);
    } else if (!has_feedback(wayland) || !wayland->has_presented) {
        ask_again(wayland);
    }
}

static void ask_presentation(vs_wayland *wayland) {
    // Now and then requests one even while frames are used: the compositor may answer by now.
    if (!wayland->presentation) return;
    if (believes_frames(wayland) && wayland->frames % RETRY_FRAMES != RETRY_FRAMES - 1) return;
    static vs_wl_handler handlers[] = {(vs_wl_handler)on_sync_output, (vs_wl_handler)on_presented,
                                       (vs_wl_handler)on_discarded};
    for (int place = 0; place < FEEDBACKS; place++) {
        vs_feedback *feedback = &wayland->feedbacks[place];
        if (feedback->proxy) continue;
        vs_wl_argument arguments[] = {{.o = wayland->surface}, {.n = 0}};
        feedback->owner = wayland;
        feedback->proxy = wayland->wl->marshal_new(wayland->presentation, PRESENTATION_FEEDBACK,
                                                   arguments, &feedback_interface);
        if (!feedback->proxy) return;
        wayland->wl->add_listener(feedback->proxy, handlers, feedback);
        return;
    }
}

int vs_wayland_ask(vs_wayland *wayland) {
    if (wayland->state == IDLE) return 0;
    int was_wanted = wayland->state == WANTED;
    // A pending callback stays: this commit replaces one that was not shown yet, or that was
    // presented before its callback. Feedback that was discarded with that commit is requested
    // again.
    int asks_frame = !wayland->frame;
    int asks_presentation = was_wanted || asks_frame || !has_feedback(wayland);
    if (asks_frame) {
        static vs_wl_handler handlers[] = {(vs_wl_handler)on_frame};
        vs_wl_argument arguments[] = {{.n = 0}};
        wayland->frame = wayland->wl->marshal_new(wayland->surface, VS_WL_SURFACE_FRAME, arguments,
                                                  wayland->wl->callback);
        if (!wayland->frame) return 0;
        wayland->wl->add_listener(wayland->frame, handlers, wayland);
    }
    if (asks_presentation) ask_presentation(wayland);
    wayland->state = SENT;
    return was_wanted ? 1 : asks_frame ? 2 : 0;
}

void vs_wayland_forget(vs_wayland *wayland) {
    if (wayland->frame) wayland->wl->destroy(wayland->frame);
    wayland->frame = NULL;
    for (int place = 0; place < FEEDBACKS; place++) {
        if (wayland->feedbacks[place].proxy) release(&wayland->feedbacks[place]);
    }
}
#endif
