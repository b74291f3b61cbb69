// Counts the cache lines and the pages, of code and of data, that a process touches between one
// fire of the bench and the next: the memory that a fire after some milliseconds of idleness has to
// fetch. Reads the output of valgrind's lackey with --trace-mem=yes. A fire is an execution of the
// instruction at the given address. Prints the medians of each block of fires. A new block begins
// where far more instructions than a fire needs were executed, because a block is being set up.
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_SHIFT = 6, PAGE_SHIFT = 12, BUCKETS = 1 << 20 };
enum { MOST_FIRES = 100000, SETUP_INSTRUCTIONS = 200000 };

// For each block of memory, a line or a page: the number of the fire that touched it last.
struct set {
    int shift;
    uint64_t blocks[BUCKETS];
    uint32_t fires[BUCKETS];
    size_t count;
};

static struct set code = {.shift = LINE_SHIFT}, data = {.shift = LINE_SHIFT};
static struct set code_pages = {.shift = PAGE_SHIFT}, data_pages = {.shift = PAGE_SHIFT};
static uint32_t fire = 1;

static void touch_block(struct set *set, uint64_t block) {
    size_t bucket = (block * 0x9e3779b97f4a7c15u) >> 44;
    while (set->blocks[bucket] != block && set->fires[bucket] != 0) bucket = (bucket + 1) % BUCKETS;
    if (set->fires[bucket] == fire) return;
    set->blocks[bucket] = block;
    set->fires[bucket] = fire;
    set->count++;
}

static void touch(struct set *set, uint64_t address, uint64_t size) {
    uint64_t last = (address + size - 1) >> set->shift;
    for (uint64_t block = address >> set->shift; block <= last; block++) touch_block(set, block);
}

static int ascending(const void *left, const void *right) {
    size_t a = *(const size_t *)left, b = *(const size_t *)right;
    return a < b ? -1 : a > b;
}

static size_t median(size_t *values, size_t count) {
    qsort(values, count, sizeof *values, ascending);
    return values[count / 2];
}

static size_t lines_of_code[MOST_FIRES], lines_of_data[MOST_FIRES], instructions[MOST_FIRES];
static size_t pages_of_code[MOST_FIRES], pages_of_data[MOST_FIRES];
static size_t fires;

static void print_block(void) {
    if (fires == 0) return;
    size_t count = fires;
    fires = 0;
    printf("%zu fires: %zu instructions, %zu lines of code in %zu pages, %zu of data in %zu\n",
           count, median(instructions, count), median(lines_of_code, count),
           median(pages_of_code, count), median(lines_of_data, count),
           median(pages_of_data, count));
}

// Records a fire; `executed` is the number of instructions since the previous fire.
static void note_fire(size_t executed) {
    if (executed > SETUP_INSTRUCTIONS) {
        print_block();
    } else if (fires < MOST_FIRES) {
        lines_of_code[fires] = code.count;
        lines_of_data[fires] = data.count;
        pages_of_code[fires] = code_pages.count;
        pages_of_data[fires] = data_pages.count;
        instructions[fires++] = executed;
    }
    code.count = data.count = code_pages.count = data_pages.count = 0;
    fire++;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: cold_lines ADDRESS < trace\n");
        return 2;
    }
    uint64_t marker = strtoull(argv[1], NULL, 16);
    size_t executed = 0;
    char line[256];
    while (fgets(line, sizeof line, stdin) != NULL) {
        bool is_code = line[0] == 'I';
        if (!is_code && (line[0] != ' ' || strchr("LSM", line[1]) == NULL)) continue;
        char *end;
        uint64_t address = strtoull(line + 3, &end, 16);
        uint64_t size = *end == ',' ? strtoull(end + 1, NULL, 10) : 1;
        touch(is_code ? &code : &data, address, size);
        touch(is_code ? &code_pages : &data_pages, address, size);
        if (!is_code) continue;
        executed++;
        if (address != marker) continue;
        note_fire(executed);
        executed = 0;
    }
    print_block();
    return 0;
}
