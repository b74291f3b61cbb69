#ifndef CREALTIMEKIT_H
#define CREALTIMEKIT_H

#include <stdint.h>

// Asks a service of the desktop to make the calling thread a real-time thread, which the kernel
// refuses to a process without rights: RealtimeKit on the system's bus, or the desktop portal on
// the session's, which asks RealtimeKit from outside of a sandbox. libdbus is loaded for it, if
// there is one.

typedef enum { CRK_NOBODY, CRK_REALTIMEKIT, CRK_PORTAL } crk_service;

typedef struct {
    crk_service service;  // who granted it
    uint32_t priority;    // which may be less than was asked for
    char why[240];        // not: a sentence for each service that was asked
} crk_answer;

// The services demand that no real-time thread of the process computes for longer than they say
// (200 ms) without sleeping: RLIMIT_RTTIME, getrlimit(2), is lowered to that, for the whole
// process, and stays so. A thread that does is ended with its process by SIGXCPU. Waits 2 s at most
// for each answer. The thread's class is SCHED_RR or SCHED_FIFO, as the service is configured, with
// SCHED_RESET_ON_FORK. 0, or -EPERM if nobody granted it.
int crk_make_thread_realtime(uint32_t priority, crk_answer *_Nonnull out_answer);

#endif
