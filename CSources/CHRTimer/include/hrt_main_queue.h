#ifndef HRT_MAIN_QUEUE_H
#define HRT_MAIN_QUEUE_H

// libdispatch's main queue, for a loop on the main thread. It is served by the functions that
// libdispatch has for Foundation's run loop on Linux ("4CF", src/queue.c of
// swift-corelibs-libdispatch), looked up at run time. A process without libdispatch has no main
// queue to serve.

// 0 if work can be submitted to the main queue. -ENOTSUP in a child of fork(2) whose parent had
// libdispatch's threads, where it no longer works. -EMFILE, -ENFILE and -ENOMEM if no descriptor is
// left, where libdispatch would end the process. Any thread.
int hrt_main_queue_check(void);

// The descriptor that is readable while the main queue has work for the main thread. It belongs to
// libdispatch. Fails as the check does; also with -ENOTSUP without libdispatch and after the main
// thread has ended. Any thread.
int hrt_main_queue_descriptor(void);

// Reads that descriptor, which libdispatch does not do, and runs the main queue's blocks; blocks
// submitted meanwhile make the descriptor readable again. Inside a block of the main queue it runs
// nothing. On the main thread alone, as long as the main queue is bound to that thread: until the
// thread ends, by pthread_exit(3) or dispatch_main(3).
void hrt_main_queue_drain(int fd);

#endif
