// SPDX-License-Identifier: Apache-2.0
#ifndef CBENCH_KERNEL_H
#define CBENCH_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hrt_clock.h"

// One measured block: a grid of deadlines, and when each was met. Written in C so that the time
// stamp is the first action after the wait returns, also in debug builds. All instants are ns of
// CLOCK_MONOTONIC.

// What the process had used at some moment: processor time of all its threads, and their context
// switches.
typedef struct {
    int64_t process_cpu_ns;
    // The same time in two parts. The kernel knows the sum exactly, but divides it by what its
    // ticks saw (proc(5), utime and stime): the parts mean little below some tens of ticks.
    int64_t user_cpu_ns;
    int64_t system_cpu_ns;
    int64_t thread_cpu_ns;  // of the calling thread
    int64_t thread_id;      // of the calling thread, gettid(2)
    int64_t voluntary_switches;
    int64_t involuntary_switches;
    int64_t page_faults;
    // Of the threads that the counters cover; -1 without counters.
    int64_t instructions;
    int64_t cycles;
    int64_t cache_misses;
} cbench_usage;

// The processor's counters, from perf_event_open(2), of each thread that existed.
typedef struct {
    int (*_Nullable files)[3];  // instructions, cycles and cache misses; -1 for none
    size_t threads;
} cbench_counters;

// Counts all threads of the process, pools included, and all threads that they start from now on.
// If the kernel does not allow its own part to be counted, only the user part is. The caller closes
// the counters.
cbench_counters cbench_counters_open(void);
void cbench_counters_close(cbench_counters counters);

typedef struct {
    int64_t deadline_ns;
    int64_t woke_ns;
    int64_t processor;  // on which the fire came; read after the stamp
} cbench_fire;

// The first eight fields are all that most fires touch: one cache line, if the block begins with
// one.
typedef struct {
    cbench_fire *_Nonnull fires;  // owned by the caller, with room for `capacity`
    size_t capacity;
    size_t count;
    int64_t interval_ns;
    int64_t next_deadline_ns;
    size_t settling;  // fires still to leave out, while the timer is learning
    int64_t end_ns;   // the first fire at or after it ends the block; 0 for never
    int64_t work_ns;  // how long each fire computes after its stamp, as a user's handler would
    int64_t first_deadline_ns;
    cbench_counters counters;
    // Each fire continues from the previous one, on whatever thread that was. The code that calls
    // the handlers orders them; this counter makes the order visible to Thread Sanitizer.
    uint64_t turns;
    // Taken right after the first and the last stamp: the difference is the steady state, without
    // setting up.
    cbench_usage at_first;
    cbench_usage at_last;
} cbench_block;

// Returns the calling thread's own time, and all other values for the whole process. getrusage(2),
// clock_gettime(2).
cbench_usage cbench_usage_now(void);
// Like cbench_usage_now, with the values of the counters.
cbench_usage cbench_usage_with(cbench_counters counters);

// Returns the resident bytes of the process, proc_pid_statm(5).
int64_t cbench_resident_bytes(void);
// Returns free memory of the heap to the system, malloc_trim(3).
void cbench_give_back_memory(void);

static inline int64_t cbench_now_ns(void) { return hrt_clock_now_ns(HRT_CLOCK_MONOTONIC); }

// CLOCK_REALTIME, for subjects that take their deadlines as dates.
static inline int64_t cbench_wall_ns(void) { return hrt_clock_now_ns(HRT_CLOCK_WALL); }

// Sets the grid. The block is empty afterwards.
void cbench_block_begin(cbench_block *_Nonnull block, int64_t first_deadline_ns,
                        int64_t interval_ns);

// For blocks without counters.
static inline cbench_counters cbench_no_counters(void) { return (cbench_counters){NULL, 0}; }

// Records one fire, for the earliest deadline that has not been met. Further deadlines that have
// passed are missed: the next fire counts for the first deadline after woke_ns. Returns false if
// this was the last fire, or if the block was full already. Only one thread at a time may call it.
bool cbench_block_fire(cbench_block *_Nonnull block, int64_t woke_ns);

// Like cbench_block_fire, for a timer that reports how many deadlines this fire stands for, at
// least 1.
bool cbench_block_fire_for(cbench_block *_Nonnull block, int64_t woke_ns, int64_t deadlines);

// Like cbench_block_fire_for, at the clock's present reading. A handler that is one call is few
// lines of code, as a bare loop is.
bool cbench_block_fire_now(cbench_block *_Nonnull block, int64_t deadlines);

// Makes earlier writes visible to the block's fires, and the fires' writes visible to a later
// caller.
void cbench_block_order(cbench_block *_Nonnull block);

// Creates an event file, eventfd(2). Returns a descriptor or a negative errno.
int cbench_event_file(void);

// Creates a timer as a file, timerfd_create(2) on CLOCK_MONOTONIC; sets its deadline. Both return a
// negative errno on failure.
int cbench_timer_file(void);
int cbench_timer_file_set(int timer, int64_t deadline_ns);

// After SIGINT, a block ends with its current fire. A second SIGINT ends the process, as without
// the handler. The handler is async-signal-safe: it sets one flag. Returns 0 or a negative errno.
int cbench_stop_on_interrupt(void);
bool cbench_stop_requested(void);

// Fills a block that was begun, on the calling thread, by waiting for one deadline after the other.
// Returns 0, or the negative errno if it cannot run here.
typedef int cbench_loop(cbench_block *_Nonnull block);

// Calls that take a deadline: on CLOCK_MONOTONIC, or on the wall clock if the call supports no
// other.
cbench_loop cbench_clock_nanosleep_abs, cbench_futex_abs, cbench_cond_clockwait,
    cbench_cond_timedwait, cbench_sem_clockwait, cbench_sem_timedwait, cbench_mq_timedreceive;

// Calls that take the remaining time.
cbench_loop cbench_clock_nanosleep_rel, cbench_nanosleep, cbench_futex_rel, cbench_sigtimedwait,
    cbench_semtimedop, cbench_so_rcvtimeo, cbench_epoll_wait, cbench_epoll_pwait2, cbench_poll,
    cbench_ppoll, cbench_select, cbench_pselect;

cbench_loop cbench_timerfd_read, cbench_timerfd_epoll, cbench_timerfd_epoll_et,
    cbench_timerfd_periodic, cbench_io_uring_timeout, cbench_io_uring_enter_timeout;
cbench_loop cbench_libevent_default, cbench_libevent_precise, cbench_libevent_timerfd;

// Timers that send signals. Timers that send them to the process are measured in a child of
// fork(2), which has no other thread that could take the signal.
cbench_loop cbench_timer_create_signal, cbench_timer_create_thread_id, cbench_timer_create_thread,
    cbench_setitimer;

// SCHED_DEADLINE with the interval as its period. The scheduler determines the grid: it begins
// within the call that sets the class, and the block's deadlines count from the beginning of that
// call.
cbench_loop cbench_sched_deadline;

cbench_loop cbench_spin_clock, cbench_spin_tsc, cbench_umwait, cbench_sdl_delay_precise,
    cbench_spin_sleep;
// Sleeps until `margin_ns` before each deadline, and spins the rest; the margin is above 0.
int cbench_hybrid(cbench_block *_Nonnull block, int64_t margin_ns);
// The same for a handler that it knows by its address alone, and that takes the stamp first.
int cbench_called(cbench_block *_Nonnull block, int64_t margin_ns);

// Only a sleep and a stamp for each deadline.
cbench_loop cbench_bare_loop;

// A binary heap of timers and their handlers behind one mutex; any thread may use it. Timers are
// numbers below the `timers` of create. Each must be added once before it is replaced, and each may
// be used by one thread at a time. `replace` cancels the timer, arms a new one under its number,
// and returns the old handler. `create` returns NULL without memory.
typedef struct cbench_locked_heap cbench_locked_heap;
cbench_locked_heap *_Nullable cbench_locked_heap_create(size_t timers);
void cbench_locked_heap_destroy(cbench_locked_heap *_Nonnull heap);
void cbench_locked_heap_add(cbench_locked_heap *_Nonnull heap, size_t timer, int64_t deadline_ns,
                            const void *_Nonnull handler);
const void *_Nonnull cbench_locked_heap_replace(cbench_locked_heap *_Nonnull heap, size_t timer,
                                                int64_t deadline_ns, const void *_Nonnull handler);
// Takes the timer out, returns its handler, and leaves its number free to be added again. With
// `add` it makes `replace` in two steps, for comparison with a timer that needs two calls.
const void *_Nonnull cbench_locked_heap_cancel(cbench_locked_heap *_Nonnull heap, size_t timer);
// Sets another deadline for the same timer.
void cbench_locked_heap_move(cbench_locked_heap *_Nonnull heap, size_t timer, int64_t deadline_ns);
// Returns the timer's handler.
const void *_Nonnull cbench_locked_heap_handler(const cbench_locked_heap *_Nonnull heap,
                                                size_t timer);

// How many mutexes the calling thread has locked with pthread_mutex_lock(3) while counting was on.
// While counting is on, the sum also contains all locks of the library's own that the thread has
// taken so far: differences are meaningful if counting was on at both readings. Any thread may turn
// counting on and off, for all threads. cbench_count_locks returns false where nothing can be
// counted (under sanitizers).
bool cbench_count_locks(bool is_on);
uint64_t cbench_thread_locks(void);

// The number of memory blocks that the calling thread has allocated; 0 where allocations are not
// counted (under sanitizers).
uint64_t cbench_thread_allocations(void);
bool cbench_counts_allocations(void);

#endif
