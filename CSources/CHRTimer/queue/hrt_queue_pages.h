// Pages of memory from the kernel.
#ifndef HRT_QUEUE_PAGES_H
#define HRT_QUEUE_PAGES_H

#include <stdbool.h>
#include <stddef.h>

// The functions that return a pointer return NULL if there is no memory, and then leave the old
// mapping as it was.
void *hrt_pages_map(size_t bytes);
bool hrt_pages_extend(void *start, size_t old_bytes, size_t bytes);
void *hrt_pages_grow_aligned(void *start, size_t old_bytes, size_t bytes, size_t alignment);
void hrt_pages_give_back(void *start, size_t bytes);
void *hrt_pages_resize(void *start, size_t old_bytes, size_t bytes);
void hrt_pages_unmap(void *start, size_t bytes);
size_t hrt_pages_resident(const void *start, size_t bytes);

// Gives back the pages that lie wholly within start ... end: they read as zeroes afterwards.
void hrt_pages_give_back_within(void *start, void *end);

#endif
