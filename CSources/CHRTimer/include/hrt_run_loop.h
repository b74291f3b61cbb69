#ifndef HRT_RUN_LOOP_H
#define HRT_RUN_LOOP_H

// A source of the calling thread's run loop (Foundation's RunLoop.current), for a loop of this
// library that is hosted there. It uses CFRunLoop's functions, which Foundation exports on Linux
// too, looked up at run time: programs without Foundation need not load it.

typedef struct {
    // Called after a signal, on the run loop's thread.
    void (*_Nonnull perform)(void *_Nonnull context);
    // Called when the run loop no longer has the source: it was removed, or its thread has ended.
    // May be called once for each mode, on any thread. At the end of the thread the run loop's lock
    // is held, which hrt_run_loop_source_signal takes.
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
// hold is allowed until `ended` has returned; signal must follow each hold, also if `ended` was
// called in between. Any thread.
void hrt_run_loop_source_hold(hrt_run_loop_source *_Nonnull source);
void hrt_run_loop_source_signal(hrt_run_loop_source *_Nonnull source);

// Removes the source from its run loop, if that still has it, and frees it. Once; any thread.
void hrt_run_loop_source_remove(hrt_run_loop_source *_Nonnull source);

#endif
