// SPDX-License-Identifier: Apache-2.0
// The fuzzer's bytes are a script of steps: one byte for the operation, one for its timer, and
// eight for a value.
#include <string.h>

#include "queue_model.h"

enum { SCRIPT_STEP_BYTES = 10, STEPS_PER_CHECK = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *script, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *script, size_t length) {
    struct queue_model *model = queue_model_create();
    size_t steps = length / SCRIPT_STEP_BYTES;
    for (size_t step = 0; step < steps; step++, script += SCRIPT_STEP_BYTES) {
        uint64_t value;
        memcpy(&value, script + 2, sizeof value);
        queue_model_step(model, script[0], script[1], value);
        if (step % STEPS_PER_CHECK == 0) queue_model_check(model);
    }
    queue_model_check(model);
    queue_model_destroy(model);
    return 0;
}
