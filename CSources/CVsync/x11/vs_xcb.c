// SPDX-License-Identifier: Apache-2.0
#ifdef __linux__
#include "vs_xcb.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

typedef struct {
    const char *name;
    size_t offset;
} vs_symbol;

#define SYMBOL(name, member)                                                                       \
    { name, offsetof(vs_xcb, member) }

static const vs_symbol core[] = {
    SYMBOL("xcb_connect", connect),
    SYMBOL("xcb_disconnect", disconnect),
    SYMBOL("xcb_connection_has_error", has_error),
    SYMBOL("xcb_get_file_descriptor", descriptor),
    SYMBOL("xcb_flush", flush),
    SYMBOL("xcb_generate_id", generate_id),
    SYMBOL("xcb_get_setup", setup),
    SYMBOL("xcb_setup_roots_iterator", roots),
    SYMBOL("xcb_screen_next", screen_next),
    SYMBOL("xcb_get_extension_data", extension_data),
    SYMBOL("xcb_create_window", create_window),
    SYMBOL("xcb_poll_for_event", poll_for_event),
    SYMBOL("xcb_register_for_special_xge", register_special),
    SYMBOL("xcb_poll_for_special_event", poll_special),
    SYMBOL("xcb_unregister_for_special_event", unregister_special),
    {NULL, 0},
};

static const vs_symbol present[] = {
    SYMBOL("xcb_present_id", present),
    SYMBOL("xcb_present_query_version", present_version),
    SYMBOL("xcb_present_query_version_reply", present_version_reply),
    SYMBOL("xcb_present_select_input", present_select),
    SYMBOL("xcb_present_notify_msc", present_notify),
    {NULL, 0},
};

static const vs_symbol randr[] = {
    SYMBOL("xcb_randr_get_screen_resources_current", randr_resources),
    SYMBOL("xcb_randr_get_screen_resources_current_reply", randr_resources_reply),
    SYMBOL("xcb_randr_get_screen_resources_current_crtcs", randr_crtcs),
    SYMBOL("xcb_randr_get_screen_resources_current_modes", randr_modes),
    SYMBOL("xcb_randr_get_crtc_info", randr_crtc),
    SYMBOL("xcb_randr_get_crtc_info_reply", randr_crtc_reply),
    // Loaded last: if this one is set, all are.
    SYMBOL("xcb_randr_id", randr),
    {NULL, 0},
};

static vs_xcb functions;
static int is_loaded;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int load(const char *library, const vs_symbol *symbols) {
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!handle) return 0;
    for (; symbols->name; symbols++) {
        void *address = dlsym(handle, symbols->name);
        if (!address) return 0;
        // Members point to functions or to data; POSIX gives both the same size (dlsym(3)).
        memcpy((char *)&functions + symbols->offset, &address, sizeof address);
    }
    return 1;
}

static void load_all(void) {
    is_loaded = load("libxcb.so.1", core) && load("libxcb-present.so.0", present);
    if (is_loaded) (void)load("libxcb-randr.so.0", randr);
}

const vs_xcb *vs_xcb_load(void) {
    pthread_once(&once, load_all);
    return is_loaded ? &functions : NULL;
}
#endif
