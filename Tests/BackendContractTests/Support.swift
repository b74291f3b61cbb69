import CBench
import Glibc

/// Under Thread or Address Sanitizer, which have a malloc of their own.
let isSanitized = !cbench_counts_allocations()

func join(_ thread: pthread_t) {
    pthread_join(thread, nil)
}
