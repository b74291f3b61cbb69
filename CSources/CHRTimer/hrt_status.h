#ifndef HRT_STATUS_H
#define HRT_STATUS_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// For an errno that only a bug of ours can cause: says which operation failed, and aborts. Going on
// would mean waiting on a descriptor that is somebody else's by now.
static inline _Noreturn void hrt_impossible(const char *operation, int error) {
    fprintf(stderr, "CHRTimer: impossible failure of %s: %s\n", operation, strerror(error));
    abort();
}

#endif
