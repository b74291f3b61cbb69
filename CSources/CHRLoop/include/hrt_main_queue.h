// SPDX-License-Identifier: Apache-2.0
#ifndef HRT_MAIN_QUEUE_H
#define HRT_MAIN_QUEUE_H

#ifdef __cplusplus
extern "C" {
#endif

// Serves libdispatch's main queue from a loop on the main thread, by the functions that libdispatch
// has for Foundation's run loop on Linux ("4CF", src/queue.c of swift-corelibs-libdispatch). They
// are looked up at run time. A process without libdispatch has no main queue to serve.

// Returns 0 if work can be submitted to the main queue. Returns -ENOTSUP in a child of fork(2)
// whose parent had libdispatch's threads: there the main queue no longer works. Returns -EMFILE,
// -ENFILE or -ENOMEM if no descriptor is left: libdispatch would then end the process. Any thread.
int hrt_main_queue_check(void);

// Returns the descriptor that is readable while the main queue has work for the main thread. It
// belongs to libdispatch. Fails like hrt_main_queue_check; also with -ENOTSUP without libdispatch
// and after the main thread has ended. Any thread.
int hrt_main_queue_descriptor(void);

// Reads that descriptor, which libdispatch does not do, and runs the main queue's blocks; blocks
// submitted meanwhile make the descriptor readable again. Inside a block of the main queue it runs
// nothing. Must be called on the main thread, as long as the main queue is bound to that thread:
// until the thread ends, by pthread_exit(3) or dispatch_main(3).
void hrt_main_queue_drain(int fd);

#ifdef __cplusplus
}
#endif

#endif
