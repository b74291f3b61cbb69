#ifndef WAYLAND_WINDOW_H
#define WAYLAND_WINDOW_H

// A small Wayland client, for tests and the bench: one window, as applications have it. Status is 0
// or a negative errno. One thread at a time.
typedef struct wayland_window wayland_window;

// A window that is shown, on the compositor of that name; NULL for $WAYLAND_DISPLAY.
int wayland_window_open(const char *_Nullable name, wayland_window *_Nullable *_Nonnull out_window);

// Its wl_display and wl_surface.
void *_Nonnull wayland_window_display(wayland_window *_Nonnull window);
void *_Nonnull wayland_window_surface(wayland_window *_Nonnull window);

// Draws a frame: attaches, damages and commits.
void wayland_window_draw(wayland_window *_Nonnull window);

// Takes it off the screen, as a user does who minimises it.
void wayland_window_hide(wayland_window *_Nonnull window);

// Shows it again, as a new window of the same surface.
int wayland_window_show(wayland_window *_Nonnull window);

// Reads and answers what the compositor says, without waiting for it.
int wayland_window_serve(wayland_window *_Nonnull window);

// Asks the compositor for an answer (wl_display.sync), which comes on the display's own queue, as
// keys do: who dispatches that has `on_answer` called. Any thread.
int wayland_window_ask(wayland_window *_Nonnull window,
                       void (*_Nonnull on_answer)(void *_Nullable context),
                       void *_Nullable context);

// wl_display_get_fd.
int wayland_window_descriptor(wayland_window *_Nonnull window);

// Dispatches what has come for the application, and waits for something if that is nothing:
// wl_display_dispatch.
int wayland_window_dispatch(wayland_window *_Nonnull window);

void wayland_window_close(wayland_window *_Nonnull window);

#endif
