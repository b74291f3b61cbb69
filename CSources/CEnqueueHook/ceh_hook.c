// SPDX-License-Identifier: Apache-2.0
#ifdef __linux__
#include "include/CEnqueueHook.h"

#include <stdatomic.h>
#include <stddef.h>

#define SWIFT_CALL __attribute__((swiftcall))

typedef SWIFT_CALL void (*original_function)(void *job);
typedef SWIFT_CALL void (*hook_function)(void *job, original_function original);

// From libswift_Concurrency. Weak, so that a program starts with a runtime that lacks them.
extern hook_function swift_task_enqueueGlobal_hook __attribute__((weak));
SWIFT_CALL void swift_task_enqueueGlobal(void *job) __attribute__((weak));
SWIFT_CALL uint64_t swift_task_getJobTaskId(void *job) __attribute__((weak));

// With HRTIMER_NO_ENQUEUE_HOOK the library is built as for a runtime without the hook.
static bool has_hook(void) {
#ifdef HRTIMER_NO_ENQUEUE_HOOK
    return false;
#else
    return &swift_task_enqueueGlobal_hook != NULL && swift_task_enqueueGlobal != NULL;
#endif
}

static atomic_bool has_wrong_numbers;

static _Atomic(ceh_taker) present_taker;
static _Atomic(hook_function) former_hook;

static SWIFT_CALL void hook(void *job, original_function original) {
    ceh_taker taker = atomic_load(&present_taker);
    if (taker != NULL && taker(job)) return;
    hook_function former = atomic_load(&former_hook);
    if (former != NULL) {
        former(job, original);
    } else {
        original(job);
    }
}

bool ceh_install(ceh_taker taker) {
    if (!has_hook()) return false;
    atomic_store(&present_taker, taker);
    if (swift_task_enqueueGlobal_hook != hook) {
        atomic_store(&former_hook, swift_task_enqueueGlobal_hook);
        __atomic_store_n(&swift_task_enqueueGlobal_hook, hook, __ATOMIC_RELEASE);
    }
    return true;
}

void ceh_keep(void) {
    if (!has_hook() || atomic_load(&present_taker) == NULL) return;
    hook_function none = NULL;
    if (__atomic_load_n(&swift_task_enqueueGlobal_hook, __ATOMIC_RELAXED) != NULL) return;
    atomic_store(&former_hook, NULL);
    __atomic_compare_exchange_n(&swift_task_enqueueGlobal_hook, &none, hook, false,
                                __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

void ceh_remove(void) {
    atomic_store(&present_taker, NULL);
    if (!has_hook() || swift_task_enqueueGlobal_hook != hook) return;
    __atomic_store_n(&swift_task_enqueueGlobal_hook, atomic_load(&former_hook), __ATOMIC_RELEASE);
}

void ceh_enqueue(void *job) { swift_task_enqueueGlobal(job); }

uint64_t ceh_task_of(void *job) {
#ifndef HRTIMER_NO_ENQUEUE_HOOK
    if (swift_task_getJobTaskId != NULL && !atomic_load(&has_wrong_numbers)) {
        return swift_task_getJobTaskId(job);
    }
#endif
    return (uintptr_t)job;
}

void ceh_distrust_numbers(void) { atomic_store(&has_wrong_numbers, true); }
#endif
