// Arrays that accompany the nodes.
#ifndef HRT_QUEUE_ROOM_H
#define HRT_QUEUE_ROOM_H

#include <stddef.h>
#include <stdint.h>

struct hrt_window_end;

// Nodes, and the arrays' elements for them, are mapped and given back in blocks of this size.
enum {
    HRT_BLOCK_BITS = 16,
    HRT_BLOCK_NODES = 1 << HRT_BLOCK_BITS,
};

// An array with an element for every node of the slab, so that filing never allocates. Its pages
// are not touched until they are used.
struct hrt_room {
    union {
        void *start;
        uint32_t *indices;
        uint64_t *keys;
        struct hrt_window_end *ends;
    };
    uint32_t blocks;  // of nodes
};

// Makes room for the nodes of that many blocks; the contents stay. Returns 0 or -ENOMEM.
int hrt_room_reserve(struct hrt_room *room, uint32_t blocks, size_t bytes_per_node);
void hrt_room_release(struct hrt_room *room, size_t bytes_per_node);
size_t hrt_room_bytes(const struct hrt_room *room, size_t bytes_per_node);
// Gives back the elements of the nodes from `first` to before `end`.
void hrt_room_give_back(struct hrt_room *room, size_t bytes_per_node, uint32_t first, uint32_t end);

#endif
