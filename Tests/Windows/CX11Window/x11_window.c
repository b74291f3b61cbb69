// SPDX-License-Identifier: Apache-2.0
#ifdef __linux__
#include "x11_window.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

// The parts of Xlib and libXtst that are used, declared here so that no -dev package is needed.
typedef struct Display Display;
typedef unsigned long XID;
typedef union {
    int type;
    struct {
        int type;
        unsigned long serial;
        int send_event;
        Display *display;
        XID window, root, subwindow;
        unsigned long time;
        int x, y, x_root, y_root;
        unsigned state, keycode;
    } key;
    long pad[24];
} XEvent;

enum {
    KEY_PRESS = 2,
    MAP_NOTIFY = 19,
    KEY_PRESS_MASK = 1,
    STRUCTURE_NOTIFY_MASK = 1 << 17,
    REVERT_TO_PARENT = 2,
    SIDE = 64,
};

typedef struct {
    Display *(*open)(const char *name);
    int (*close)(Display *);
    int (*descriptor)(Display *);
    XID (*root)(Display *);
    // clang-format off
    XID (*create)(Display *, XID parent, int x, int y, unsigned width, unsigned height,
                  unsigned border, unsigned long border_pixel, unsigned long background);
    // clang-format on
    int (*select)(Display *, XID window, long mask);
    int (*map)(Display *, XID window);
    int (*focus)(Display *, XID window, int revert_to, unsigned long time);
    int (*clear)(Display *, XID window);
    int (*flush)(Display *);
    int (*sync)(Display *, int discard);
    int (*pending)(Display *);
    int (*next)(Display *, XEvent *);
    // From libXtst: NULL without it.
    int (*has_test)(Display *, int *event_base, int *error_base, int *major, int *minor);
    int (*press)(Display *, unsigned code, int is_press, unsigned long delay_ms);
} xlib;

typedef struct {
    const char *name;
    size_t offset;
} symbol;

#define SYMBOL(name, member)                                                                       \
    { name, offsetof(xlib, member) }

static const symbol core[] = {
    SYMBOL("XOpenDisplay", open),
    SYMBOL("XCloseDisplay", close),
    SYMBOL("XConnectionNumber", descriptor),
    SYMBOL("XDefaultRootWindow", root),
    SYMBOL("XCreateSimpleWindow", create),
    SYMBOL("XSelectInput", select),
    SYMBOL("XMapWindow", map),
    SYMBOL("XSetInputFocus", focus),
    SYMBOL("XClearWindow", clear),
    SYMBOL("XFlush", flush),
    SYMBOL("XSync", sync),
    SYMBOL("XPending", pending),
    SYMBOL("XNextEvent", next),
    {NULL, 0},
};

static const symbol test[] = {
    SYMBOL("XTestQueryExtension", has_test),
    SYMBOL("XTestFakeKeyEvent", press),
    {NULL, 0},
};

static xlib functions;
static int is_loaded;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int load(const char *library, const symbol *symbols) {
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!handle) return 0;
    for (; symbols->name; symbols++) {
        void *address = dlsym(handle, symbols->name);
        if (!address) return 0;
        // Members point to functions; in POSIX these have the size of data pointers (dlsym(3)).
        memcpy((char *)&functions + symbols->offset, &address, sizeof address);
    }
    return 1;
}

static void load_all(void) {
    is_loaded = load("libX11.so.6", core);
    if (is_loaded && !load("libXtst.so.6", test)) functions.press = NULL;
}

static const xlib *libraries(void) {
    pthread_once(&once, load_all);
    return is_loaded ? &functions : NULL;
}

struct x11_window {
    const xlib *x;
    Display *display;
    XID window;
};

int x11_window_open(const char *name, x11_window **out_window) {
    *out_window = NULL;
    const xlib *x = libraries();
    if (!x) return -ENOENT;
    x11_window *window = calloc(1, sizeof *window);
    if (!window) return -ENOMEM;
    window->x = x;
    window->display = x->open(name);
    if (!window->display) {
        free(window);
        return -ECONNREFUSED;
    }
    window->window =
        x->create(window->display, x->root(window->display), 0, 0, SIDE, SIDE, 0, 0, 0xffffff);
    x->select(window->display, window->window, KEY_PRESS_MASK | STRUCTURE_NOTIFY_MASK);
    x->map(window->display, window->window);
    XEvent event;
    do x->next(window->display, &event);
    while (event.type != MAP_NOTIFY);
    // The window is shown now: else the server would report an error, and Xlib end the process.
    x->focus(window->display, window->window, REVERT_TO_PARENT, 0);
    x->sync(window->display, 0);
    *out_window = window;
    return 0;
}

int x11_window_descriptor(x11_window *window) { return window->x->descriptor(window->display); }

void x11_window_draw(x11_window *window) {
    window->x->clear(window->display, window->window);
    window->x->flush(window->display);
}

void x11_window_sync(x11_window *window) { window->x->sync(window->display, 0); }

int x11_window_pending(x11_window *window) { return window->x->pending(window->display); }

int x11_window_take(x11_window *window) {
    XEvent event;
    window->x->next(window->display, &event);
    return event.type == KEY_PRESS ? (int)event.key.keycode : 0;
}

void x11_window_close(x11_window *window) {
    window->x->close(window->display);
    free(window);
}

struct x11_keys {
    const xlib *x;
    Display *display;
};

int x11_keys_open(const char *name, x11_keys **out_keys) {
    *out_keys = NULL;
    const xlib *x = libraries();
    if (!x || !x->press) return -ENOENT;
    x11_keys *keys = calloc(1, sizeof *keys);
    if (!keys) return -ENOMEM;
    keys->x = x;
    keys->display = x->open(name);
    int status = keys->display ? 0 : -ECONNREFUSED;
    int ignored[4];
    if (status == 0 &&
        !x->has_test(keys->display, &ignored[0], &ignored[1], &ignored[2], &ignored[3])) {
        x->close(keys->display);
        status = -ENOTSUP;
    }
    if (status != 0) {
        free(keys);
        return status;
    }
    *out_keys = keys;
    return 0;
}

void x11_keys_press(x11_keys *keys, int code) {
    keys->x->press(keys->display, (unsigned)code, 1, 0);
    keys->x->press(keys->display, (unsigned)code, 0, 0);
    keys->x->flush(keys->display);
}

void x11_keys_close(x11_keys *keys) {
    keys->x->close(keys->display);
    free(keys);
}
#endif
