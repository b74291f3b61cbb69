#ifndef HRT_MAIN_QUEUE_H
#define HRT_MAIN_QUEUE_H

// libdispatch's main queue, for a loop on the main thread: by the functions that libdispatch has
// for Foundation's run loop on Linux ("4CF", src/queue.c of swift-corelibs-libdispatch), looked up
// at run time. A process without libdispatch has no main queue to serve.

// 0 if something can be posted onto the main queue: -ENOTSUP in a child of fork(2) whose parent had
// threads of libdispatch's, where it works no more. -EMFILE, -ENFILE and -ENOMEM if there is no
// room for a descriptor, for want of which libdispatch would end the process. Any thread.
int hrt_main_queue_check(void);

// The descriptor that is readable while the main queue has something to run on the main thread. It
// belongs to libdispatch. Fails as the check does, and with -ENOTSUP without libdispatch, and once
// the main thread has ended. Any thread.
int hrt_main_queue_descriptor(void);

// Reads that descriptor, which libdispatch does not do, and runs what the main queue holds; what
// comes meanwhile makes the descriptor readable again. Inside a block of the main queue it reads
// and runs nothing. The main thread alone, as long as the main queue is that thread's: until it
// ends, by pthread_exit(3) or dispatch_main(3).
void hrt_main_queue_drain(int fd);

#endif
