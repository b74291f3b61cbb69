#ifndef HRT_HOT_H
#define HRT_HOT_H

// After milliseconds of idleness, a fire finds none of its code and data in a cache, and none of
// their pages in a TLB. That is hundreds of misses, one after the other if each occurs only when
// its line is needed (Benchmarks/cold-lines counts them). So the functions lie together, and a
// thread that wakes prefetches all of them at once: then the misses overlap. `bench run --interval
// 16.667ms --only hrtimer.source.normal --only kernel.bare-loop.slack-1`
#include "hrt_nonblocking.h"
#include "hrt_prefetch.h"

// Marks a function that every fire runs. The marked functions of C and of Swift
// (`@section("hrt_hot")`) are in one section of the program.
#define HRT_HOT __attribute__((section("hrt_hot")))

// Mark functions that only an engine's fires run, only a loop's, or only precise fires. A thread
// prefetches only the sections it needs, because the others would take just as long to fetch.
#define HRT_HOT_ENGINE __attribute__((section("hrt_hot_engine")))
#define HRT_HOT_LOOP __attribute__((section("hrt_hot_loop")))
#define HRT_HOT_PRECISE __attribute__((section("hrt_hot_precise")))

// The linker defines these symbols for a section whose name is an identifier (ld(1),
// "__start_SECNAME"). They are weak because a program may lack a section.
#define HRT_CODE_SECTION(name)                                                      \
    extern const char __start_##name[] __attribute__((visibility("hidden"), weak)); \
    extern const char __stop_##name[] __attribute__((visibility("hidden"), weak));
HRT_CODE_SECTION(hrt_hot)
HRT_CODE_SECTION(hrt_hot_engine)
HRT_CODE_SECTION(hrt_hot_loop)
HRT_CODE_SECTION(hrt_hot_precise)

// The memory that the thread's latest fire touched: with few timers the next fire touches it too.
// The addresses are only prefetched and never read: the memory may be gone by then.
typedef enum {
    HRT_TOUCHED_STATE,
    HRT_TOUCHED_QUEUE,
    HRT_TOUCHED_WHEEL,
    HRT_TOUCHED_NODE,
    HRT_TOUCHED_RECORD,
    HRT_TOUCHED_BATCH,
    HRT_TOUCHED_COMMIT,
    HRT_TOUCHED_LATENESS,
    HRT_TOUCHED_OWNER,
    HRT_TOUCHED_CODE,
    HRT_TOUCHED_CAPTURED,
    HRT_TOUCHED_LOOP,
    HRT_TOUCHED_LOOP_CORE,
    HRT_TOUCHED_COUNT,
} hrt_touched_kind;

typedef struct {
    const void *_Nullable address;
    size_t bytes;
} hrt_touched_memory;

// Allocated together with its thread, even if this code is in a shared library: in the other models
// of ELF's thread-local storage the first access of a thread may allocate (Drepper 2013, 3.4).
extern _Thread_local hrt_touched_memory hrt_touched[HRT_TOUCHED_COUNT]
    __attribute__((tls_model("initial-exec")));

#ifdef __clang__
// clang assumes that an access to a thread-local variable may allocate.
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wunknown-warning-option"
#pragma clang diagnostic ignored "-Wfunction-effects"
#endif
static inline void hrt_note_touched(hrt_touched_kind kind, const void *_Nullable address,
                                    size_t bytes) HRT_NONBLOCKING {
    hrt_touched[kind] = (hrt_touched_memory){address, bytes};
}
#ifdef __clang__
#pragma clang diagnostic pop
#endif

// Prefetches what a fire on this thread will touch: the noted memory, the stack, and the code of
// all fires. For a thread that has just woken.
void hrt_prefetch_fire(void);

// Prefetches the code of one of the other sections, too.
#define HRT_PREFETCH_CODE(name) hrt_prefetch_code(__start_##name, __stop_##name)
void hrt_prefetch_code(const char *_Nullable start, const char *_Nullable stop);

#endif
