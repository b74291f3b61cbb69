#ifdef __linux__
// The slab: one array of nodes, so that a node is found without a table. Its pages are touched only
// as it fills. When it is full it moves to twice the addresses by remapping: nothing is copied. The
// array consists of blocks, each with its own free list. Slots come from the lowest block with
// room, so that after a peak the high blocks empty and can be given back.
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "hrt_queue_pages.h"
#include "hrt_queue_slab.h"

enum {
    BLOCK_BYTES = HRT_BLOCK_NODES * sizeof(struct hrt_node),
    BLOCKS_OF_SMALL_PAGES = 8,
};

static size_t bytes_of(uint32_t blocks) { return (size_t)blocks * BLOCK_BYTES; }

static struct hrt_node *start_of(const struct hrt_queue *queue, uint32_t block) {
    return hrt_node_at(queue, block * HRT_BLOCK_NODES);
}

static bool has_memory(const struct hrt_queue *queue, uint32_t block) {
    return queue->blocks[block].used != 0;
}

static bool grow(struct hrt_queue *queue, uint32_t blocks) {
    size_t old_bytes = bytes_of(queue->blocks_reserved);
    if (!hrt_pages_extend(queue->nodes, old_bytes, bytes_of(blocks))) {
        struct hrt_node *nodes =
            hrt_pages_grow_aligned(queue->nodes, old_bytes, bytes_of(blocks), BLOCK_BYTES);
        if (nodes == NULL) return false;
        queue->nodes = nodes;
    }
    queue->blocks_reserved = blocks;
    return true;
}

// Reserves twice the addresses, or only those needed where addresses are scarce (RLIMIT_AS).
static int reserve_nodes(struct hrt_queue *queue, uint32_t blocks) {
    if (blocks <= queue->blocks_reserved) return 0;
    uint32_t twice = 2 * queue->blocks_reserved;
    if (twice > blocks && grow(queue, twice)) return 0;
    return grow(queue, blocks) ? 0 : -ENOMEM;
}

static void set_blocks_used(struct hrt_queue *queue, uint32_t blocks) {
    queue->blocks_used = blocks;
    queue->slots = blocks * HRT_BLOCK_NODES - 1;  // node 0 does not exist
}

// A block has the size and alignment of a huge page: at 10^6 timers access to a random node would
// otherwise miss the TLB as well as the cache. But the first touch of a huge page makes all of it
// resident. So only a block that is a small part of the whole begins as a huge page. The first
// blocks may become huge once they are full. The kernel's khugepaged does that: MADV_COLLAPSE,
// which does it at once, takes milliseconds. madvise(2)
static void choose_pages(const struct hrt_queue *queue, uint32_t block) {
    madvise(start_of(queue, block), BLOCK_BYTES,
            block < BLOCKS_OF_SMALL_PAGES ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
}

static uint32_t lowest_without_memory(const struct hrt_queue *queue) {
    uint32_t block = 0;
    while (block < queue->blocks_used && has_memory(queue, block)) block++;
    return block;
}

uint32_t hrt_slab_blocks_wanted(const struct hrt_queue *queue) {
    if (queue->room_block != HRT_NO_BLOCK) return queue->blocks_used;
    uint32_t block = lowest_without_memory(queue);
    return block == queue->blocks_used && block < HRT_BLOCKS ? block + 1 : queue->blocks_used;
}

// Must be called only when no block has room, so that the new block is the lowest with room.
static int add_block(struct hrt_queue *queue) {
    uint32_t block = lowest_without_memory(queue);
    if (block == HRT_BLOCKS) return -ENOSPC;
    if (block == queue->blocks_used) {
        int status = reserve_nodes(queue, block + 1);
        if (status != 0) return status;
        set_blocks_used(queue, block + 1);
    }
    choose_pages(queue, block);
    queue->blocks[block].used = block == 0 ? 1 : 0;  // node 0 does not exist
    queue->room_block = block;
    return 0;
}

static bool has_room(const struct hrt_block *block) {
    return block->first_free != 0 || block->used < HRT_BLOCK_NODES;
}

// Finds the next block with room, after the lowest one has filled up; those below it are full. The
// search is short: a queue of millions of timers has few blocks.
static void find_room(struct hrt_queue *queue) {
    uint32_t block = queue->room_block + 1;
    while (block < queue->blocks_used &&
           !(has_memory(queue, block) && has_room(&queue->blocks[block])))
        block++;
    queue->room_block = block < queue->blocks_used ? block : HRT_NO_BLOCK;
}

int hrt_slab_refill(struct hrt_queue *queue) {
    if (queue->room_block == HRT_NO_BLOCK) {
        int status = add_block(queue);
        if (status != 0) return status;
    }
    struct hrt_block *block = &queue->blocks[queue->room_block];
    uint32_t index = block->first_free;
    if (index != 0) {
        struct hrt_node *node = hrt_node_at(queue, index);
        block->first_free = (uint32_t)node->sequence;
        node->sequence = 0;
    } else {
        index = queue->room_block * HRT_BLOCK_NODES + block->used++;
        struct hrt_node *node = hrt_node_at(queue, index);
        // A node that was cut off (hrt_slab_cut_first_block) may still have its old contents.
        node->sequence = 0;
        node->generation = block->generation_floor;
        node->place = HRT_NOWHERE;
        bool is_full = block->used == HRT_BLOCK_NODES;
        if (is_full) madvise(start_of(queue, queue->room_block), BLOCK_BYTES, MADV_HUGEPAGE);
    }
    block->live++;
    if (++queue->taken > queue->peak) queue->peak = queue->taken;
    queue->spares[queue->spare_count++] = index - 1;
    if (!has_room(block)) find_room(queue);
    return 0;
}

// Returns to their blocks the `count` nodes that have been spare longest.
void hrt_slab_spill(struct hrt_queue *queue, uint32_t count) HRT_NONBLOCKING {
    for (uint32_t i = 0; i < count; i++) {
        uint32_t index = queue->spares[i] + 1;
        uint32_t number = index >> HRT_BLOCK_BITS;
        struct hrt_block *block = &queue->blocks[number];
        hrt_node_at(queue, index)->sequence = block->first_free;
        block->first_free = index;
        block->live--;
        if (number < queue->room_block) queue->room_block = number;
    }
    queue->spare_count -= count;
    queue->taken -= count;
    memmove(queue->spares, queue->spares + count, queue->spare_count * sizeof queue->spares[0]);
}

bool hrt_slab_is_empty_block(const struct hrt_queue *queue, uint32_t block) {
    return block < queue->blocks_used && has_memory(queue, block) && queue->blocks[block].live == 0;
}

uint32_t hrt_slab_empty_block(const struct hrt_queue *queue) {
    for (uint32_t block = 1; block < queue->blocks_used; block++) {
        if (hrt_slab_is_empty_block(queue, block)) return block;
    }
    return 0;
}

// Raises the block's generation floor, so that no token of a node whose memory is given back
// matches once the slot is used again.
static void raise_floor(struct hrt_queue *queue, uint32_t number, uint32_t first) {
    struct hrt_block *block = &queue->blocks[number];
    for (uint32_t i = first; i < block->used; i++) {
        uint32_t generation = start_of(queue, number)[i].generation;
        if (generation > block->generation_floor) block->generation_floor = generation;
    }
}

// Gives back the block's memory. Its addresses stay mapped, so that a token of the block finds a
// generation of 0, until most blocks are unused.
void hrt_slab_give_back(struct hrt_queue *queue, uint32_t number) {
    raise_floor(queue, number, 0);
    hrt_pages_give_back(start_of(queue, number), BLOCK_BYTES);
    queue->blocks[number] =
        (struct hrt_block){.generation_floor = queue->blocks[number].generation_floor};
    if (queue->room_block == number) find_room(queue);
    uint32_t used = queue->blocks_used;
    while (used > 1 && !has_memory(queue, used - 1)) used--;
    set_blocks_used(queue, used);
    if (used <= queue->blocks_reserved / 4) {
        hrt_pages_unmap(start_of(queue, 2 * used), bytes_of(queue->blocks_reserved - 2 * used));
        queue->blocks_reserved = 2 * used;
    }
}

// There must be no spare nodes, so that every free node is in its block's list.
void hrt_slab_cut_first_block(struct hrt_queue *queue, uint32_t first) {
    struct hrt_block *block = &queue->blocks[0];
    raise_floor(queue, 0, first);
    block->used = first;
    block->first_free = 0;
    for (uint32_t index = first - 1; index > 0; index--) {
        struct hrt_node *node = hrt_node_at(queue, index);
        if ((node->generation & 1) != 0 || node->generation == HRT_RETIRED) continue;
        node->sequence = block->first_free;
        block->first_free = index;
    }
    queue->room_block = 0;
    choose_pages(queue, 0);
    hrt_pages_give_back_within(hrt_node_at(queue, first), start_of(queue, 1));
}

void hrt_slab_free(struct hrt_queue *queue) {
    hrt_pages_unmap(queue->nodes, bytes_of(queue->blocks_reserved));
}

size_t hrt_slab_bytes(const struct hrt_queue *queue) {
    size_t bytes = 0;
    for (uint32_t block = 0; block < queue->blocks_used; block++) {
        if (has_memory(queue, block))
            bytes += hrt_pages_resident(start_of(queue, block), BLOCK_BYTES);
    }
    return bytes;
}
#endif
