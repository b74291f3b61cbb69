// main is the program's own.
#define SDL_MAIN_HANDLED
#include <SDL.h>
