// SPDX-License-Identifier: Apache-2.0
#ifdef __linux__
// The slab. A slot's number says in which chunk its node and its record lie, so that they never
// move. Slots come from the lowest chunk with a free one: after a peak the high chunks become
// empty, and their memory is given back.
#include "hrt_queue_slab.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

// Memory from the system.

// malloc(3) gives back only the end of its heap, and clears what it gives out. mmap(2)
void *hrt_slab_map(size_t bytes) {
    void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return start == MAP_FAILED ? NULL : start;
}

void hrt_slab_unmap(void *start, size_t bytes) {
    if (start != NULL) munmap(start, bytes);
}

// Makes an array longer or shorter; it may move. Makes a first one if it is NULL. The contents
// stay, and what is new is zeroed. NULL if there is no memory; the array is then as it was.
// mremap(2)
static void *resize(void *start, size_t old_bytes, size_t bytes) {
    if (start == NULL) return hrt_slab_map(bytes);
    void *moved = mremap(start, old_bytes, bytes, MREMAP_MAYMOVE);
    return moved == MAP_FAILED ? NULL : moved;
}

// Tests may define the page size: any multiple of the kernel's works.
static size_t page_bytes(void) {
#ifdef HRT_PAGE_BYTES
    return HRT_PAGE_BYTES;
#else
    return (size_t)sysconf(_SC_PAGESIZE);
#endif
}

// It fails for locked memory, which is to stay: madvise(2).
void hrt_slab_give_back_pages(void *start, void *end) {
    size_t page = page_bytes();
    uintptr_t first = ((uintptr_t)start + page - 1) & ~(page - 1);
    uintptr_t last = (uintptr_t)end & ~(page - 1);
    if (first < last) madvise((void *)first, last - first, MADV_DONTNEED);
}

// mincore(2) counts in the kernel's pages, not in pages of the size that a test defines.
size_t hrt_slab_resident(const void *start, size_t bytes) {
    enum { PAGES_PER_LOOK = 1024 };
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

// The arrays beside the nodes.

static size_t room_bytes(uint32_t chunks, size_t bytes_per_node) {
    return (size_t)chunks * HRT_CHUNK_NODES * bytes_per_node;
}

static int resize_room(struct hrt_room *room, uint32_t chunks, size_t bytes_per_node) {
    if (chunks == room->chunks) return 0;
    void *start = resize(room->start, room_bytes(room->chunks, bytes_per_node),
                         room_bytes(chunks, bytes_per_node));
    if (start == NULL) return -ENOMEM;
    room->start = start;
    room->chunks = chunks;
    return 0;
}

static void free_room(struct hrt_room *room, size_t bytes_per_node) {
    hrt_slab_unmap(room->start, room_bytes(room->chunks, bytes_per_node));
    *room = (struct hrt_room){0};
}

static size_t resident_of_room(const struct hrt_room *room, size_t bytes_per_node) {
    return hrt_slab_resident(room->start, room_bytes(room->chunks, bytes_per_node));
}

int hrt_slab_resize_heaps(struct hrt_class *class, uint32_t chunks) {
    int status = resize_room(&class->heap, chunks, sizeof(uint32_t));
    if (status != 0 || class->windows == NULL) return status;
    return resize_room(&class->windows->heap, chunks, sizeof(struct hrt_window_end));
}

void hrt_slab_trim_heaps(struct hrt_class *class, uint32_t chunks) {
    hrt_slab_resize_heaps(class, chunks);
    uint32_t *indices = class->heap.indices;
    hrt_slab_give_back_pages(indices + class->heap_count,
                             indices + class->heap.chunks * HRT_CHUNK_NODES);
    if (class->windows == NULL) return;
    struct hrt_window_end *ends = class->windows->heap.ends;
    hrt_slab_give_back_pages(ends + class->windows->count,
                             ends + class->windows->heap.chunks * HRT_CHUNK_NODES);
}

void hrt_slab_free_heaps(struct hrt_class *class) {
    free_room(&class->heap, sizeof(uint32_t));
    if (class->windows != NULL) free_room(&class->windows->heap, sizeof(struct hrt_window_end));
}

size_t hrt_slab_heap_bytes(const struct hrt_class *class) {
    size_t bytes = resident_of_room(&class->heap, sizeof(uint32_t));
    if (class->windows == NULL) return bytes;
    return bytes + resident_of_room(&class->windows->heap, sizeof(struct hrt_window_end));
}

// Chunks.

static size_t table_bytes(uint32_t count) { return count * sizeof(struct hrt_chunk); }

// Makes the table of chunks long enough for that number.
static int extend_table(struct hrt_queue *queue, uint32_t number) {
    enum { FIRST_COUNT = 128 };  // a page
    if (number < queue->chunk_count) return 0;
    uint32_t count = queue->chunk_count == 0 ? FIRST_COUNT : 2 * queue->chunk_count;
    void *chunks = resize(queue->chunks, table_bytes(queue->chunk_count), table_bytes(count));
    if (chunks == NULL) return -ENOMEM;
    queue->chunks = chunks;
    queue->chunk_count = count;
    return 0;
}

static size_t chunk_bytes(const struct hrt_queue *queue) {
    return sizeof(struct hrt_chunk_memory) + HRT_CHUNK_NODES * queue->record_bytes;
}

static int map_chunk(struct hrt_queue *queue, uint32_t number) {
    int status = extend_table(queue, number);
    for (unsigned class = 0; status == 0 && class < HRT_CLASSES; class += 1) {
        if (queue->classes[class] != NULL)
            status = hrt_slab_resize_heaps(queue->classes[class], queue->mapped_count + 1);
    }
    if (status != 0) return status;
    struct hrt_chunk *chunk = &queue->chunks[number];
    chunk->memory = hrt_slab_map(chunk_bytes(queue));
    if (chunk->memory == NULL) return -ENOMEM;
    chunk->used = number == 0 ? 1 : 0;  // node 0 does not exist
    queue->mapped_count++;
    return 0;
}

static bool has_memory(const struct hrt_queue *queue, uint32_t number) {
    return number < queue->chunk_count && queue->chunks[number].memory != NULL;
}

static bool is_full(const struct hrt_chunk *chunk) {
    return chunk->first_free == 0 && chunk->used == HRT_CHUNK_NODES;
}

// Notes that the lowest chunk with room has become full, and finds the next one. A word stands for
// 131,072 slots, so that the search is short.
static void find_room(struct hrt_queue *queue) {
    uint32_t word = queue->room_chunk / 64;
    queue->full[word] |= UINT64_C(1) << (queue->room_chunk % 64);
    while (word < HRT_CHUNKS / 64 && queue->full[word] == UINT64_MAX) word++;
    queue->room_chunk = word * 64;
    if (word < HRT_CHUNKS / 64) queue->room_chunk += (uint32_t)__builtin_ctzll(~queue->full[word]);
}

int hrt_slab_take_from_chunk(struct hrt_queue *queue) {
    uint32_t number = queue->room_chunk;
    if (!has_memory(queue, number)) {
        int status = number == HRT_CHUNKS ? -ENOSPC : map_chunk(queue, number);
        if (status != 0) return status;
    }
    struct hrt_chunk *chunk = &queue->chunks[number];
    bool is_new = chunk->first_free == 0;
    uint32_t index = is_new ? number * HRT_CHUNK_NODES + chunk->used++ : chunk->first_free;
    struct hrt_node *node = hrt_node_at(queue, index);
    if (is_new) {
        node->generation = chunk->generation_floor;
        node->place = HRT_NOWHERE;
    } else {
        chunk->first_free = (uint32_t)node->sequence;
        node->sequence = 0;
    }
    chunk->live++;
    if (is_full(chunk)) find_room(queue);
    return (int)index;
}

void hrt_slab_give_to_chunk(struct hrt_queue *queue, uint32_t index) HRT_NONBLOCKING {
    uint32_t number = index >> HRT_CHUNK_BITS;
    struct hrt_chunk *chunk = &queue->chunks[number];
    if (is_full(chunk)) {
        queue->full[number / 64] &= ~(UINT64_C(1) << (number % 64));
        if (number < queue->room_chunk) queue->room_chunk = number;
    }
    hrt_node_at(queue, index)->sequence = chunk->first_free;
    chunk->first_free = index;
    if (--chunk->live != 0 || number == 0 || chunk->is_listed) return;
    chunk->is_listed = true;
    chunk->next_empty = queue->first_empty;
    queue->first_empty = number;
}

uint32_t hrt_slab_take_listed_chunk(struct hrt_queue *queue) {
    uint32_t number = queue->first_empty;
    queue->first_empty = queue->chunks[number].next_empty;
    queue->chunks[number].is_listed = false;
    return number;
}

// Raises the chunk's generation floor, so that no token of the nodes matches once their slots are
// used again.
void hrt_slab_unmap_chunk(struct hrt_queue *queue, uint32_t number) {
    struct hrt_chunk *chunk = &queue->chunks[number];
    uint32_t floor = chunk->generation_floor;
    for (uint32_t i = 0; i < chunk->used; i++) {
        if (chunk->memory->nodes[i].generation > floor) floor = chunk->memory->nodes[i].generation;
    }
    // Fails if the process has as many mappings as it may have. The chunk then stays as it is.
    if (munmap(chunk->memory, chunk_bytes(queue)) != 0) return;
    *chunk = (struct hrt_chunk){.generation_floor = floor};
    queue->mapped_count--;
}

void hrt_slab_free(struct hrt_queue *queue) {
    for (uint32_t number = 0; number < queue->chunk_count; number++)
        hrt_slab_unmap(queue->chunks[number].memory, chunk_bytes(queue));
    hrt_slab_unmap(queue->chunks, table_bytes(queue->chunk_count));
}

size_t hrt_slab_bytes(const struct hrt_queue *queue) {
    size_t bytes = hrt_slab_resident(queue->chunks, table_bytes(queue->chunk_count));
    for (uint32_t number = 0; number < queue->chunk_count; number++)
        bytes += hrt_slab_resident(queue->chunks[number].memory, chunk_bytes(queue));
    return bytes;
}
#endif
