// SPDX-License-Identifier: Apache-2.0
#ifdef __linux__
#include "vs_wayland.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

// Returns the error of the connection, as a negative errno.
static int failure(const vs_wayland *wayland) {
    int error = wayland->wl->error(wayland->connection);
    return error > 0 ? -error : -EPIPE;
}

// Waits for events until that instant, reads and dispatches them. Returns 0 or a negative errno.
static int read_until(vs_wayland *wayland, int64_t until_ms) {
    const vs_wl *wl = wayland->wl;
    // prepare_read fails while the queue has events that another reader has read.
    while (wl->prepare_read(wayland->connection, wayland->queue) != 0) {
        if (wl->dispatch_pending(wayland->connection, wayland->queue) < 0) return failure(wayland);
    }
    // EAGAIN: the compositor's socket is full. There may be events from it all the same.
    (void)wl->flush(wayland->connection);
    if (!vs_wait_readable(wayland->source.fd, until_ms)) {
        wl->cancel_read(wayland->connection);
    } else {
        wayland->has_read = 1;
        int status = HRT_DONE(wl->read_events(wayland->connection) >= 0);
        if (status != 0 && status != -EAGAIN) return failure(wayland);
    }
    if (wl->dispatch_pending(wayland->connection, wayland->queue) < 0) return failure(wayland);
    return wl->error(wayland->connection) != 0 ? failure(wayland) : 0;
}

static void commit(vs_wayland *wayland) {
    wayland->wl->marshal(wayland->surface, VS_WL_SURFACE_COMMIT, NULL);
    (void)wayland->wl->flush(wayland->connection);
}

static int wayland_request(vs_source *source, uint64_t refreshes) {
    // Always requests the next refresh: a surface that is drawn gets each one reported.
    (void)refreshes;
    vs_wayland *wayland = (vs_wayland *)source;
    if (!wayland->connection) return -EPIPE;
    if (wayland->state != IDLE) return -EBUSY;
    wayland->state = WANTED;
    if (wayland->commits && vs_wayland_ask(wayland) != 0) commit(wayland);
    return 0;
}

static int take(vs_wayland *wayland, int reads, vs_sample *out_sample) {
    if (!wayland->connection) return -EPIPE;
    int status = 0;
    if (reads) {
        status = read_until(wayland, 0);
    } else if (wayland->wl->dispatch_pending(wayland->connection, wayland->queue) < 0 ||
               wayland->wl->error(wayland->connection) != 0) {
        status = failure(wayland);
    }
    if (status != 0) return status;
    if (wayland->has_sample) {
        *out_sample = wayland->sample;
    } else if (wayland->is_shown) {
        *out_sample = (vs_sample){.flags = VS_SHOWN};
    } else {
        return 0;
    }
    wayland->has_sample = wayland->is_shown = 0;
    return 1;
}

static int wayland_take(vs_source *source, vs_sample *out_sample) {
    vs_wayland *wayland = (vs_wayland *)source;
    return take(wayland, wayland->reads, out_sample);
}

int vs_wayland_take_read(vs_source *source, vs_sample *out_sample) {
    return take((vs_wayland *)source, 0, out_sample);
}

int vs_wayland_others(vs_source *source) {
    vs_wayland *wayland = (vs_wayland *)source;
    if (!wayland->connection) return 0;
    int found = wayland->has_read ? VS_WAYLAND_HAS_READ : 0;
    wayland->has_read = 0;
    // prepare_read_own fails as long as the application's queue has events
    // (wl_display_prepare_read). No other call tells that without dispatching them.
    if (wayland->wl->prepare_read_own(wayland->connection) != 0) {
        found |= VS_WAYLAND_OTHERS_WAIT;
    } else {
        wayland->wl->cancel_read(wayland->connection);
    }
    return found;
}

int vs_wayland_connection(const vs_source *source) {
    const vs_wayland *wayland = (const vs_wayland *)source;
    return wayland->connection ? wayland->wl->descriptor(wayland->connection) : -1;
}

static void destroy(vs_wayland *wayland, vs_wl_proxy **proxy) {
    if (*proxy) wayland->wl->destroy(*proxy);
    *proxy = NULL;
}

void vs_wayland_detach(vs_source *source) {
    vs_wayland *wayland = (vs_wayland *)source;
    if (!wayland->connection) return;
    vs_wayland_forget(wayland);
    destroy(wayland, &wayland->registry);
    if (wayland->presentation) wayland->wl->marshal(wayland->presentation, 0, NULL);
    destroy(wayland, &wayland->presentation);
    if (wayland->surface) wayland->wl->destroy_wrapper(wayland->surface);
    if (wayland->display) wayland->wl->destroy_wrapper(wayland->display);
    // The queue is destroyed after all objects on it.
    if (wayland->queue) wayland->wl->destroy_queue(wayland->queue);
    wayland->connection = NULL;
}

int vs_wayland_will_commit(vs_source *source) {
    vs_wayland *wayland = (vs_wayland *)source;
    return wayland->connection && !wayland->commits ? vs_wayland_ask(wayland) : 0;
}

static void wayland_close(vs_source *source) {
    vs_wayland_detach(source);
    if (source->fd >= 0) close(source->fd);
    free(source);
}

static const vs_ops wayland_ops = {wayland_request, wayland_take, wayland_close};

static void on_clock(void *data, vs_wl_proxy *proxy, uint32_t clock) {
    (void)proxy;
    vs_wayland *wayland = data;
    struct timespec now;
    wayland->clock = (clockid_t)clock;
    // Timestamps of a clock that cannot be read are useless.
    if (clock_gettime(wayland->clock, &now) == 0) return;
    wayland->clock = CLOCK_MONOTONIC;
    destroy(wayland, &wayland->presentation);
}

static void on_global(void *data, vs_wl_proxy *registry, uint32_t name, const char *interface,
                      uint32_t version) {
    (void)version;
    vs_wayland *wayland = data;
    if (wayland->presentation || strcmp(interface, vs_wayland_presentation.name) != 0) return;
    static vs_wl_handler handlers[] = {(vs_wl_handler)on_clock};
    wayland->presentation = vs_wl_bind(wayland->wl, registry, name, &vs_wayland_presentation, 1);
    if (wayland->presentation) {
        wayland->wl->add_listener(wayland->presentation, handlers, wayland);
    }
}

static void on_global_remove(void *data, vs_wl_proxy *registry, uint32_t name) {
    (void)data, (void)registry, (void)name;
}

static void on_synced(void *data, vs_wl_proxy *proxy, uint32_t serial) {
    (void)proxy, (void)serial;
    *(int *)data = 1;
}

// Waits until the compositor has answered all former requests.
static int roundtrip(vs_wayland *wayland, int64_t until_ms) {
    static vs_wl_handler handlers[] = {(vs_wl_handler)on_synced};
    int is_done = 0;
    vs_wl_argument arguments[] = {{.n = 0}};
    const vs_wl *wl = wayland->wl;
    vs_wl_proxy *callback =
        wl->marshal_new(wayland->display, VS_WL_DISPLAY_SYNC, arguments, wl->callback);
    if (!callback) return -ENOMEM;
    wayland->wl->add_listener(callback, handlers, &is_done);
    int status = 0;
    while (!is_done && status == 0) {
        status = vs_now_ms() < until_ms ? read_until(wayland, until_ms) : -ETIMEDOUT;
    }
    wayland->wl->destroy(callback);
    return status;
}

// Finds the compositor's wp_presentation and its clock.
static int find_presentation(vs_wayland *wayland, int answer_within_ms) {
    static vs_wl_handler handlers[] = {(vs_wl_handler)on_global, (vs_wl_handler)on_global_remove};
    int64_t until_ms = vs_now_ms() + answer_within_ms;
    vs_wl_argument arguments[] = {{.n = 0}};
    wayland->registry = wayland->wl->marshal_new(wayland->display, VS_WL_DISPLAY_GET_REGISTRY,
                                                 arguments, wayland->wl->registry);
    if (!wayland->registry) return -ENOMEM;
    wayland->wl->add_listener(wayland->registry, handlers, wayland);
    int status = roundtrip(wayland, until_ms);
    // The clock is known when the second round trip returns.
    if (status == 0) status = roundtrip(wayland, until_ms);
    destroy(wayland, &wayland->registry);
    return status;
}

static int fill(vs_wayland *wayland, void *surface, int answer_within_ms) {
    const vs_wl *wl = wayland->wl;
    // A duplicate: the application may close its own descriptor while the loop still watches.
    int fd = wl->descriptor(wayland->connection);
    wayland->source.fd = (int)HRT_CALL(fcntl(fd, F_DUPFD_CLOEXEC, 3));
    if (wayland->source.fd < 0) return wayland->source.fd;
    wayland->queue = wl->create_queue(wayland->connection);
    wayland->display = wl->create_wrapper(wayland->connection);
    wayland->surface = wl->create_wrapper(surface);
    if (!wayland->queue || !wayland->display || !wayland->surface) return -ENOMEM;
    wl->set_queue(wayland->display, wayland->queue);
    wl->set_queue(wayland->surface, wayland->queue);
    if (wl->error(wayland->connection) != 0) return failure(wayland);
    int status = find_presentation(wayland, answer_within_ms);
    if (status != 0 || wayland->reads) return status;
    // The source does not read the connection, so its descriptor must never be readable.
    int quiet = (int)HRT_CALL(eventfd(0, EFD_CLOEXEC));
    if (quiet < 0) return quiet;
    close(wayland->source.fd);
    wayland->source.fd = quiet;
    return 0;
}

int vs_wayland_open(void *display, void *surface, int flags, int answer_within_ms,
                    const vs_wl *library, vs_source **out_source, const char **out_failure) {
    *out_source = NULL;
    *out_failure = "load libwayland-client.so.0";
    const vs_wl *wl = library ? library : vs_wl_load();
    if (!wl) return -ENOENT;
    *out_failure = "have the Wayland compositor answer";
    vs_wayland *wayland = calloc(1, sizeof *wayland);
    if (!wayland) return -ENOMEM;
    wayland->source.ops = &wayland_ops;
    wayland->source.fd = -1;
    wayland->wl = wl;
    wayland->connection = display;
    wayland->clock = CLOCK_MONOTONIC;
    wayland->commits = (flags & VS_WAYLAND_COMMITS) != 0;
    wayland->reads = (flags & VS_WAYLAND_READS) != 0;
    int status = fill(wayland, surface, answer_within_ms);
    if (status != 0) {
        wayland_close(&wayland->source);
        return status;
    }
    *out_source = &wayland->source;
    *out_failure = NULL;
    return 0;
}
#endif
