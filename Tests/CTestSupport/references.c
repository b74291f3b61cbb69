#include "CTestSupport.h"

#include <stdatomic.h>

// What swift_retain calls once it is told to (swift/Runtime/InstrumentsSupport.h). The flag is
// weak, because earlier runtimes have none and always call the hook.
extern void *(*_swift_retain)(void *object);
#define FLAG _swift_enableSwizzlingOfAllocationAndRefCountingFunctions_forInstrumentsOnly
__attribute__((weak)) extern bool FLAG;

static void *(*retain)(void *object);
static _Thread_local int64_t retained;

static void *counting_retain(void *object) {
    retained++;
    return retain(object);
}

void ctest_count_references(void) {
    retain = _swift_retain;
    _swift_retain = counting_retain;
    if (&FLAG != NULL) FLAG = true;
}

enum { FIRST = 10, LAST = 110 };
static int fires;
static int64_t retained_at_first;
static _Atomic int64_t between;

void ctest_begin_fires(void) {
    fires = 0;
    atomic_store(&between, -1);
}

void ctest_note_fire(void) {
    fires++;
    if (fires == FIRST) retained_at_first = retained;
    if (fires == LAST) atomic_store(&between, retained - retained_at_first);
}

int64_t ctest_references_of_fires(void) { return atomic_load(&between); }
