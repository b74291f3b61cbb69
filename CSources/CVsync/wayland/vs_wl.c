// SPDX-License-Identifier: Apache-2.0
#ifdef __linux__
#include "vs_wl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

typedef struct {
    const char *name;
    size_t offset;
} vs_symbol;

#define SYMBOL(name, member)                                                                       \
    { name, offsetof(vs_wl, member) }

static const vs_symbol symbols[] = {
    SYMBOL("wl_display_connect", connect),
    SYMBOL("wl_display_disconnect", disconnect),
    SYMBOL("wl_display_get_fd", descriptor),
    SYMBOL("wl_display_flush", flush),
    SYMBOL("wl_display_get_error", error),
    SYMBOL("wl_display_roundtrip", roundtrip),
    SYMBOL("wl_display_create_queue", create_queue),
    SYMBOL("wl_event_queue_destroy", destroy_queue),
    SYMBOL("wl_display_prepare_read_queue", prepare_read),
    SYMBOL("wl_display_prepare_read", prepare_read_own),
    SYMBOL("wl_display_dispatch", dispatch),
    SYMBOL("wl_display_cancel_read", cancel_read),
    SYMBOL("wl_display_read_events", read_events),
    SYMBOL("wl_display_dispatch_queue_pending", dispatch_pending),
    SYMBOL("wl_proxy_create_wrapper", create_wrapper),
    SYMBOL("wl_proxy_wrapper_destroy", destroy_wrapper),
    SYMBOL("wl_proxy_set_queue", set_queue),
    SYMBOL("wl_proxy_add_listener", add_listener),
    SYMBOL("wl_proxy_destroy", destroy),
    SYMBOL("wl_proxy_marshal_array", marshal),
    SYMBOL("wl_proxy_marshal_array_constructor", marshal_new),
    SYMBOL("wl_proxy_marshal_array_constructor_versioned", marshal_bind),
    SYMBOL("wl_registry_interface", registry),
    SYMBOL("wl_callback_interface", callback),
    SYMBOL("wl_surface_interface", surface),
    SYMBOL("wl_compositor_interface", compositor),
    SYMBOL("wl_shm_interface", shm),
    SYMBOL("wl_shm_pool_interface", shm_pool),
    SYMBOL("wl_buffer_interface", buffer),
};

static vs_wl functions;
static int is_loaded;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
    void *handle = dlopen("libwayland-client.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!handle) return;
    for (size_t index = 0; index < sizeof symbols / sizeof *symbols; index++) {
        void *address = dlsym(handle, symbols[index].name);
        if (!address) return;
        // Members point to functions or to data; POSIX gives both the same size (dlsym(3)).
        memcpy((char *)&functions + symbols[index].offset, &address, sizeof address);
    }
    is_loaded = 1;
}

const vs_wl *vs_wl_load(void) {
    pthread_once(&once, load);
    return is_loaded ? &functions : NULL;
}

vs_wl_proxy *vs_wl_bind(const vs_wl *wl, vs_wl_proxy *registry, uint32_t name,
                        const vs_wl_interface *interface, uint32_t version) {
    vs_wl_argument arguments[] = {{.u = name}, {.s = interface->name}, {.u = version}, {.n = 0}};
    return wl->marshal_bind(registry, VS_WL_REGISTRY_BIND, arguments, interface, version);
}
#endif
