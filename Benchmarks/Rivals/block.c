// SPDX-License-Identifier: Apache-2.0
#include "block.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cbench_kernel.h"

static cbench_block block;

static int64_t option(int argc, char **argv, const char *name, int64_t otherwise) {
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], name) == 0) return atoll(argv[i + 1]);
    }
    return otherwise;
}

void rival_begin(int argc, char **argv) {
    enum { LEAD_NS = 2000000 };
    int64_t fires = option(argc, argv, "--fires", 0);
    int64_t interval_ns = option(argc, argv, "--interval", 0);
    if (fires < 1 || interval_ns < 1) {
        fprintf(stderr, "%s takes a plan: see BlockRecorder.plan\n", argv[0]);
        exit(64);
    }
    block.fires = calloc((size_t)fires, sizeof block.fires[0]);
    if (block.fires == NULL) exit(1);
    memset(block.fires, 0, (size_t)fires * sizeof block.fires[0]);  // mapped in now
    block.capacity = (size_t)fires;
    block.settling = (size_t)option(argc, argv, "--settling", 0);
    block.work_ns = option(argc, argv, "--work", 0);
    block.counters = cbench_no_counters();
    int64_t first_ns = cbench_now_ns() + LEAD_NS + option(argc, argv, "--phase", 0);
    int64_t patience_ns = option(argc, argv, "--patience", -1);
    int64_t planned_ns = (fires + (int64_t)block.settling) * interval_ns;
    if (patience_ns >= 0) block.end_ns = first_ns + planned_ns + patience_ns;
    cbench_block_begin(&block, first_ns, interval_ns);
}

int64_t rival_deadline_ns(void) { return block.next_deadline_ns; }

int64_t rival_now_ns(void) { return cbench_now_ns(); }

bool rival_fire(void) { return cbench_block_fire(&block, cbench_now_ns()); }

int rival_end(void) {
    size_t size = sizeof block.fires[0], count = block.count;
    bool is_written = fwrite(&block.at_first, sizeof block.at_first, 1, stdout) == 1 &&
                      fwrite(&block.at_last, sizeof block.at_last, 1, stdout) == 1 &&
                      fwrite(block.fires, size, count, stdout) == count;
    return is_written && fflush(stdout) == 0 ? 0 : 1;
}
