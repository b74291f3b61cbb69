// SPDX-License-Identifier: Apache-2.0
#ifdef __linux__
#include "../include/hrt_thread.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../hrt_status.h"

// CONFIG_NR_CPUS, the kernel's own bound, is nowhere above this.
enum { MOST_PROCESSORS = 8192 };

// struct sched_attr of linux/sched/types.h, which cannot be included together with the sched.h of
// every libc.
struct attributes {
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns;
    uint64_t deadline_ns;
    uint64_t period_ns;
};

enum { RESET_ON_FORK = 1 };  // SCHED_FLAG_RESET_ON_FORK

static int get_attributes(struct attributes *attributes) {
    return HRT_STATUS(syscall(SYS_sched_getattr, 0, attributes, sizeof *attributes, 0));
}

static int set_attributes(struct attributes *attributes) {
    attributes->size = sizeof *attributes;
    return HRT_STATUS(syscall(SYS_sched_setattr, 0, attributes, 0));
}

struct hrt_thread_origin {
    uint64_t slack_ns;
    uint64_t slice_ns;  // 0 if the kernel does not tell
    size_t size;        // in bytes; 0 if the processors could not be read
    unsigned char processors[];
};

// Each thread's origin, freed with the thread. Not thread-local storage, which each thread of the
// process would have.
static pthread_key_t origin_key;
static bool has_origin_key;

// Keeps what the thread has, unless it is kept already. Without memory its threads are not put
// right.
static void keep_origin(void) {
    if (!has_origin_key || pthread_getspecific(origin_key) != NULL) return;
    unsigned char processors[MOST_PROCESSORS / 8] = {0};
    size_t size = sizeof processors;
    if (HRT_STATUS(sched_getaffinity(0, size, (cpu_set_t *)processors)) != 0) size = 0;
    // The kernel takes a shorter set for one that ends with zeros (sched_setaffinity(2)).
    while (size > sizeof(long) && processors[size - 1] == 0) size--;
    size = (size + sizeof(long) - 1) / sizeof(long) * sizeof(long);
    hrt_thread_origin *origin = malloc(sizeof *origin + size);
    if (origin == NULL) return;
    *origin = (hrt_thread_origin){
        .slack_ns = hrt_thread_timer_slack_ns(),
        .slice_ns = hrt_thread_slice_ns(),
        .size = size,
    };
    memcpy(origin->processors, processors, size);
    if (pthread_setspecific(origin_key, origin) != 0) free(origin);
}

hrt_thread_origin *hrt_thread_origin_copy(void) {
    const hrt_thread_origin *origin = has_origin_key ? pthread_getspecific(origin_key) : NULL;
    if (origin == NULL) return NULL;
    hrt_thread_origin *copy = malloc(sizeof *copy + origin->size);
    if (copy != NULL) memcpy(copy, origin, sizeof *copy + origin->size);
    return copy;
}

// Fails if a cgroup allows none of the processors any more: the thread keeps those that it has.
static void restore(const hrt_thread_origin *origin) {
    if (origin->size > 0)
        (void)HRT_STATUS(sched_setaffinity(0, origin->size, (const cpu_set_t *)origin->processors));
    (void)HRT_STATUS(prctl(PR_SET_TIMERSLACK, origin->slack_ns, 0, 0, 0));
    uint64_t slice_ns = hrt_thread_slice_ns();
    if (slice_ns != 0 && slice_ns != origin->slice_ns)
        (void)hrt_thread_set_slice_ns(origin->slice_ns, false);
}

void hrt_thread_adopt(hrt_thread_origin *origin) {
    if (origin == NULL) return;
    restore(origin);
    free(origin);
}

// Runs in a child of fork(2), whose threads get the same: the origin is kept.
static void restore_in_child(void) {
    const hrt_thread_origin *origin = pthread_getspecific(origin_key);
    if (origin != NULL) restore(origin);
}

__attribute__((constructor)) static void prepare_origins(void) {
    // EAGAIN: the process has PTHREAD_KEYS_MAX keys. ENOMEM: see hrt_fork.c.
    has_origin_key = pthread_key_create(&origin_key, free) == 0;
    if (has_origin_key) pthread_atfork(NULL, NULL, restore_in_child);
}

int hrt_thread_set_timer_slack_ns(uint64_t slack_ns) {
    if (slack_ns == 0 || slack_ns > LONG_MAX) return -EINVAL;
    keep_origin();
    return HRT_STATUS(prctl(PR_SET_TIMERSLACK, slack_ns, 0, 0, 0));
}

uint64_t hrt_thread_timer_slack_ns(void) { return (uint64_t)prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0); }

void hrt_thread_set_name(const char *name) {
    char kept[16];  // TASK_COMM_LEN
    strncpy(kept, name, sizeof kept - 1);
    kept[sizeof kept - 1] = '\0';
    pthread_setname_np(pthread_self(), kept);
}

int hrt_thread_set_processors(const uint32_t *processors, size_t count) {
    size_t size = CPU_ALLOC_SIZE(MOST_PROCESSORS);
    cpu_set_t *cpus = CPU_ALLOC(MOST_PROCESSORS);
    if (cpus == NULL) return -ENOMEM;
    keep_origin();
    CPU_ZERO_S(size, cpus);
    int status = 0;
    for (size_t index = 0; index < count; index++) {
        if (processors[index] >= MOST_PROCESSORS) status = -EINVAL;
        CPU_SET_S(processors[index], size, cpus);  // out of range it does nothing
    }
    if (status == 0) status = HRT_STATUS(sched_setaffinity(0, size, cpus));
    CPU_FREE(cpus);
    return status;
}

static bool has_slice(const struct attributes *attributes) {
    return attributes->policy == SCHED_OTHER || attributes->policy == SCHED_BATCH;
}

uint64_t hrt_thread_slice_ns(void) {
    struct attributes attributes = {0};
    return get_attributes(&attributes) == 0 && has_slice(&attributes) ? attributes.runtime_ns : 0;
}

int hrt_thread_set_schedule(const hrt_schedule *schedule) {
    struct attributes attributes = {
        .policy = schedule->policy,
        .flags = RESET_ON_FORK,
        .nice = schedule->nice,
        .priority = schedule->priority,
        // An ordinary thread keeps its slice.
        .runtime_ns =
            schedule->policy == SCHED_OTHER ? hrt_thread_slice_ns() : schedule->runtime_ns,
        .deadline_ns = schedule->deadline_ns,
        .period_ns = schedule->period_ns,
    };
    return set_attributes(&attributes);
}

int hrt_thread_set_slice_ns(uint64_t slice_ns, bool resets_on_fork) {
    // The kernel would take the nearest one that it has.
    if (slice_ns < HRT_LEAST_SLICE_NS || slice_ns > HRT_MOST_SLICE_NS) return -EINVAL;
    struct attributes attributes = {0};
    int status = get_attributes(&attributes);
    if (status != 0 || !has_slice(&attributes)) return status;
    // Kernels before 6.12 know no slice of a thread's own: they would ignore it without an error.
    if (attributes.runtime_ns == 0) return -ENOTSUP;
    keep_origin();
    attributes.runtime_ns = slice_ns;
    // The flag would take a negative nice value from what the thread starts.
    if (resets_on_fork && attributes.nice >= 0) attributes.flags |= RESET_ON_FORK;
    return set_attributes(&attributes);
}

int32_t hrt_thread_id(void) { return (int32_t)gettid(); }
#endif
