// SPDX-License-Identifier: Apache-2.0
#ifdef __linux__
#include "wayland_window.h"

#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../../CSources/CHRTimer/hrt_status.h"
#include "vs_wl.h"

enum { SIDE = 64, BYTES = SIDE * SIDE * 4, XRGB8888 = 1 };

// From xdg-shell.xml: the requests up to the last one that is used, and the events.
enum {
    WM_BASE_GET_XDG_SURFACE = 2,
    WM_BASE_PONG = 3,
    XDG_SURFACE_DESTROY = 0,
    XDG_SURFACE_GET_TOPLEVEL = 1,
    XDG_SURFACE_ACK_CONFIGURE = 4,
    TOPLEVEL_DESTROY = 0,
    TOPLEVEL_SET_TITLE = 2,
    TOPLEVEL_SET_MINIMIZED = 13,
};

static const vs_wl_interface xdg_surface_interface, toplevel_interface;
static const vs_wl_interface *no_types[8];
static const vs_wl_interface *xdg_surface_types[] = {&xdg_surface_interface, NULL};
static const vs_wl_interface *toplevel_types[] = {&toplevel_interface};

static const vs_wl_message wm_base_methods[] = {
    {"destroy", "", no_types},
    {"create_positioner", "n", no_types},
    {"get_xdg_surface", "no", xdg_surface_types},
    {"pong", "u", no_types},
};
static const vs_wl_message wm_base_events[] = {{"ping", "u", no_types}};
static const vs_wl_interface wm_base_interface = {"xdg_wm_base",   1, 4,
                                                  wm_base_methods, 1, wm_base_events};

static const vs_wl_message xdg_surface_methods[] = {
    {"destroy", "", no_types},        {"get_toplevel", "n", toplevel_types},
    {"get_popup", "n?oo", no_types},  {"set_window_geometry", "iiii", no_types},
    {"ack_configure", "u", no_types},
};
static const vs_wl_message xdg_surface_events[] = {{"configure", "u", no_types}};
static const vs_wl_interface xdg_surface_interface = {"xdg_surface",       1, 5,
                                                      xdg_surface_methods, 1, xdg_surface_events};

static const vs_wl_message toplevel_methods[] = {
    {"destroy", "", no_types},
    {"set_parent", "?o", no_types},
    {"set_title", "s", no_types},
    {"set_app_id", "s", no_types},
    {"show_window_menu", "ouii", no_types},
    {"move", "ou", no_types},
    {"resize", "ouu", no_types},
    {"set_max_size", "ii", no_types},
    {"set_min_size", "ii", no_types},
    {"set_maximized", "", no_types},
    {"unset_maximized", "", no_types},
    {"set_fullscreen", "?o", no_types},
    {"unset_fullscreen", "", no_types},
    {"set_minimized", "", no_types},
};
static const vs_wl_message toplevel_events[] = {{"configure", "iia", no_types},
                                                {"close", "", no_types}};
static const vs_wl_interface toplevel_interface = {"xdg_toplevel",   1, 14,
                                                   toplevel_methods, 2, toplevel_events};

struct wayland_window {
    const vs_wl *wl;
    vs_wl_proxy *display, *registry, *compositor, *shm, *wm_base;
    vs_wl_proxy *surface, *xdg_surface, *toplevel, *buffer;
    int is_configured;
};

static void on_ping(void *data, vs_wl_proxy *wm_base, uint32_t serial) {
    wayland_window *window = data;
    window->wl->marshal(wm_base, WM_BASE_PONG, (vs_wl_argument[]){{.u = serial}});
}

static void on_configure(void *data, vs_wl_proxy *xdg_surface, uint32_t serial) {
    wayland_window *window = data;
    window->wl->marshal(xdg_surface, XDG_SURFACE_ACK_CONFIGURE, (vs_wl_argument[]){{.u = serial}});
    window->is_configured = 1;
}

static void on_size(void *data, vs_wl_proxy *toplevel, int32_t width, int32_t height,
                    void *states) {
    (void)data, (void)toplevel, (void)width, (void)height, (void)states;
}

static void on_close(void *data, vs_wl_proxy *toplevel) { (void)data, (void)toplevel; }

static void on_global(void *data, vs_wl_proxy *registry, uint32_t name, const char *interface,
                      uint32_t version) {
    (void)version;
    wayland_window *window = data;
    const vs_wl *wl = window->wl;
    if (strcmp(interface, "wl_compositor") == 0) {
        window->compositor = vs_wl_bind(wl, registry, name, wl->compositor, 1);
    } else if (strcmp(interface, "wl_shm") == 0) {
        window->shm = vs_wl_bind(wl, registry, name, wl->shm, 1);
    } else if (strcmp(interface, wm_base_interface.name) == 0) {
        static vs_wl_handler handlers[] = {(vs_wl_handler)on_ping};
        window->wm_base = vs_wl_bind(wl, registry, name, &wm_base_interface, 1);
        if (window->wm_base) wl->add_listener(window->wm_base, handlers, window);
    }
}

static void on_global_remove(void *data, vs_wl_proxy *registry, uint32_t name) {
    (void)data, (void)registry, (void)name;
}

static int roundtrip(wayland_window *window) {
    if (window->wl->roundtrip(window->display) >= 0) return 0;
    int error = window->wl->error(window->display);
    return error > 0 ? -error : -EPIPE;
}

static vs_wl_proxy *make(wayland_window *window, vs_wl_proxy *by, uint32_t request,
                         const vs_wl_interface *interface) {
    return window->wl->marshal_new(by, request, (vs_wl_argument[]){{.n = 0}}, interface);
}

static int find_globals(wayland_window *window) {
    static vs_wl_handler handlers[] = {(vs_wl_handler)on_global, (vs_wl_handler)on_global_remove};
    const vs_wl *wl = window->wl;
    window->registry = make(window, window->display, VS_WL_DISPLAY_GET_REGISTRY, wl->registry);
    if (!window->registry) return -ENOMEM;
    wl->add_listener(window->registry, handlers, window);
    int status = roundtrip(window);
    if (status != 0) return status;
    return window->compositor && window->shm && window->wm_base ? 0 : -ENOTSUP;
}

static int make_buffer(wayland_window *window) {
    int memory = (int)HRT_CALL(memfd_create("window", MFD_CLOEXEC));
    if (memory < 0) return memory;
    int status = HRT_STATUS(ftruncate(memory, BYTES));
    if (status != 0) {
        close(memory);
        return status;
    }
    const vs_wl *wl = window->wl;
    vs_wl_argument pool_arguments[] = {{.n = 0}, {.h = memory}, {.i = BYTES}};
    vs_wl_proxy *pool =
        wl->marshal_new(window->shm, VS_WL_SHM_CREATE_POOL, pool_arguments, wl->shm_pool);
    vs_wl_argument arguments[] = {{.n = 0},    {.i = 0},        {.i = SIDE},
                                  {.i = SIDE}, {.i = SIDE * 4}, {.u = XRGB8888}};
    window->buffer = wl->marshal_new(pool, VS_WL_SHM_POOL_CREATE_BUFFER, arguments, wl->buffer);
    wl->marshal(pool, VS_WL_SHM_POOL_DESTROY, NULL);
    wl->destroy(pool);
    // It may not have been sent yet, but the library keeps a duplicate (wl_closure_marshal).
    close(memory);
    return window->buffer ? 0 : -ENOMEM;
}

static void unmap(wayland_window *window) {
    const vs_wl *wl = window->wl;
    wl->marshal(window->toplevel, TOPLEVEL_DESTROY, NULL);
    wl->destroy(window->toplevel);
    wl->marshal(window->xdg_surface, XDG_SURFACE_DESTROY, NULL);
    wl->destroy(window->xdg_surface);
    window->toplevel = window->xdg_surface = NULL;
}

int wayland_window_show(wayland_window *window) {
    static vs_wl_handler handlers[] = {(vs_wl_handler)on_configure};
    static vs_wl_handler toplevel_handlers[] = {(vs_wl_handler)on_size, (vs_wl_handler)on_close};
    const vs_wl *wl = window->wl;
    if (window->toplevel) {
        unmap(window);
        wl->marshal(window->surface, VS_WL_SURFACE_ATTACH,
                    (vs_wl_argument[]){{.o = NULL}, {.i = 0}, {.i = 0}});
        wl->marshal(window->surface, VS_WL_SURFACE_COMMIT, NULL);
    }
    vs_wl_argument arguments[] = {{.n = 0}, {.o = window->surface}};
    window->xdg_surface = wl->marshal_new(window->wm_base, WM_BASE_GET_XDG_SURFACE, arguments,
                                          &xdg_surface_interface);
    if (!window->xdg_surface) return -ENOMEM;
    wl->add_listener(window->xdg_surface, handlers, window);
    window->toplevel =
        make(window, window->xdg_surface, XDG_SURFACE_GET_TOPLEVEL, &toplevel_interface);
    if (!window->toplevel) return -ENOMEM;
    wl->add_listener(window->toplevel, toplevel_handlers, window);
    wl->marshal(window->toplevel, TOPLEVEL_SET_TITLE, (vs_wl_argument[]){{.s = "window"}});
    window->is_configured = 0;
    // Commits no buffer: the surface may have one only after the compositor has told its size.
    wl->marshal(window->surface, VS_WL_SURFACE_COMMIT, NULL);
    while (!window->is_configured) {
        int status = roundtrip(window);
        if (status != 0) return status;
    }
    wayland_window_draw(window);
    return roundtrip(window);
}

int wayland_window_open(const char *name, wayland_window **out_window) {
    *out_window = NULL;
    const vs_wl *wl = vs_wl_load();
    if (!wl) return -ENOENT;
    wayland_window *window = calloc(1, sizeof *window);
    if (!window) return -ENOMEM;
    window->wl = wl;
    window->display = wl->connect(name);
    int status = window->display ? find_globals(window) : -ECONNREFUSED;
    if (status == 0) status = make_buffer(window);
    if (status == 0) {
        window->surface =
            make(window, window->compositor, VS_WL_COMPOSITOR_CREATE_SURFACE, wl->surface);
        status = window->surface ? wayland_window_show(window) : -ENOMEM;
    }
    if (status != 0) {
        wayland_window_close(window);
        return status;
    }
    *out_window = window;
    return 0;
}

void *wayland_window_display(wayland_window *window) { return window->display; }

void *wayland_window_surface(wayland_window *window) { return window->surface; }

void wayland_window_draw(wayland_window *window) {
    const vs_wl *wl = window->wl;
    wl->marshal(window->surface, VS_WL_SURFACE_ATTACH,
                (vs_wl_argument[]){{.o = window->buffer}, {.i = 0}, {.i = 0}});
    wl->marshal(window->surface, VS_WL_SURFACE_DAMAGE,
                (vs_wl_argument[]){{.i = 0}, {.i = 0}, {.i = SIDE}, {.i = SIDE}});
    wl->marshal(window->surface, VS_WL_SURFACE_COMMIT, NULL);
    (void)wl->flush(window->display);
}

void wayland_window_hide(wayland_window *window) {
    window->wl->marshal(window->toplevel, TOPLEVEL_SET_MINIMIZED, NULL);
    (void)window->wl->flush(window->display);
}

int wayland_window_serve(wayland_window *window) {
    const vs_wl *wl = window->wl;
    struct pollfd waiting = {.fd = wl->descriptor(window->display), .events = POLLIN};
    if (poll(&waiting, 1, 0) <= 0) return 0;
    return roundtrip(window);
}

// A request that waits for an answer.
typedef struct {
    const vs_wl *wl;
    void (*on_answer)(void *context);
    void *context;
} question;

static void on_answered(void *data, vs_wl_proxy *callback, uint32_t serial) {
    (void)serial;
    question asked = *(question *)data;
    free(data);
    asked.wl->destroy(callback);
    asked.on_answer(asked.context);
}

int wayland_window_ask(wayland_window *window, void (*on_answer)(void *context), void *context) {
    static vs_wl_handler handlers[] = {(vs_wl_handler)on_answered};
    const vs_wl *wl = window->wl;
    question *asked = malloc(sizeof *asked);
    if (!asked) return -ENOMEM;
    *asked = (question){.wl = wl, .on_answer = on_answer, .context = context};
    // Uses a queue without events, on which prepare_read succeeds. While this thread is prepared to
    // read, no other thread reads, so the answer cannot come before its listener is set.
    vs_wl_queue *queue = wl->create_queue(window->display);
    if (!queue || wl->prepare_read(window->display, queue) != 0) {
        if (queue) wl->destroy_queue(queue);
        free(asked);
        return -ENOMEM;
    }
    vs_wl_proxy *callback = make(window, window->display, VS_WL_DISPLAY_SYNC, wl->callback);
    if (callback) wl->add_listener(callback, handlers, asked);
    wl->cancel_read(window->display);
    wl->destroy_queue(queue);
    if (!callback) {
        free(asked);
        return -ENOMEM;
    }
    (void)wl->flush(window->display);
    return 0;
}

int wayland_window_descriptor(wayland_window *window) {
    return window->wl->descriptor(window->display);
}

int wayland_window_dispatch(wayland_window *window) {
    if (window->wl->dispatch(window->display) >= 0) return 0;
    int error = window->wl->error(window->display);
    return error > 0 ? -error : -EPIPE;
}

void wayland_window_close(wayland_window *window) {
    const vs_wl *wl = window->wl;
    if (window->toplevel && window->xdg_surface) unmap(window);
    vs_wl_proxy *rest[] = {window->buffer, window->surface,    window->wm_base,
                           window->shm,    window->compositor, window->registry};
    for (size_t index = 0; index < sizeof rest / sizeof *rest; index++) {
        if (rest[index]) wl->destroy(rest[index]);
    }
    if (window->display) wl->disconnect(window->display);
    free(window);
}
#endif
