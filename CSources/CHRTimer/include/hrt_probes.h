// SPDX-License-Identifier: Apache-2.0
#ifndef HRT_PROBES_H
#define HRT_PROBES_H

#include <stdint.h>

#include "hrt_nonblocking.h"

// Probes for perf(1), bpftrace and SystemTap, if <sys/sdt.h> is present at build time (Debian's
// systemtap-sdt-dev). Each probe is a no-operation in the code and a note in the program, which
// says where the arguments are: see `readelf -n` and gdb's `info probes`. Without the header the
// probes are empty.
//
//     bpftrace -e 'usdt:./program:hrtimer:late { @us = hist(arg1 / 1000); }' -p PID
#if defined(__has_include)
#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#define HRT_HAS_PROBES 1
#endif
#endif
#ifndef HRT_HAS_PROBES
#define HRT_HAS_PROBES 0
#define DTRACE_PROBE2(provider, name, one, two) ((void)(one), (void)(two))
#define DTRACE_PROBE3(provider, name, one, two, three) ((void)(one), (void)(two), (void)(three))
#endif

#ifdef __cplusplus
extern "C" {
#endif

// Instants are on the clock of the engine or loop; a timer is identified by its slot.

// The timer is armed for the deadline, or rescheduled to it.
static inline void hrt_probe_arm(uint32_t timer, int64_t deadline_ns) HRT_NONBLOCKING {
    DTRACE_PROBE2(hrtimer, arm, timer, deadline_ns);
}

// The timer was found due, or about to be due, by a thread that read the clock as `now_ns`.
static inline void hrt_probe_expire(uint32_t timer, int64_t deadline_ns,
                                    int64_t now_ns) HRT_NONBLOCKING {
    DTRACE_PROBE3(hrtimer, expire, timer, deadline_ns, now_ns);
}

// A handler's call that was prepared before its deadline is committed: nobody can withdraw it now.
static inline void hrt_probe_commit(uint32_t timer, int64_t deadline_ns) HRT_NONBLOCKING {
    DTRACE_PROBE2(hrtimer, commit, timer, deadline_ns);
}

// The timer's handler is called.
static inline void hrt_probe_fire(uint32_t timer, int64_t deadline_ns,
                                  int64_t called_ns) HRT_NONBLOCKING {
    DTRACE_PROBE3(hrtimer, fire, timer, deadline_ns, called_ns);
}

// The timer was late beyond a bound that somebody watches; `cause` is what caused most of the
// lateness, numbered as in LatenessCause.
static inline void hrt_probe_late(uint32_t timer, int64_t lateness_ns,
                                  uint32_t cause) HRT_NONBLOCKING {
    DTRACE_PROBE3(hrtimer, late, timer, lateness_ns, cause);
}

// The thread parks until until_ns, or has woken from that park.
static inline void hrt_probe_park(int64_t until_ns, uint32_t is_precise) HRT_NONBLOCKING {
    DTRACE_PROBE2(hrtimer, park, until_ns, is_precise);
}
static inline void hrt_probe_wake(int64_t until_ns, uint32_t is_precise) HRT_NONBLOCKING {
    DTRACE_PROBE2(hrtimer, wake, until_ns, is_precise);
}

#ifdef __cplusplus
}
#endif

#endif
