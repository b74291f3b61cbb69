#ifndef CBENCH_KERNEL_H
#define CBENCH_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hrt_clock.h"

// One measured block: a grid of deadlines, and when each was met. In C so that the stamp is the
// first thing after the wait returns, in debug builds too. All instants are ns of CLOCK_MONOTONIC.

// What the process had spent at some moment: processor time of all its threads, and their context
// switches.
typedef struct {
    int64_t process_cpu_ns;
    // The same in two parts. The kernel knows the sum exactly, and shares it out by what its ticks
    // saw (proc(5), utime and stime): of little worth below some tens of ticks.
    int64_t user_cpu_ns;
    int64_t system_cpu_ns;
    int64_t thread_cpu_ns;  // of the calling thread, which is
    int64_t thread_id;      // this one, gettid(2)
    int64_t voluntary_switches;
    int64_t involuntary_switches;
    int64_t page_faults;
    // Of the threads that the counters are for; -1 without counters.
    int64_t instructions;
    int64_t cycles;
    int64_t cache_misses;
} cbench_usage;

// The processor's counters, as perf_event_open(2) gives them, of each thread there was.
typedef struct {
    int (*_Nullable files)[3];  // instructions, cycles and cache misses; -1 for none
    size_t threads;
} cbench_counters;

// Counts all threads of the process, pools too, and all that they start from now on. Where the
// kernel does not let the kernel's own part be counted, the user's alone is. The caller closes.
cbench_counters cbench_counters_open(void);
void cbench_counters_close(cbench_counters counters);

typedef struct {
    int64_t deadline_ns;
    int64_t woke_ns;
    int64_t processor;  // that it came on, sched_getcpu(3); looked at after the stamp
} cbench_fire;

typedef struct {
    cbench_fire *_Nonnull fires;  // the caller's, room for `capacity`
    size_t capacity;
    size_t count;
    int64_t first_deadline_ns;
    int64_t interval_ns;
    int64_t next_deadline_ns;
    size_t settling;  // so many fires more are left out: what fires is still learning
    int64_t end_ns;   // the block is full with the first fire from then on; 0 for never
    // A fire later than this is reported to the event file, eventfd(2); ends the block if it is -1.
    int64_t spike_bound_ns;  // 0 for none
    int spike_fd;
    size_t spikes;
    cbench_counters counters;
    // Each fire takes over from the one before, on whatever thread that was. What calls handlers
    // has them in order; Thread Sanitizer sees that order here.
    uint64_t turns;
    // Taken right after the first and the last stamp: what is between them is the steady state,
    // without setting up.
    cbench_usage at_first;
    cbench_usage at_last;
} cbench_block;

// The calling thread's own time, and everything else of the whole process. getrusage(2),
// clock_gettime(2).
cbench_usage cbench_usage_now(void);
// The same with what the counters say.
cbench_usage cbench_usage_with(cbench_counters counters);

// Bytes of the process that are in memory, proc_pid_statm(5).
int64_t cbench_resident_bytes(void);
// malloc_trim(3).
void cbench_give_back_memory(void);

static inline int64_t cbench_now_ns(void) { return hrt_clock_now_ns(HRT_CLOCK_MONOTONIC); }

// CLOCK_REALTIME, for subjects that take their deadlines as dates.
static inline int64_t cbench_wall_ns(void) { return hrt_clock_now_ns(HRT_CLOCK_WALL); }

// Sets the grid. The block is then empty.
void cbench_block_begin(cbench_block *_Nonnull block, int64_t first_deadline_ns,
                        int64_t interval_ns);

// Where no counters are and no spikes are reported.
static inline cbench_counters cbench_no_counters(void) { return (cbench_counters){NULL, 0}; }

// One fire, for the earliest deadline not met so far. Those that have passed besides are missed:
// the next fire is held against the first deadline after woke_ns. False if this was the last fire,
// or if none was left. One thread at a time.
bool cbench_block_fire(cbench_block *_Nonnull block, int64_t woke_ns);

// The same for a timer that itself reports how many deadlines this fire stands for, 1 or more.
bool cbench_block_fire_for(cbench_block *_Nonnull block, int64_t woke_ns, int64_t deadlines);

// What was written before the block is seen by its fires, and those by who calls this afterwards.
void cbench_block_order(cbench_block *_Nonnull block);

// An event file for spikes, eventfd(2); a negative errno without one.
int cbench_event_file(void);

// A timer as a file, timerfd_create(2) on CLOCK_MONOTONIC, and its deadline. A negative errno.
int cbench_timer_file(void);
int cbench_timer_file_set(int timer, int64_t deadline_ns);

// After SIGINT, blocks end with the fire going on. A second SIGINT ends the process, as without the
// handler. Async-signal-safe: one flag. 0 or a negative errno.
int cbench_stop_on_interrupt(void);
bool cbench_stop_requested(void);

// Each fills a block that was begun, on the calling thread, by waiting for one deadline after the
// other. 0, or the negative errno if it cannot run here.
int cbench_clock_nanosleep_abs(cbench_block *_Nonnull block);
int cbench_futex_abs(cbench_block *_Nonnull block);
int cbench_timerfd_read(cbench_block *_Nonnull block);
int cbench_timerfd_epoll(cbench_block *_Nonnull block);
int cbench_epoll_wait(cbench_block *_Nonnull block);
int cbench_epoll_pwait2(cbench_block *_Nonnull block);
int cbench_spin_clock(cbench_block *_Nonnull block);
int cbench_spin_tsc(cbench_block *_Nonnull block);
int cbench_umwait(cbench_block *_Nonnull block);
// Sleeps until `margin_ns` before each deadline, above 0, and spins the rest.
int cbench_hybrid(cbench_block *_Nonnull block, int64_t margin_ns);
int cbench_sdl_delay_precise(cbench_block *_Nonnull block);
int cbench_spin_sleep(cbench_block *_Nonnull block);
// A sleep and a stamp for each deadline, and nothing else.
int cbench_bare_loop(cbench_block *_Nonnull block);
// Another thread, with timer slack 1 ns, sleeps until each deadline and wakes the calling one.
int cbench_hop(cbench_block *_Nonnull block);
int cbench_libevent_default(cbench_block *_Nonnull block);
int cbench_libevent_precise(cbench_block *_Nonnull block);
int cbench_libevent_timerfd(cbench_block *_Nonnull block);

// A binary heap of timers behind one mutex, and what each timer calls; any thread. Timers are
// numbers below the `timers` of create, each added once before it is replaced, and each used by one
// thread at a time. `replace` cancels the timer, arms a new one under its number, and gives back
// what the old one called. NULL without memory.
typedef struct cbench_locked_heap cbench_locked_heap;
cbench_locked_heap *_Nullable cbench_locked_heap_create(size_t timers);
void cbench_locked_heap_destroy(cbench_locked_heap *_Nonnull heap);
void cbench_locked_heap_add(cbench_locked_heap *_Nonnull heap, size_t timer, int64_t deadline_ns,
                            const void *_Nonnull handler);
const void *_Nonnull cbench_locked_heap_replace(cbench_locked_heap *_Nonnull heap, size_t timer,
                                                int64_t deadline_ns, const void *_Nonnull handler);
// The same in two, for who holds them against something that is asked twice: takes the timer out,
// gives back what it called, and leaves its number to be added again.
const void *_Nonnull cbench_locked_heap_cancel(cbench_locked_heap *_Nonnull heap, size_t timer);
// Another deadline for the same timer.
void cbench_locked_heap_move(cbench_locked_heap *_Nonnull heap, size_t timer, int64_t deadline_ns);
// What the timer calls.
const void *_Nonnull cbench_locked_heap_handler(const cbench_locked_heap *_Nonnull heap,
                                                size_t timer);

// How many mutexes the calling thread has locked by pthread_mutex_lock(3) while counting was on,
// and while it is on, how many locks of the library's own it has taken so far. Differences say
// something if it was on at both. Any thread turns it on and off, for all. False where nothing can
// be counted (under sanitizers).
bool cbench_count_locks(bool is_on);
uint64_t cbench_thread_locks(void);

// How many blocks of memory the calling thread has allocated; 0 where that is not counted (under
// sanitizers).
uint64_t cbench_thread_allocations(void);
bool cbench_counts_allocations(void);

#endif
