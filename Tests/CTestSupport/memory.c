#include <malloc.h>

#include "CTestSupport.h"

void ctest_give_memory_back(void) { malloc_trim(0); }
