#ifndef CENQUEUEHOOK_H
#define CENQUEUEHOOK_H

#include <stdbool.h>
#include <stdint.h>

// The hook of Swift's runtime that every job passes which has no executor of its own: the first
// part of `Task {}`, and what follows a suspension. Process-wide. (swift/ABI/Executor.h,
// swift_task_enqueueGlobal_hook)

// Takes a job, which runs elsewhere then, or leaves it to the runtime. Any thread.
typedef bool (*ceh_taker)(void *_Nonnull job);

// False if the runtime has no such hook. What was hooked before goes on, for jobs that are not
// taken. One thread at a time, as ceh_remove.
bool ceh_install(ceh_taker _Nonnull taker);

// Hooks itself in again if nothing is: swift-async-algorithms' diagrams, for one, hook themselves
// in and leave nothing there at their end. Does nothing before ceh_install and after ceh_remove.
void ceh_keep(void);

// Puts back what was hooked before, unless somebody else has hooked itself in since.
void ceh_remove(void);

// Gives a job to the runtime's own executor.
void ceh_enqueue(void *_Nonnull job);

// The number of the job's task, which no other task of the process has; 0 if it is no task's.
uint64_t ceh_task_of(void *_Nonnull job);

#endif
