// SPDX-License-Identifier: Apache-2.0
#include "game.h"

#include <SDL.h>
#include <SDL_syswm.h>

static SDL_Window *window;
static SDL_Renderer *renderer;
enum { WIDTH = 640, HEIGHT = 360 };

const char *game_open(bool with_vsync) {
    if (SDL_Init(SDL_INIT_VIDEO) != 0) return SDL_GetError();
    window = SDL_CreateWindow("hrtimer", SDL_WINDOWPOS_CENTERED, SDL_WINDOWPOS_CENTERED, WIDTH,
                              HEIGHT, SDL_WINDOW_SHOWN);
    if (!window) return SDL_GetError();
    renderer = SDL_CreateRenderer(
        window, -1, SDL_RENDERER_SOFTWARE | (with_vsync ? SDL_RENDERER_PRESENTVSYNC : 0));
    return renderer ? NULL : SDL_GetError();
}

void game_close(void) {
    if (renderer) SDL_DestroyRenderer(renderer);
    if (window) SDL_DestroyWindow(window);
    renderer = NULL;
    window = NULL;
    SDL_Quit();
}

const char *game_driver(void) { return SDL_GetCurrentVideoDriver(); }

static bool information(SDL_SysWMinfo *info) {
    SDL_VERSION(&info->version);
    return SDL_GetWindowWMInfo(window, info) && info->subsystem == SDL_SYSWM_WAYLAND;
}

void *game_wayland_display(void) {
#ifdef SDL_VIDEO_DRIVER_WAYLAND
    SDL_SysWMinfo info;
    if (information(&info)) return info.info.wl.display;
#endif
    return NULL;
}

void *game_wayland_surface(void) {
#ifdef SDL_VIDEO_DRIVER_WAYLAND
    SDL_SysWMinfo info;
    if (information(&info)) return info.info.wl.surface;
#endif
    return NULL;
}

bool game_poll(void) {
    SDL_Event event;
    bool ends = false;
    while (SDL_PollEvent(&event))
        if (event.type == SDL_QUIT ||
            (event.type == SDL_KEYDOWN && event.key.keysym.sym == SDLK_ESCAPE))
            ends = true;
    return ends;
}

static void fill(double x, double y, int width, int height, Uint8 red, Uint8 green, Uint8 blue) {
    SDL_Rect place = {(int)(x * WIDTH) - width / 2, (int)(y * HEIGHT) - height / 2, width, height};
    SDL_SetRenderDrawColor(renderer, red, green, blue, 255);
    SDL_RenderFillRect(renderer, &place);
}

void game_draw(double paddle, double ball_x, double ball_y) {
    SDL_SetRenderDrawColor(renderer, 18, 24, 38, 255);
    SDL_RenderClear(renderer);
    for (int line = 0; line < 12; line++) fill(0.5, (line + 0.5) / 12, 3, 14, 60, 70, 90);
    fill(0.04, paddle, 10, 70, 90, 190, 255);
    fill(0.96, 1 - paddle, 10, 70, 255, 150, 90);
    fill(ball_x, ball_y, 14, 14, 255, 255, 255);
    SDL_RenderPresent(renderer);
}

void game_delay_ms(unsigned milliseconds) { SDL_Delay(milliseconds); }

bool game_save_picture(const char *path) {
    SDL_Surface *surface =
        SDL_CreateRGBSurfaceWithFormat(0, WIDTH, HEIGHT, 32, SDL_PIXELFORMAT_ARGB8888);
    bool is_saved = surface &&
                    SDL_RenderReadPixels(renderer, NULL, SDL_PIXELFORMAT_ARGB8888, surface->pixels,
                                         surface->pitch) == 0 &&
                    SDL_SaveBMP(surface, path) == 0;
    SDL_FreeSurface(surface);
    return is_saved;
}
