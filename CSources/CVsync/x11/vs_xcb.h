// SPDX-License-Identifier: Apache-2.0
#ifndef VS_XCB_H
#define VS_XCB_H

#include <stdint.h>

// The parts of libxcb that are used, declared here so that no -dev package is needed, and loaded by
// dlopen(3). The layouts are the X11 protocol's: they cannot change.

typedef struct xcb_connection xcb_connection;
typedef struct xcb_special_event xcb_special_event;
typedef struct {
    const char *name;
    int global_id;
} xcb_extension;
// Cookies are passed by value.
typedef struct {
    unsigned sequence;
} xcb_cookie;

// The beginning of xcb_screen_t.
typedef struct {
    uint32_t root;
} xcb_screen;
typedef struct {
    xcb_screen *data;
    int rem;
    int index;
} xcb_screen_iterator;

// xcb_present_complete_notify_event_t. libxcb puts its own full_sequence after 32 bytes.
typedef struct __attribute__((packed)) {
    uint8_t response_type, extension;
    uint16_t sequence;
    uint32_t length;
    uint16_t event_type;
    uint8_t kind, mode;
    uint32_t event, window, serial;
    uint64_t ust_us;
    uint32_t full_sequence;
    uint64_t msc;
} xcb_present_complete;

typedef struct {
    uint8_t response_type, pad;
    uint16_t sequence;
    uint32_t length, timestamp, config_timestamp;
    uint16_t crtcs, outputs, modes, names_bytes;
    uint8_t rest[8];
} xcb_randr_resources;

typedef struct {
    uint32_t id;
    uint16_t width, height;
    uint32_t dot_clock;
    uint16_t hsync_start, hsync_end, htotal, hskew, vsync_start, vsync_end, vtotal, name_bytes;
    uint32_t flags;
} xcb_randr_mode;

typedef struct {
    uint8_t response_type, status;
    uint16_t sequence;
    uint32_t length, timestamp;
    int16_t x, y;
    uint16_t width, height;
    uint32_t mode;
} xcb_randr_crtc;

// The functions; `present` is the address of xcb_present_id.
typedef struct {
    xcb_connection *(*connect)(const char *display, int *out_screen);
    void (*disconnect)(xcb_connection *);
    int (*has_error)(xcb_connection *);
    int (*descriptor)(xcb_connection *);
    int (*flush)(xcb_connection *);
    uint32_t (*generate_id)(xcb_connection *);
    const void *(*setup)(xcb_connection *);
    xcb_screen_iterator (*roots)(const void *setup);
    void (*screen_next)(xcb_screen_iterator *);
    const uint8_t *(*extension_data)(xcb_connection *, xcb_extension *);
    xcb_cookie (*create_window)(xcb_connection *, uint8_t depth, uint32_t id, uint32_t parent,
                                int16_t x, int16_t y, uint16_t width, uint16_t height,
                                uint16_t border, uint16_t window_class, uint32_t visual,
                                uint32_t mask, const void *values);
    void *(*poll_for_event)(xcb_connection *);
    xcb_special_event *(*register_special)(xcb_connection *, xcb_extension *, uint32_t id,
                                           uint32_t *out_stamp);
    void *(*poll_special)(xcb_connection *, xcb_special_event *);
    void (*unregister_special)(xcb_connection *, xcb_special_event *);

    xcb_extension *present;
    xcb_cookie (*present_version)(xcb_connection *, uint32_t major, uint32_t minor);
    void *(*present_version_reply)(xcb_connection *, xcb_cookie, void **out_error);
    xcb_cookie (*present_select)(xcb_connection *, uint32_t id, uint32_t window, uint32_t mask);
    xcb_cookie (*present_notify)(xcb_connection *, uint32_t window, uint32_t serial,
                                 uint64_t target_msc, uint64_t divisor, uint64_t remainder);

    // NULL without libxcb-randr.
    xcb_extension *randr;
    xcb_cookie (*randr_resources)(xcb_connection *, uint32_t window);
    xcb_randr_resources *(*randr_resources_reply)(xcb_connection *, xcb_cookie, void **out_error);
    uint32_t *(*randr_crtcs)(const xcb_randr_resources *);
    xcb_randr_mode *(*randr_modes)(const xcb_randr_resources *);
    xcb_cookie (*randr_crtc)(xcb_connection *, uint32_t crtc, uint32_t timestamp);
    xcb_randr_crtc *(*randr_crtc_reply)(xcb_connection *, xcb_cookie, void **out_error);
} vs_xcb;

// Returns the libraries' functions, loaded once and never unloaded; NULL if one of libxcb or
// libxcb-present is missing. Any thread.
const vs_xcb *vs_xcb_load(void);

// Returns 0 if the server of that display answers, and -ECONNREFUSED if there is none. Returns
// -ETIMEDOUT if it does not answer in time: it may be stopped, and xcb_connect would wait for ever.
// Servers on other machines are not tried; for them it returns 0.
int vs_x11_answers(const char *display, int within_ms);

#endif
