// SPDX-License-Identifier: Apache-2.0
// A runtime that does something else than ours: with one of the definitions below this is a library
// that is loaded before libswift_Concurrency (LD_PRELOAD) and takes a function's place. The runtime
// goes on calling its own. Needs clang, for Swift's calling convention.
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SWIFT_CALL __attribute__((swiftcall))
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#ifdef HOOK_IS_NOT_CALLED
void *swift_task_enqueueGlobal_hook;
#endif

#ifdef TASKS_HAVE_ONE_NUMBER
SWIFT_CALL uint64_t swift_task_getJobTaskId(void *job) {
    (void)job;
    return 7;
}
#endif

#ifdef NO_TASK_IS_IN_A_GROUP
SWIFT_CALL bool swift_task_hasTaskGroupStatusRecord(void) { return false; }
#endif

#ifdef EACH_TASK_IS_IN_A_GROUP
SWIFT_CALL bool swift_task_hasTaskGroupStatusRecord(void) { return true; }
#endif

#ifdef NO_TASK_HAS_LOCAL_VALUES
SWIFT_CALL void *swift_task_localValueGet(const void *key) {
    (void)key;
    return NULL;
}
#endif

// A record of another layout: the task holds it at an address beside the one that the caller gets.
#ifdef RECORDS_ARE_ELSEWHERE
SWIFT_CALL void *swift_task_addCancellationHandler(void *run, void *argument) {
    char *record = REAL(swift_task_addCancellationHandler)(run, argument);
    return record == NULL ? NULL : record + 8;
}
SWIFT_CALL void swift_task_removeCancellationHandler(void *record) {
    REAL(swift_task_removeCancellationHandler)((char *)record - 8);
}
#endif

// As a shield against cancellation may have it: the bit in the task says something else.
#ifdef NO_TASK_IS_CANCELLED
SWIFT_CALL bool swift_task_isCancelled(void *task) {
    (void)task;
    return false;
}
#endif
