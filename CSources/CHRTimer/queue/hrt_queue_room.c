#ifdef __linux__
// Arrays with an element for every node. They grow with the slab, and give memory back where the
// slab's blocks do.
#include "hrt_queue_room.h"

#include <errno.h>

#include "hrt_queue_pages.h"

static size_t room_bytes(uint32_t blocks, size_t bytes_per_node) {
    return (size_t)blocks * HRT_BLOCK_NODES * bytes_per_node;
}

int hrt_room_reserve(struct hrt_room *room, uint32_t blocks, size_t bytes_per_node) {
    if (blocks <= room->blocks) return 0;
    size_t old_bytes = room_bytes(room->blocks, bytes_per_node);
    void *start = hrt_pages_resize(room->start, old_bytes, room_bytes(blocks, bytes_per_node));
    if (start == NULL) return -ENOMEM;
    room->start = start;
    room->blocks = blocks;
    return 0;
}

void hrt_room_release(struct hrt_room *room, size_t bytes_per_node) {
    hrt_pages_unmap(room->start, room_bytes(room->blocks, bytes_per_node));
}

size_t hrt_room_bytes(const struct hrt_room *room, size_t bytes_per_node) {
    return hrt_pages_resident(room->start, room_bytes(room->blocks, bytes_per_node));
}

void hrt_room_give_back(struct hrt_room *room, size_t bytes_per_node, uint32_t first,
                        uint32_t end) {
    char *start = room->start;
    if (start != NULL)
        hrt_pages_give_back_within(start + first * bytes_per_node, start + end * bytes_per_node);
}
#endif
