#ifndef HRT_PRECISE_H
#define HRT_PRECISE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "../include/hrt_clock.h"
#include "../include/hrt_spin_window.h"

// What every precise wait has in common, whatever it sleeps in: it asks hrt_spin_window before the
// sleep, records the wake after it, and takes what is spun from the window's allowance. One thread
// at a time uses a spin window.

typedef struct {
    int64_t wake_ns;   // until when to sleep
    int64_t sleep_ns;  // how long that was to the deadline; below 0 if no spin window was wanted
    bool has_begun;    // wake_ns is not in the future: no sleep
} hrt_early_wake;

// When a thread must wake for the deadline: a spin window before it, and at the deadline itself if
// that is HRT_NEVER or past.
hrt_early_wake hrt_wake_early(hrt_clock clock, int64_t deadline_ns, hrt_spin_window *window);

// The clock has come to wake_ns and the thread is awake: how late is learned.
void hrt_woken_early(hrt_clock clock, hrt_early_wake early, hrt_spin_window *window);

// hrt_spin from now on; the time that it took is recorded, and added to *spun_ns. Gives the last
// reading.
int64_t hrt_spin_reserve(const _Atomic uint32_t *woken, hrt_clock clock, int64_t deadline_ns,
                        int64_t longest_ns, hrt_spin_window *window, int64_t *spun_ns);

#endif
