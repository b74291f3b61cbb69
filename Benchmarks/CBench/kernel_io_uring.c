// SPDX-License-Identifier: Apache-2.0
// io_uring without liburing: one ring with room for one request.
#include <errno.h>
#include <linux/io_uring.h>
#include <linux/time_types.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel_wait.h"

// From kernel 5.11, which may be newer than the headers.
#ifndef IORING_ENTER_EXT_ARG
#define IORING_ENTER_EXT_ARG (1U << 3)
#endif
#ifndef IORING_FEAT_EXT_ARG
#define IORING_FEAT_EXT_ARG (1U << 8)
#endif
struct enter_argument {
    uint64_t signals;
    uint32_t signals_bytes;
    uint32_t unused;
    uint64_t timeout;
};

struct ring {
    int descriptor;
    struct io_uring_params parameters;
    char *rings;
    size_t rings_bytes;
    struct io_uring_sqe *requests;
    size_t requests_bytes;
};

static uint32_t *at(const struct ring *ring, uint32_t offset) {
    return (uint32_t *)(void *)(ring->rings + offset);
}

static void close_ring(struct ring *ring) {
    if (ring->requests != NULL) munmap(ring->requests, ring->requests_bytes);
    if (ring->rings != NULL) munmap(ring->rings, ring->rings_bytes);
    close(ring->descriptor);
}

static void *map_ring(const struct ring *ring, size_t bytes, off_t offset) {
    void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                       ring->descriptor, offset);
    return start == MAP_FAILED ? NULL : start;
}

static int open_ring(struct ring *ring) {
    *ring = (struct ring){0};
    struct io_uring_params *parameters = &ring->parameters;
    ring->descriptor = (int)syscall(SYS_io_uring_setup, 1, parameters);
    if (ring->descriptor < 0) return -errno;
    size_t submissions = parameters->sq_off.array + parameters->sq_entries * sizeof(uint32_t);
    size_t completions =
        parameters->cq_off.cqes + parameters->cq_entries * sizeof(struct io_uring_cqe);
    ring->rings_bytes = submissions > completions ? submissions : completions;
    ring->requests_bytes = parameters->sq_entries * sizeof(struct io_uring_sqe);
    // Both rings are in one mapping since kernel 5.4.
    bool is_single = (parameters->features & IORING_FEAT_SINGLE_MMAP) != 0;
    if (is_single) ring->rings = map_ring(ring, ring->rings_bytes, IORING_OFF_SQ_RING);
    if (ring->rings != NULL) {
        ring->requests = map_ring(ring, ring->requests_bytes, IORING_OFF_SQES);
    }
    if (ring->requests != NULL) return 0;
    close_ring(ring);
    return is_single ? -ENOMEM : -ENOSYS;
}

static int enter(const struct ring *ring, unsigned submitted, unsigned awaited) {
    return (int)syscall(SYS_io_uring_enter, ring->descriptor, submitted, awaited,
                        IORING_ENTER_GETEVENTS, NULL, 0);
}

static void put_timeout(struct ring *ring, const struct __kernel_timespec *deadline) {
    uint32_t tail = *at(ring, ring->parameters.sq_off.tail);
    uint32_t index = tail & *at(ring, ring->parameters.sq_off.ring_mask);
    struct io_uring_sqe *request = &ring->requests[index];
    memset(request, 0, sizeof *request);
    request->opcode = IORING_OP_TIMEOUT;
    request->fd = -1;
    request->addr = (uint64_t)(uintptr_t)deadline;
    request->len = 1;
    request->timeout_flags = IORING_TIMEOUT_ABS;
    at(ring, ring->parameters.sq_off.array)[index] = index;
    __atomic_store_n(at(ring, ring->parameters.sq_off.tail), tail + 1, __ATOMIC_RELEASE);
}

// Returns the result of a completion, or 1 if nothing has completed.
static int take_completion(struct ring *ring) {
    uint32_t *head = at(ring, ring->parameters.cq_off.head);
    uint32_t tail = __atomic_load_n(at(ring, ring->parameters.cq_off.tail), __ATOMIC_ACQUIRE);
    if (*head == tail) return 1;
    uint32_t index = *head & *at(ring, ring->parameters.cq_off.ring_mask);
    struct io_uring_cqe *all = (void *)(ring->rings + ring->parameters.cq_off.cqes);
    int result = all[index].res;
    __atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
    return result;
}

static int submit_and_wait(struct ring *ring) {
    int submitted;
    do {
        submitted = enter(ring, 1, 1);
    } while (submitted < 0 && errno == EINTR);
    if (submitted < 0) return errno;
    int result = take_completion(ring);
    // A signal may interrupt the wait after the request was submitted.
    while (result == 1) {
        if (enter(ring, 0, 1) < 0 && errno != EINTR) return errno;
        result = take_completion(ring);
    }
    return -result;
}

static inline int64_t wait_for_completion(void *ring, int64_t deadline_ns) {
    struct __kernel_timespec deadline = {deadline_ns / 1000000000, deadline_ns % 1000000000};
    put_timeout(ring, &deadline);
    return cbench_woke(submit_and_wait(ring), ETIME);
}

static inline int64_t wait_for_nothing(void *context, int64_t deadline_ns) {
    struct ring *ring = context;
    int64_t left_ns = cbench_left_ns(deadline_ns);
    struct __kernel_timespec left = {left_ns / 1000000000, left_ns % 1000000000};
    struct enter_argument argument = {.timeout = (uint64_t)(uintptr_t)&left};
    unsigned flags = IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG;
    long status =
        syscall(SYS_io_uring_enter, ring->descriptor, 0, 1, flags, &argument, sizeof argument);
    return cbench_woke(status < 0 ? errno : 0, ETIME);
}

// `features` are those that the wait needs.
__attribute__((always_inline)) static inline int with_ring(cbench_block *block, unsigned features,
                                                           cbench_wait *wait) {
    struct ring ring;
    int status = open_ring(&ring);
    if (status != 0) return status;
    bool has_all = (ring.parameters.features & features) == features;
    status = has_all ? cbench_fill(block, wait, &ring) : -ENOSYS;
    close_ring(&ring);
    return status;
}

int cbench_io_uring_timeout(cbench_block *block) {
    return with_ring(block, 0, wait_for_completion);
}

int cbench_io_uring_enter_timeout(cbench_block *block) {
    return with_ring(block, IORING_FEAT_EXT_ARG, wait_for_nothing);
}
