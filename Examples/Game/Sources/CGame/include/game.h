// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>

/// A window of SDL's on the driver that SDL_VIDEODRIVER names, drawn by the processor; with SDL's vsync if asked for. What went wrong, or
/// NULL.
const char *game_open(bool with_vsync);
void game_close(void);

/// "x11", "wayland" or another driver of SDL's.
const char *game_driver(void);
/// `struct wl_display *` and `struct wl_surface *`; NULL on other drivers.
void *game_wayland_display(void);
void *game_wayland_surface(void);

/// Handles what has come from keyboard and window; true when the game is to end.
bool game_poll(void);

/// Draws paddle and ball, in parts of the window, and shows them. Returns when SDL does, with vsync at the next refresh or so.
void game_draw(double paddle, double ball_x, double ball_y);

/// SDL_Delay.
void game_delay_ms(unsigned milliseconds);

/// What is in the window, as a file; whether that worked.
bool game_save_picture(const char *path);
