// SPDX-License-Identifier: Apache-2.0
#ifndef VS_WL_H
#define VS_WL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// The parts of libwayland-client that are used, declared here so that no -dev package is needed,
// and loaded by dlopen(3). The layouts are the library's ABI. All entry points exist since 1.10
// (2016).

typedef struct vs_wl_proxy vs_wl_proxy;  // wl_proxy, and its kinds: wl_display, wl_surface
typedef struct vs_wl_queue vs_wl_queue;  // wl_event_queue

typedef struct vs_wl_interface vs_wl_interface;
typedef struct {
    const char *name, *signature;
    const vs_wl_interface **types;
} vs_wl_message;
struct vs_wl_interface {
    const char *name;
    int version;
    int method_count;
    const vs_wl_message *methods;
    int event_count;
    const vs_wl_message *events;
};

typedef union {
    int32_t i;
    uint32_t u;
    const char *s;
    vs_wl_proxy *o;
    uint32_t n;  // the number of a new object, which the library chooses
    int32_t h;
} vs_wl_argument;

typedef void (*vs_wl_handler)(void);

// Requests, by their numbers in the core protocol.
enum {
    VS_WL_DISPLAY_SYNC = 0,
    VS_WL_DISPLAY_GET_REGISTRY = 1,
    VS_WL_REGISTRY_BIND = 0,
    VS_WL_COMPOSITOR_CREATE_SURFACE = 0,
    VS_WL_SHM_CREATE_POOL = 0,
    VS_WL_SHM_POOL_CREATE_BUFFER = 0,
    VS_WL_SHM_POOL_DESTROY = 1,
    VS_WL_SURFACE_DESTROY = 0,
    VS_WL_SURFACE_ATTACH = 1,
    VS_WL_SURFACE_DAMAGE = 2,
    VS_WL_SURFACE_FRAME = 3,
    VS_WL_SURFACE_COMMIT = 6,
};

typedef struct vs_wl {
    vs_wl_proxy *(*connect)(const char *name);
    void (*disconnect)(vs_wl_proxy *display);
    int (*descriptor)(vs_wl_proxy *display);
    int (*flush)(vs_wl_proxy *display);
    int (*error)(vs_wl_proxy *display);
    int (*roundtrip)(vs_wl_proxy *display);
    vs_wl_queue *(*create_queue)(vs_wl_proxy *display);
    void (*destroy_queue)(vs_wl_queue *);
    int (*prepare_read)(vs_wl_proxy *display, vs_wl_queue *);
    // For the display's default queue, like dispatch.
    int (*prepare_read_own)(vs_wl_proxy *display);
    int (*dispatch)(vs_wl_proxy *display);
    void (*cancel_read)(vs_wl_proxy *display);
    int (*read_events)(vs_wl_proxy *display);
    int (*dispatch_pending)(vs_wl_proxy *display, vs_wl_queue *);
    void *(*create_wrapper)(void *proxy);
    void (*destroy_wrapper)(void *wrapper);
    void (*set_queue)(vs_wl_proxy *, vs_wl_queue *);
    int (*add_listener)(vs_wl_proxy *, vs_wl_handler *, void *data);
    void (*destroy)(vs_wl_proxy *);
    void (*marshal)(vs_wl_proxy *, uint32_t request, vs_wl_argument *);
    // Sends a request that creates an object, which has the version of the object that creates it.
    vs_wl_proxy *(*marshal_new)(vs_wl_proxy *, uint32_t request, vs_wl_argument *,
                                const vs_wl_interface *);
    vs_wl_proxy *(*marshal_bind)(vs_wl_proxy *, uint32_t request, vs_wl_argument *,
                                 const vs_wl_interface *, uint32_t version);
    const vs_wl_interface *registry, *callback, *surface, *compositor, *shm, *shm_pool, *buffer;
} vs_wl;

// Returns the library's functions, loaded once and never unloaded; NULL without them. Any thread.
const vs_wl *vs_wl_load(void);

// Binds the global that the registry announced under that number.
vs_wl_proxy *vs_wl_bind(const vs_wl *wl, vs_wl_proxy *registry, uint32_t name,
                        const vs_wl_interface *interface, uint32_t version);

#ifdef __cplusplus
}
#endif

#endif
