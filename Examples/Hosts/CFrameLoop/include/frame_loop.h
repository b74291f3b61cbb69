// SPDX-License-Identifier: Apache-2.0
#ifndef FRAME_LOOP_H
#define FRAME_LOOP_H

#include <stdbool.h>
#include <stdint.h>

// The main loop of an engine, as Godot's: a frame at each interval, and in between a poll(2) for a
// descriptor of a guest's.
typedef struct {
    int fd;
    void (*_Nonnull on_ready)(void *_Nullable context);  // the descriptor is readable
    bool (*_Nonnull on_frame)(void *_Nullable context);  // false ends the loop
    void *_Nullable context;
    int64_t frame_ns;
} frame_loop;

// Returns how often it called on_ready.
uint64_t frame_loop_run(const frame_loop *_Nonnull loop);

#endif
