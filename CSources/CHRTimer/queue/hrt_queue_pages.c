#ifdef __linux__
// Zeroed memory straight from the system: pages never written cost nothing, arrays grow without
// being copied, and resident pages can be counted. A page may have 4, 16 or 64 KiB. mmap(2),
// mremap(2), mincore(2)
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../hrt_status.h"
#include "hrt_queue_pages.h"

enum { PAGES_PER_LOOK = 1024 };

// Tests may define the page size: any multiple of the kernel's works.
static size_t page_bytes(void) {
#ifdef HRT_PAGE_BYTES
    return HRT_PAGE_BYTES;
#else
    return (size_t)sysconf(_SC_PAGESIZE);
#endif
}

void *hrt_pages_map(size_t bytes) {
    void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return start == MAP_FAILED ? NULL : start;
}

// Maps zeroed pages at the address. Returns 0 or a negative errno.
static int map_at(void *start, size_t bytes) {
    return HRT_DONE(mmap(start, bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED);
}

// Maps memory whose address and length are multiples of `alignment`, a power of two and no less
// than a page.
static void *map_aligned(size_t bytes, size_t alignment) {
    char *start = hrt_pages_map(bytes + alignment);
    if (start == NULL) return NULL;
    size_t before = -(uintptr_t)start & (alignment - 1);
    if (before > 0) munmap(start, before);
    munmap(start + before + bytes, alignment - before);
    return start + before;
}

// Extends the mapping in place, if the addresses after it are free.
bool hrt_pages_extend(void *start, size_t old_bytes, size_t bytes) {
    if (start == NULL) return false;
    char *end = (char *)start + old_bytes;
    void *added = mmap(end, bytes - old_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (added == end) return true;
    if (added != MAP_FAILED)
        munmap(added, bytes - old_bytes);  // before Linux 4.17 the address is only a hint
    return false;
}

// Moves the mapping to a longer one elsewhere: page tables move, bytes are not copied. Both lengths
// are multiples of `alignment`. mremap(2) can fail because the process has too many mappings. If
// so, it fails at the first piece, because the others need no more mappings than that one. By then
// it may have unmapped the piece's destination.
//
// As soon as a piece has moved, another thread may map memory at its old address. So the code
// unmaps only addresses that are certainly still its own.
void *hrt_pages_grow_aligned(void *start, size_t old_bytes, size_t bytes, size_t alignment) {
    char *grown = map_aligned(bytes, alignment);
    if (grown == NULL) return NULL;
    for (size_t offset = 0; offset < old_bytes; offset += alignment) {
        char *piece = (char *)start + offset;
        void *moved =
            mremap(piece, alignment, alignment, MREMAP_MAYMOVE | MREMAP_FIXED, grown + offset);
        if (moved != MAP_FAILED) continue;
        if (offset == 0) {
            munmap(grown + alignment, bytes - alignment);
            return NULL;
        }
        hrt_must("mmap", map_at(grown + offset, alignment));
        memcpy(grown + offset, piece, alignment);
        munmap(piece, alignment);
    }
    return grown;
}

// The range reads as zeroes afterwards. Maps new pages, because MADV_DONTNEED fails on locked
// memory: madvise(2).
void hrt_pages_give_back(void *start, size_t bytes) {
    if (map_at(start, bytes) != 0) memset(start, 0, bytes);
}

void *hrt_pages_resize(void *start, size_t old_bytes, size_t bytes) {
    if (start == NULL) return hrt_pages_map(bytes);
    void *moved = mremap(start, old_bytes, bytes, MREMAP_MAYMOVE);
    return moved == MAP_FAILED ? NULL : moved;
}

void hrt_pages_unmap(void *start, size_t bytes) {
    if (start != NULL) munmap(start, bytes);
}

void hrt_pages_give_back_within(void *start, void *end) {
    size_t page = page_bytes();
    uintptr_t first = ((uintptr_t)start + page - 1) & ~(page - 1);
    uintptr_t last = (uintptr_t)end & ~(page - 1);
    if (first < last) hrt_pages_give_back((void *)first, last - first);
}

// mincore(2) counts in the kernel's pages, not in pages of the size that a test defines.
size_t hrt_pages_resident(const void *start, size_t bytes) {
    if (start == NULL) return 0;
    size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char is_resident[PAGES_PER_LOOK];
    size_t pages = (bytes + page_size - 1) / page_size;
    size_t resident = 0;
    for (size_t page = 0; page < pages; page += PAGES_PER_LOOK) {
        size_t count = pages - page < PAGES_PER_LOOK ? pages - page : PAGES_PER_LOOK;
        if (mincore((char *)start + page * page_size, count * page_size, is_resident) != 0)
            return bytes;
        for (size_t i = 0; i < count; i++) resident += is_resident[i] & 1;
    }
    return resident * page_size;
}
#endif
