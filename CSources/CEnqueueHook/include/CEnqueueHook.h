// SPDX-License-Identifier: Apache-2.0
#ifndef CENQUEUEHOOK_H
#define CENQUEUEHOOK_H

#include <stdbool.h>
#include <stdint.h>

// Only clang knows these.
#ifndef __clang__
#define _Nonnull
#define _Nullable
#endif

#ifdef __cplusplus
extern "C" {
#endif

// The hook of Swift's runtime through which every job without an executor of its own passes: the
// first part of `Task {}`, and each part after a suspension. Process-wide. (swift/ABI/Executor.h,
// swift_task_enqueueGlobal_hook)

// Returns true if it takes the job and runs it elsewhere, false to leave it to the runtime. Any
// thread.
typedef bool (*ceh_taker)(void *_Nonnull job);

// Installs the hook. Returns false if the runtime has no such hook. Whether the runtime calls it is
// for the caller to find out. A former hook gets the jobs that are not taken. Only one thread at a
// time may call this and ceh_remove.
bool ceh_install(ceh_taker _Nonnull taker);

// Installs the hook again if there is none. For example, the diagrams of swift-async-algorithms
// install a hook of their own and leave none at their end. Does nothing before ceh_install and
// after ceh_remove.
void ceh_keep(void);

// Restores the former hook, unless other code has installed one since.
void ceh_remove(void);

// Passes a job that the hook took to the runtime's own executor.
void ceh_enqueue(void *_Nonnull job);

// Returns the number of the job's task, unique in the process; 0 if the job belongs to no task. If
// the runtime gives no such numbers, returns the job's address, at which its task begins: unique as
// long as the task lives.
uint64_t ceh_task_of(void *_Nonnull job);

// Makes ceh_task_of return addresses from now on: the runtime's numbers were found to be wrong.
void ceh_distrust_numbers(void);

#ifdef __cplusplus
}
#endif

#endif
