// Zeroed memory straight from the system: pages never written cost nothing, arrays grow without being copied, and what
// is resident can be counted. mmap(2), mremap(2), mincore(2)
#include <sys/mman.h>

#include "hrt_queue_parts.h"

enum { PAGE_BYTES = 4096, PAGES_PER_LOOK = 1024 };

void *hrt_pages_map(size_t bytes) {
    void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return start == MAP_FAILED ? NULL : start;
}

// Address and length are multiples of `alignment`, a power of two and no less than a page.
void *hrt_pages_map_aligned(size_t bytes, size_t alignment) {
    char *start = hrt_pages_map(bytes + alignment);
    if (start == NULL) return NULL;
    size_t before = -(uintptr_t)start & (alignment - 1);
    if (before > 0) munmap(start, before);
    munmap(start + before + bytes, alignment - before);
    return start + before;
}

void *hrt_pages_resize(void *start, size_t old_bytes, size_t bytes) {
    if (start == NULL) return hrt_pages_map(bytes);
    void *moved = mremap(start, old_bytes, bytes, MREMAP_MAYMOVE);
    return moved == MAP_FAILED ? NULL : moved;
}

void hrt_pages_unmap(void *start, size_t bytes) {
    if (start != NULL) munmap(start, bytes);
}

size_t hrt_pages_resident(const void *start, size_t bytes) {
    if (start == NULL) return 0;
    unsigned char is_resident[PAGES_PER_LOOK];
    size_t pages = (bytes + PAGE_BYTES - 1) / PAGE_BYTES;
    size_t resident = 0;
    for (size_t page = 0; page < pages; page += PAGES_PER_LOOK) {
        size_t count = pages - page < PAGES_PER_LOOK ? pages - page : PAGES_PER_LOOK;
        if (mincore((char *)start + page * PAGE_BYTES, count * PAGE_BYTES, is_resident) != 0) return bytes;
        for (size_t i = 0; i < count; i++) resident += is_resident[i] & 1;
    }
    return resident * PAGE_BYTES;
}
