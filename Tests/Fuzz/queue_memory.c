// SPDX-License-Identifier: Apache-2.0
// Arms and removes a million timers of each kind. The process's resident memory afterwards must
// be at most 10 % above that at the start. A program of its own, so that nothing else allocates
// meanwhile.
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hrt_clock.h"
#include "hrt_queue.h"

enum { TIMERS = 1000000, RECORD_BYTES = 96 };

static hrt_token tokens[TIMERS];

static void require(bool holds, const char *sentence) {
    if (holds) return;
    fprintf(stderr, "not so: %s\n", sentence);
    abort();
}

// See statm in proc(5).
static long resident_kib(void) {
    long size = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%ld %ld", &size, &resident) != 2) abort();
    fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static void arm(hrt_queue *queue, int kind, int number) {
    int64_t deadline_ns = 1000000 + (int64_t)number * 7919 % 60000 * 1000000;
    require(hrt_queue_add(queue, &tokens[number]) == 0, "a timer can be added");
    hrt_arm_options options = {.is_precise = kind == 2};
    if (kind == 1) options.tolerance_ns = deadline_ns / 10;
    if (kind == 3) {  // long due
        options.tolerance_ns = 1;
        deadline_ns = -deadline_ns;
    }
    hrt_queue_arm(queue, tokens[number].slot, deadline_ns, options);
    memset(hrt_queue_record(queue, tokens[number].slot), kind, RECORD_BYTES);
}

int main(void) {
    for (int number = 0; number < TIMERS; number++)
        tokens[number].slot = 1;  // makes the array resident at the start
    hrt_queue *queue;
    require(hrt_queue_create(RECORD_BYTES, &queue) == 0, "a queue can be made");
    hrt_queue_take_due(queue, 0, NULL, 0);
    hrt_token pending;
    require(hrt_queue_add(queue, &pending) == 0, "a timer can be added");
    hrt_queue_arm(queue, pending.slot, 3600 * HRT_NS_PER_S, (hrt_arm_options){0});
    resident_kib();
    long before_kib = resident_kib();
    for (int kind = 0; kind < 4; kind++) {
        for (int number = 0; number < TIMERS; number++) arm(queue, kind, number);
        while (hrt_queue_normalize(queue)) continue;
        long peak_kib = resident_kib();
        for (int number = 0; number < TIMERS; number++) hrt_queue_remove(queue, tokens[number]);
        require(hrt_queue_wants_trim(queue), "trimming is wanted");
        while (hrt_queue_trim(queue)) continue;
        long after_kib = resident_kib();
        printf("resident: %ld KiB, with a million timers %ld, afterwards %ld\n", before_kib,
               peak_kib, after_kib);
        require(peak_kib > before_kib + 30000, "a million timers take memory");
        require(after_kib <= before_kib + before_kib / 10,
                "what a million timers took is given back");
    }
    while (hrt_queue_normalize(queue)) continue;
    require(hrt_queue_next_ns(queue) == 3600 * HRT_NS_PER_S, "what is pending stays");
    hrt_queue_destroy(queue);
    return 0;
}
