// What programs often do themselves: sleep until some time before the deadline, and spin the rest.
#include <errno.h>
#include <sched.h>

#include "cbench_kernel.h"

// Returns 0 or a negative errno. Continues to sleep after an interruption.
static int sleep_until(int64_t wake_ns) {
    struct timespec wake = hrt_timespec_from_ns(wake_ns);
    int error;
    do {
        error = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, NULL);
    } while (error == EINTR);
    return -error;
}

static int64_t spin_until(int64_t deadline_ns) {
    int64_t now_ns;
    do {
        now_ns = cbench_now_ns();
    } while (now_ns < deadline_ns);
    return now_ns;
}

int cbench_hybrid(cbench_block *block, int64_t margin_ns) {
    int64_t woke_ns;
    do {
        int status = sleep_until(block->next_deadline_ns - margin_ns);
        if (status != 0) return status;
        woke_ns = spin_until(block->next_deadline_ns);
    } while (cbench_block_fire(block, woke_ns));
    return 0;
}

static void pause_processor(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#endif
}

// Like SDL_DelayPrecise of SDL 3: naps of 1 ms as long as the longest one so far would end in time,
// then one nap for the rest less the time by which naps overslept, and a spin. Each call learns
// anew how far naps oversleep.
int cbench_sdl_delay_precise(cbench_block *block) {
    enum { NAP_NS = 1000000 };
    int64_t now_ns;
    do {
        int64_t deadline_ns = block->next_deadline_ns, longest_ns = NAP_NS;
        now_ns = cbench_now_ns();
        while (now_ns + longest_ns < deadline_ns) {
            int64_t begun_ns = now_ns;
            int status = sleep_until(begun_ns + NAP_NS);
            if (status != 0) return status;
            now_ns = cbench_now_ns();
            if (now_ns - begun_ns > longest_ns) longest_ns = now_ns - begun_ns;
        }
        int64_t overslept_ns = longest_ns - NAP_NS;
        if (now_ns < deadline_ns && deadline_ns - now_ns > overslept_ns) {
            int status = sleep_until(deadline_ns - overslept_ns);
            if (status != 0) return status;
            now_ns = cbench_now_ns();
        }
        while (now_ns < deadline_ns) {
            pause_processor();
            now_ns = cbench_now_ns();
        }
    } while (cbench_block_fire(block, now_ns));
    return 0;
}

// Like the crate spin_sleep outside of Windows: sleeps until 125 us before the deadline, and spins
// the rest with yields.
int cbench_spin_sleep(cbench_block *block) {
    enum { ACCURACY_NS = 125000 };
    int64_t now_ns;
    do {
        int64_t deadline_ns = block->next_deadline_ns;
        if (deadline_ns - cbench_now_ns() > ACCURACY_NS) {
            int status = sleep_until(deadline_ns - ACCURACY_NS);
            if (status != 0) return status;
        }
        while ((now_ns = cbench_now_ns()) < deadline_ns) sched_yield();
    } while (cbench_block_fire(block, now_ns));
    return 0;
}
