// SPDX-License-Identifier: Apache-2.0
#ifndef WAYLAND_WINDOW_H
#define WAYLAND_WINDOW_H

// A small Wayland client with one window, for tests and the bench. Status is 0 or a negative errno.
// One thread at a time.
typedef struct wayland_window wayland_window;

// Opens and shows a window on the compositor of that name; NULL for $WAYLAND_DISPLAY.
int wayland_window_open(const char *_Nullable name, wayland_window *_Nullable *_Nonnull out_window);

// The window's wl_display and wl_surface.
void *_Nonnull wayland_window_display(wayland_window *_Nonnull window);
void *_Nonnull wayland_window_surface(wayland_window *_Nonnull window);

// Draws a frame: attaches, damages and commits.
void wayland_window_draw(wayland_window *_Nonnull window);

// Takes the window off the screen, as when a user minimises it.
void wayland_window_hide(wayland_window *_Nonnull window);

// Shows the window again, as a new window of the same surface.
int wayland_window_show(wayland_window *_Nonnull window);

// Reads and answers the compositor's events, without waiting for them.
int wayland_window_serve(wayland_window *_Nonnull window);

// Requests an answer from the compositor (wl_display.sync). It comes on the display's default
// queue, as keys do: the thread that dispatches that queue calls `on_answer`. Any thread.
int wayland_window_ask(wayland_window *_Nonnull window,
                       void (*_Nonnull on_answer)(void *_Nullable context),
                       void *_Nullable context);

// Returns the descriptor of the connection: wl_display_get_fd.
int wayland_window_descriptor(wayland_window *_Nonnull window);

// Dispatches the application's events, and waits for one if there is none: wl_display_dispatch.
int wayland_window_dispatch(wayland_window *_Nonnull window);

void wayland_window_close(wayland_window *_Nonnull window);

#endif
