// SPDX-License-Identifier: Apache-2.0
// Compares random operations on a timer queue with a sorted array. Usage: queue_random [operations
// [seed]]. Prints the seed.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "queue_model.h"

enum { STEPS_PER_QUEUE = 1000000, STEPS_PER_CHECK = 4096 };

// splitmix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014)
static uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

int main(int argc, char **argv) {
    uint64_t operations = argc > 1 ? strtoull(argv[1], NULL, 0) : 10000000;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL);
    printf("%" PRIu64 " operations, seed %" PRIu64 "\n", operations, seed);
    fflush(stdout);
    uint64_t state = seed, fired = 0, hash = 0;
    for (uint64_t done = 0; done < operations;) {
        struct queue_model *model = queue_model_create();
        for (uint64_t step = 0; step < STEPS_PER_QUEUE && done < operations; step++, done++) {
            uint64_t operation = next_random(&state), value = next_random(&state);
            queue_model_step(model, (uint8_t)operation, operation >> 8, value);
            if (step % STEPS_PER_CHECK == 0) queue_model_check(model);
        }
        queue_model_check(model);
        fired += queue_model_fired(model);
        hash ^= queue_model_hash(model);
        queue_model_destroy(model);
    }
    printf("%" PRIu64 " fired in order, none early; hash %016" PRIx64 "\n", fired, hash);
    return 0;
}
