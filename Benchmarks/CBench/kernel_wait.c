#include "kernel_wait.h"

#include <errno.h>

int cbench_fill_absolute(cbench_block *block, cbench_wait *wait, void *context) {
    int64_t woke_ns;
    do {
        int status;
        do {
            status = wait(context, block->next_deadline_ns);
            woke_ns = cbench_now_ns();
        } while (status == -EINTR);
        if (status != 0) return status;
    } while (cbench_block_fire(block, woke_ns));
    return 0;
}

int cbench_fill_relative(cbench_block *block, cbench_wait *wait, void *context) {
    int64_t woke_ns;
    do {
        int status;
        do {
            int64_t remaining_ns = block->next_deadline_ns - cbench_now_ns();
            status = wait(context, remaining_ns > 0 ? remaining_ns : 0);
            woke_ns = cbench_now_ns();
        } while (status == -EINTR);
        if (status != 0) return status;
    } while (cbench_block_fire(block, woke_ns));
    return 0;
}
