#ifndef HRT_RUN_LOOP_H
#define HRT_RUN_LOOP_H

// A source of the calling thread's run loop, Foundation's RunLoop.current, for a loop that lives
// inside it: by CFRunLoop's functions, which Foundation exports on Linux too, looked up at run
// time. Programs that do not use Foundation are not made to load it.

typedef struct {
    // After a signal, on the run loop's thread.
    void (*_Nonnull perform)(void *_Nonnull context);
    // The run loop does not have the source any more: it was removed, or its thread has ended.
    // Perhaps once for each mode, on any thread; at the end of the thread with the run loop's lock
    // held, which a signal takes.
    void (*_Nonnull ended)(void *_Nonnull context);
    // The last call.
    void (*_Nonnull release)(void *_Nonnull context);
} hrt_run_loop_calls;

typedef struct hrt_run_loop_source hrt_run_loop_source;

// Adds a source to the run loop of the calling thread, in its common modes. 0, -ENOSYS without
// Foundation, -ENOMEM; if it fails nothing is called.
int hrt_run_loop_source_add(hrt_run_loop_calls calls, void *_Nonnull context,
                            hrt_run_loop_source *_Nullable *_Nonnull out_source);

// Wakes the run loop and has it perform, once for any number of signals before that. In two steps:
// the first up to the return of `ended`, the second after each first, also if that has come
// meanwhile. Any thread.
void hrt_run_loop_source_hold(hrt_run_loop_source *_Nonnull source);
void hrt_run_loop_source_signal(hrt_run_loop_source *_Nonnull source);

// Takes the source out of its run loop, if that still has it, and frees it. Once; any thread.
void hrt_run_loop_source_remove(hrt_run_loop_source *_Nonnull source);

#endif
