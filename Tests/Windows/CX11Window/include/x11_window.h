// SPDX-License-Identifier: Apache-2.0
#ifndef X11_WINDOW_H
#define X11_WINDOW_H

#include <stdint.h>

// Small Xlib clients for tests and examples: a window with the keyboard focus, and a client that
// presses keys. Status is 0 or a negative errno. One thread at a time; the libraries (libX11.so.6,
// libXtst.so.6) are loaded when they are needed.
typedef struct x11_window x11_window;

// Opens a window that is shown and has the keyboard focus, on the display of that name; NULL for
// $DISPLAY. Returns -ENOENT without the library, -ECONNREFUSED without a server.
int x11_window_open(const char *_Nullable display, x11_window *_Nullable *_Nonnull out_window);

// Returns the descriptor of the connection: ConnectionNumber(3).
int x11_window_descriptor(x11_window *_Nonnull window);

// Draws a frame and sends it by XFlush(3): libxcb may read events before it writes.
void x11_window_draw(x11_window *_Nonnull window);

// XSync(3): waits until the server has drawn, and reads all events that have come until then.
void x11_window_sync(x11_window *_Nonnull window);

// Takes the next event, and waits if there is none: XNextEvent(3). Returns the code of the pressed
// key, or 0 for every other event.
int x11_window_take(x11_window *_Nonnull window);

// Returns how many events can be taken without waiting: XPending(3), which reads the connection.
int x11_window_pending(x11_window *_Nonnull window);

void x11_window_close(x11_window *_Nonnull window);

// A client that presses keys, by XTEST on its own connection. -ENOTSUP without the extension.
typedef struct x11_keys x11_keys;
int x11_keys_open(const char *_Nullable display, x11_keys *_Nullable *_Nonnull out_keys);

// Presses and releases a key; codes are 8 to 255.
void x11_keys_press(x11_keys *_Nonnull keys, int code);

void x11_keys_close(x11_keys *_Nonnull keys);

#endif
