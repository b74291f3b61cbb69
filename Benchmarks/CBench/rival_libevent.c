// libevent's timers, through its API: a binary heap of pointers to events. Its time is its own, so that deadlines
// become relative to the workload's zero, and expiring is done with deadlines that already lie in the past, in one turn
// of its loop.
#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdlib.h>
#include <string.h>

#include "hrt_clock.h"
#include "ops_rival.h"

struct rival;

struct timer {
    struct event event;
    struct rival *rival;
    int64_t deadline_ns;
};

struct rival {
    struct event_base *base;
    struct timer *timers;
    struct cbench_fired *fired;
    size_t count;
    int64_t zero_ns;
};

static void on_timer(evutil_socket_t descriptor, short what, void *opaque) {
    (void)descriptor;
    (void)what;
    struct timer *timer = opaque;
    cbench_fire(timer->rival->fired, timer->deadline_ns);
}

static void destroy(void *opaque) {
    struct rival *rival = opaque;
    for (size_t i = 0; i < rival->count; i++) event_del(&rival->timers[i].event);
    event_base_free(rival->base);
    cbench_unmap(rival->timers, rival->count * sizeof *rival->timers);
    free(rival);
}

// libevent's heap grows by realloc(3), which would leave it in small pages: a large piece gets huge ones, as the memory
// of the other rivals does. The header keeps what follows aligned for any type.
struct piece {
    size_t bytes;
    size_t padding;
};

enum { LARGE_BYTES = 1 << 20 };

static void *piece_new(size_t bytes) {
    size_t whole = bytes + sizeof(struct piece);
    struct piece *piece = whole < LARGE_BYTES ? malloc(whole) : cbench_map(whole);
    if (piece == NULL) return NULL;
    piece->bytes = whole;
    return piece + 1;
}

static void piece_free(void *start) {
    if (start == NULL) return;
    struct piece *piece = (struct piece *)start - 1;
    if (piece->bytes < LARGE_BYTES) {
        free(piece);
    } else {
        cbench_unmap(piece, piece->bytes);
    }
}

static void *piece_resize(void *start, size_t bytes) {
    void *moved = piece_new(bytes);
    if (moved == NULL || start == NULL) return moved;
    size_t old_bytes = ((struct piece *)start - 1)->bytes - sizeof(struct piece);
    memcpy(moved, start, old_bytes < bytes ? old_bytes : bytes);
    piece_free(start);
    return moved;
}

static void *create(size_t timers) {
    static bool has_functions;
    if (!has_functions) event_set_mem_functions(piece_new, piece_resize, piece_free);
    has_functions = true;
    struct rival *rival = calloc(1, sizeof *rival);
    if (rival == NULL) return NULL;
    rival->base = event_base_new();
    rival->timers = cbench_map(timers * sizeof *rival->timers);
    rival->count = timers;
    rival->zero_ns = hrt_clock_now_ns(HRT_CLOCK_MONOTONIC);
    if (rival->base == NULL || rival->timers == NULL) return NULL;
    for (size_t i = 0; i < timers; i++) {
        rival->timers[i].rival = rival;
        event_assign(&rival->timers[i].event, rival->base, -1, 0, on_timer, &rival->timers[i]);
    }
    return rival;
}

static void move(void *opaque, size_t number, int64_t deadline_ns) {
    struct timer *timer = &((struct rival *)opaque)->timers[number];
    timer->deadline_ns = deadline_ns;
    int64_t seconds = deadline_ns / 1000000000 - (deadline_ns % 1000000000 < 0);
    struct timeval after = {.tv_sec = seconds, .tv_usec = (deadline_ns - seconds * 1000000000) / 1000};
    event_add(&timer->event, &after);
}

static void replace(void *opaque, size_t number, int64_t deadline_ns) {
    event_del(&((struct rival *)opaque)->timers[number].event);
    move(opaque, number, deadline_ns);
}

// Arming millions takes seconds, in which the zero of relative deadlines would wander.
static void add(void *opaque, size_t number, int64_t deadline_ns) {
    struct rival *rival = opaque;
    move(rival, number, deadline_ns - (hrt_clock_now_ns(HRT_CLOCK_MONOTONIC) - rival->zero_ns));
    rival->timers[number].deadline_ns = deadline_ns;
}

static bool take_due(void *opaque, int64_t now_ns, struct cbench_fired *fired) {
    (void)now_ns;
    struct rival *rival = opaque;
    rival->fired = fired;
    event_base_loop(rival->base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
    return false;
}

const struct cbench_queue_ops cbench_rival_libevent = {
    .id = "libevent.timer", .create = create, .destroy = destroy, .add = add, .replace = replace, .move = move,
    .take_due = take_due, .takes_all_at_once = true,
};
