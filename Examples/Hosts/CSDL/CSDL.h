// SPDX-License-Identifier: Apache-2.0
// main is the program's own.
#define SDL_MAIN_HANDLED
#include <SDL.h>
