// SPDX-License-Identifier: Apache-2.0
#include <malloc.h>

#include "CTestSupport.h"

void ctest_give_memory_back(void) { malloc_trim(0); }

size_t ctest_heap_bytes(void *object) { return malloc_usable_size(object); }

size_t ctest_heap_used(void) {
#if __GLIBC_PREREQ(2, 33)
    return mallinfo2().uordblks;
#else
    return (size_t)(unsigned)mallinfo().uordblks;  // Amazon Linux 2
#endif
}
