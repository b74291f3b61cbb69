// SPDX-License-Identifier: Apache-2.0
#ifndef HRT_RUN_LOOP_H
#define HRT_RUN_LOOP_H

#include "hrt_nullability.h"

#ifdef __cplusplus
extern "C" {
#endif

// A source in the calling thread's run loop (Foundation's RunLoop.current), for a loop of this
// library that is hosted there. It uses CFRunLoop's functions, which Foundation exports on Linux
// too. They are looked up at run time, so that programs without Foundation need not load it.

typedef struct {
    // Called on the run loop's thread after a signal.
    void (*_Nonnull perform)(void *_Nonnull context);
    // Called when the run loop no longer has the source: it was removed, or its thread has ended.
    // May be called once for each mode, on any thread. When the thread ends, the call comes with
    // the run loop's lock held, which hrt_run_loop_source_signal takes.
    void (*_Nonnull ended)(void *_Nonnull context);
    // Called last.
    void (*_Nonnull release)(void *_Nonnull context);
} hrt_run_loop_calls;

typedef struct hrt_run_loop_source hrt_run_loop_source;

// Adds a source to the run loop of the calling thread, in its common modes. Returns 0, -ENOSYS
// without Foundation, or -ENOMEM. If it fails, it calls none of `calls`.
int hrt_run_loop_source_add(hrt_run_loop_calls calls, void *_Nonnull context,
                            hrt_run_loop_source *_Nullable *_Nonnull out_source);

// Wakes the run loop and makes it call `perform`, once for any number of signals before that. Takes
// two steps: hold is allowed until `ended` has returned; signal must follow each hold, even if
// `ended` was called in between. Any thread.
void hrt_run_loop_source_hold(hrt_run_loop_source *_Nonnull source);
void hrt_run_loop_source_signal(hrt_run_loop_source *_Nonnull source);

// Removes the source from its run loop, if the run loop still has it, and frees it. Call it once,
// on any thread.
void hrt_run_loop_source_remove(hrt_run_loop_source *_Nonnull source);

#ifdef __cplusplus
}
#endif

#endif
