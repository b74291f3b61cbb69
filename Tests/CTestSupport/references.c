// SPDX-License-Identifier: Apache-2.0
#include "CTestSupport.h"

#include <stdatomic.h>

// What swift_retain calls once it is told to (swift/Runtime/InstrumentsSupport.h). The flag is
// weak, because earlier runtimes have none and always call the hook.
extern void *(*_swift_retain)(void *object);
#define FLAG _swift_enableSwizzlingOfAllocationAndRefCountingFunctions_forInstrumentsOnly
__attribute__((weak)) extern bool FLAG;

static void *(*retain)(void *);
static _Atomic int64_t retained;

static void *counting_retain(void *object) {
    atomic_fetch_add(&retained, 1);
    return retain(object);
}

static void count(bool is_on) {
    if (is_on) retain = _swift_retain;
    _swift_retain = is_on ? counting_retain : retain;
    if (&FLAG != NULL) FLAG = is_on;
}

enum { FIRST = 10, LAST = 110 };
static int fires;
static _Atomic int64_t between;

void ctest_begin_fires(void) {
    fires = 0;
    atomic_store(&retained, 0);
    atomic_store(&between, -1);
}

void ctest_note_fire(void) {
    fires++;
    // Only meanwhile: on its way to the hook the runtime takes a short string for an object.
    if (fires == FIRST) count(true);
    if (fires != LAST) return;
    count(false);
    atomic_store(&between, atomic_load(&retained));
}

int64_t ctest_references_of_fires(void) { return atomic_load(&between); }
