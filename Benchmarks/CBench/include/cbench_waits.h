#ifndef CBENCH_WAITS_H
#define CBENCH_WAITS_H

#include "cbench_kernel.h"

// More measuring loops like those in cbench_kernel.h: each fills a block that was begun. Returns 0,
// or the negative errno if it cannot run here.

// Sleeps and waits that take the remaining time.
int cbench_clock_nanosleep_rel(cbench_block *_Nonnull block);
int cbench_nanosleep(cbench_block *_Nonnull block);
int cbench_futex_rel(cbench_block *_Nonnull block);
int cbench_sigtimedwait(cbench_block *_Nonnull block);
int cbench_semtimedop(cbench_block *_Nonnull block);
int cbench_so_rcvtimeo(cbench_block *_Nonnull block);

// The poll family.
int cbench_poll(cbench_block *_Nonnull block);
int cbench_ppoll(cbench_block *_Nonnull block);
int cbench_select(cbench_block *_Nonnull block);
int cbench_pselect(cbench_block *_Nonnull block);

// Locks and queues that take a deadline: on CLOCK_MONOTONIC, or on the wall clock if the call
// supports no other.
int cbench_cond_clockwait(cbench_block *_Nonnull block);
int cbench_cond_timedwait(cbench_block *_Nonnull block);
int cbench_sem_clockwait(cbench_block *_Nonnull block);
int cbench_sem_timedwait(cbench_block *_Nonnull block);
int cbench_mq_timedreceive(cbench_block *_Nonnull block);

// timerfd.
int cbench_timerfd_periodic(cbench_block *_Nonnull block);
int cbench_timerfd_epoll_et(cbench_block *_Nonnull block);

// Timers that send signals. Timers that send them to the process are measured in a child of
// fork(2), which has no other thread that could take the signal.
int cbench_timer_create_signal(cbench_block *_Nonnull block);
int cbench_timer_create_thread_id(cbench_block *_Nonnull block);
int cbench_timer_create_thread(cbench_block *_Nonnull block);
int cbench_setitimer(cbench_block *_Nonnull block);

// io_uring.
int cbench_io_uring_timeout(cbench_block *_Nonnull block);
int cbench_io_uring_enter_timeout(cbench_block *_Nonnull block);

// SCHED_DEADLINE with the interval as its period. The scheduler determines the grid: it begins
// within the call that sets the class, and the block's deadlines count from the beginning of that
// call.
int cbench_sched_deadline(cbench_block *_Nonnull block);

#endif
