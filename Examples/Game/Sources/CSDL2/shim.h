// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <SDL.h>
#include <SDL_syswm.h>
