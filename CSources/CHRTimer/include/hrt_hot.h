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

// Mark functions that only an engine's fires run, only a loop's, only precise fires, only fires of
// sources, or only fires with too many timers for the queue's near tier. A thread prefetches only
// the sections it needs, because a line that is not needed takes just as long to fetch.
#define HRT_HOT_ENGINE __attribute__((section("hrt_hot_engine")))
#define HRT_HOT_LOOP __attribute__((section("hrt_hot_loop")))
#define HRT_HOT_PRECISE __attribute__((section("hrt_hot_precise")))
#define HRT_HOT_WHEEL __attribute__((section("hrt_hot_wheel")))

// Marks words that every fire reads and hardly anything writes: they lie together.
#define HRT_HOT_DATA __attribute__((section("hrt_hot_data")))

// The linker defines these symbols for a section whose name is an identifier (ld(1),
// "__start_SECNAME"). Not weak: the address of a weak symbol is read from a table, which is one
// more page. The C core has something in each section, so that no program lacks one.
#define HRT_SECTION(name)                                                     \
    extern const char __start_##name[] __attribute__((visibility("hidden"))); \
    extern const char __stop_##name[] __attribute__((visibility("hidden")));
HRT_SECTION(hrt_hot)
HRT_SECTION(hrt_hot_engine)
HRT_SECTION(hrt_hot_loop)
HRT_SECTION(hrt_hot_precise)
HRT_SECTION(hrt_hot_source)
HRT_SECTION(hrt_hot_wheel)
HRT_SECTION(hrt_hot_data)

// The memory that the thread's latest fire touched: with few timers the next fire touches it too.
// The addresses are only prefetched and never read: the memory may be gone by then.
typedef enum {
    HRT_TOUCHED_FIRE,
    HRT_TOUCHED_STATE,
    HRT_TOUCHED_QUEUE,
    HRT_TOUCHED_WHEEL,
    HRT_TOUCHED_NODE,
    HRT_TOUCHED_RECORD,
    HRT_TOUCHED_BATCH,
    HRT_TOUCHED_COMMIT,
    HRT_TOUCHED_LATENESS,
    HRT_TOUCHED_LATENESS_SLOT,
    HRT_TOUCHED_OWNER,
    HRT_TOUCHED_OWNER_CALLS,
    HRT_TOUCHED_OWNER_CODE,
    HRT_TOUCHED_SOURCE_CODE,
    HRT_TOUCHED_WHEEL_CODE,
    HRT_TOUCHED_CODE,
    HRT_TOUCHED_CAPTURED,
    HRT_TOUCHED_ENGINE,
    HRT_TOUCHED_WAKE_LATENCY,
    HRT_TOUCHED_WAKE_COUNTS,
    HRT_TOUCHED_WAKE_SLOT,
    HRT_TOUCHED_LOOP,
    HRT_TOUCHED_LOOP_CORE,
    // Code and data of other libraries: the same for all fires. The clock is the first thing that a
    // woken thread reads. Nothing of the Swift runtime: a plain fire counts no reference.
    HRT_TOUCHED_HOT_DATA,    // where the function that reads it is found, and other such words
    HRT_TOUCHED_CLOCK_CODE,  // that function, most often the vDSO's
    HRT_TOUCHED_CLOCK_DATA,  // what the vDSO reads
    HRT_TOUCHED_COUNT,
} hrt_touched_kind;

typedef struct {
    const void *_Nullable address;
    size_t bytes;
} hrt_touched_memory;

// In a program it is allocated together with its thread: the linker turns each access into one at a
// fixed offset. In a shared library, such as a plugin, the first access of a thread allocates it.
// The model "initial-exec" would avoid that, but then the fourth plugin with a copy of this library
// could not be loaded, as a process keeps only so much room at fixed offsets (Drepper 2013, 4.2;
// Tests/Plugins).
extern _Thread_local hrt_touched_memory hrt_touched[HRT_TOUCHED_COUNT];

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

// Notes that the fire ran the code of the section for sources.
static inline void hrt_note_source_code(void) HRT_NONBLOCKING {
    hrt_note_touched(HRT_TOUCHED_SOURCE_CODE, __start_hrt_hot_source,
                     (size_t)(__stop_hrt_hot_source - __start_hrt_hot_source));
}

// Returns where the calling thread notes what it touches. To be called before a wait: what comes
// after it then reads no table to find the thread's memory, which is a page more.
const hrt_touched_memory *_Nonnull hrt_touched_here(void);

// Prefetches the code of one more section.
#define HRT_PREFETCH_CODE(name) \
    hrt_prefetch_read(__start_##name, (size_t)(__stop_##name - __start_##name))

// Prefetches what a fire on this thread will touch: the noted memory, the stack, the code of all
// fires and that of one of the other sections. For a thread that has just woken: inline, since a
// call would be a page more.
#define HRT_PREFETCH_FIRE(name, touched) \
    hrt_prefetch_fire(__start_##name, __stop_##name, touched)
static inline __attribute__((always_inline)) void hrt_prefetch_fire(
    const char *_Nullable start, const char *_Nullable stop,
    const hrt_touched_memory *_Nonnull touched) {
    // The stack of a loop's pass and of an engine's turn, relative to the frame that wakes.
    enum { STACK_BELOW = 640, STACK_ABOVE = 896 };
    hrt_prefetch((const char *)__builtin_frame_address(0) - STACK_BELOW,
                 STACK_BELOW + STACK_ABOVE);
    // Data before code: the other order was slower in loops, and a little faster in engines.
    for (int kind = 0; kind < HRT_TOUCHED_COUNT; kind++)
        hrt_prefetch(touched[kind].address, touched[kind].bytes);
    hrt_prefetch_read(start, (size_t)(stop - start));
    hrt_prefetch_read(__start_hrt_hot, (size_t)(__stop_hrt_hot - __start_hrt_hot));
}

// Finds the vDSO's data, once in a process, for hrt_touched_here. Reads /proc/self/maps. Any
// thread.
void hrt_find_vdso(void);

#endif
