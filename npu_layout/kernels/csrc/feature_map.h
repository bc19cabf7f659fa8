/* Where the channels of one part of an output are, for every cell, and its stored codes as integers that sort. */
#ifndef NPU_LAYOUT_FEATURE_MAP_H
#define NPU_LAYOUT_FEATURE_MAP_H

#include <math.h>
#include <string.h>

#include "levels.h"

/* How the loops read it: channel after channel of neighbouring cells; blocks of channels, some vectors of cells at once; neighbouring
 * channels, cell after cell; by the tables. */
typedef enum { PLANES, BLOCKS, ROWS, TABLES } MapKind;

/* The memory of a map from the first element to the last one, if it is mostly elements: what element e of it is. Each digit, the largest step
 * first, counts cells and channels; what remains is a lane. */
typedef struct {
    uint32_t step, n;
    int32_t cells, channels;
} SpanDigit;
typedef struct {
    int64_t at, elements; /* bytes before the first one, and how many there are; 0: too few of them are the map's */
    SpanDigit digits[3];
} Span;

/* An element is at channel[c] + row[y] + column[x], in bytes. A layout's offset is a sum over its axes, so every layout has such
 * tables. */
typedef struct FeatureMap {
    Dtype type;
    int64_t count, rows, columns;
    const int64_t *channel, *row, *column;
    /* What feature_map_plan finds. */
    MapKind kind;
    int64_t bytes;       /* of the buffer */
    int64_t lines, line; /* a line: cells with one step. The cells of a line, at most, and the number of lines */
    int64_t pieces;      /* lines of a row: more than one if columns are in blocks; 0: rows that continue each other are one line */
    int64_t cell;        /* bytes from one cell of a line to the next */
    int64_t lane, block; /* BLOCKS: the first channel's place in its block, and the elements of a block */
    int64_t run;         /* channels that neighbour each other, from every multiple of it on */
    int64_t apart;       /* channels from one cache line of a cell to the next */
    int64_t hop;         /* bytes from one channel to the next; 0: they differ */
    Span span;
} FeatureMap;

/* A cell whose channels are fetched while those of another one are read, because each is on a line of its own; `count` 0: none. `hop`: as the
 * map's. It is passed by its address: a copy waits until its parts are stored. */
typedef struct {
    const uint8_t *cell;
    const int64_t *channel;
    int64_t count, hop;
} Upcoming;

/* Cells of a map that follow each other with one step: the place of the first one without its channel, its number, how many. */
typedef struct {
    int64_t offset, first, cells;
} Line;

/* Whether every element is inside a buffer of so many bytes; then `map` is complete. */
int feature_map_plan(FeatureMap *map, int64_t bytes);

static inline Line line_at(const FeatureMap *map, int64_t line) {
    if (!map->pieces) return (Line){map->row[0] + map->column[0], 0, map->line};
    const int64_t row = line / map->pieces, column = line % map->pieces * map->line, left = map->columns - column;
    return (Line){map->row[row] + map->column[column], row * map->columns + column, left < map->line ? left : map->line};
}
/* The place of a cell without its channel; a division takes as long as a box's table of powers. */
static inline int64_t cell_at(const FeatureMap *map, int64_t cell) {
    if (!map->pieces) return map->row[0] + map->column[0] + cell * map->cell;
    const uint32_t at = (uint32_t)cell, columns = (uint32_t)map->columns; /* there are fewer than 2**31 */
    return map->row[at / columns] + map->column[at % columns];
}

/* Fetch the lines of a cell: those of few, or of one whose channels are apart from each other; the latencies of many add up. */
static inline void fetch_cell(const FeatureMap *map, const uint8_t *data, int64_t cell) {
    const uint8_t *p = data + cell_at(map, cell);
    for (int64_t i = 0; i < map->count; i += map->apart) __builtin_prefetch(p + map->channel[i]);
    if (map->apart > 1) __builtin_prefetch(p + map->channel[map->count - 1] + dtype_size[map->type] - 1);
}
/* How many lines these are, about. */
static inline int64_t lines_of_cell(const FeatureMap *map) { return (map->count + map->apart - 1) / map->apart; }
static inline void fetch_upcoming(const Upcoming *next) {
    for (int64_t i = 0; i < next->count; ++i) __builtin_prefetch(next->cell + next->channel[i]);
}
/* Fetch the lines of a cell if they are few; else return what to fetch while others are read. */
static inline Upcoming fetch_or_defer(const FeatureMap *map, const uint8_t *data, int64_t cell) {
    if (map->apart == 1) return (Upcoming){data + cell_at(map, cell), map->channel, map->count, map->hop};
    fetch_cell(map, data, cell);
    return (Upcoming){0};
}

/* The code of an element as an integer that sorts as its value does; every NaN is the largest. */
static inline int32_t sorted_half(uint16_t bits, int infinity) {
    const int size = bits & 0x7FFF;
    return size > infinity ? 0x7FFF : bits & 0x8000 ? -size : size;
}
static inline int32_t sorted_float(uint32_t bits) {
    const int32_t size = (int32_t)(bits & 0x7FFFFFFF);
    return size > 0x7F800000 ? 0x7FFFFFFF : bits & 0x80000000 ? -size : size;
}
static inline int32_t sorted_code(Dtype type, const uint8_t *p) {
    uint16_t half;
    uint32_t word;
    switch (type) {
        case I8: return (int8_t)*p;
        case U8: return *p - 128;
        case I16: memcpy(&half, p, 2); return (int16_t)half;
        case U16: memcpy(&half, p, 2); return half - 32768;
        case I32: memcpy(&word, p, 4); return (int32_t)word;
        case F16: memcpy(&half, p, 2); return sorted_half(half, 0x7C00);
        case BF16: memcpy(&half, p, 2); return sorted_half(half, 0x7F80);
        default: memcpy(&word, p, 4); return sorted_float(word);
    }
}
/* What turns a byte into a signed one that sorts, of 8 bits. */
static inline uint8_t byte_flip(Dtype type) { return type == U8 ? 0x80 : 0; }

/* READ the element `at` of each channel i of a cell, and meanwhile fetch the lines of the next one. Where channels follow each other with one
 * step, as planes do, the tables of both are not read. */
#define READ_AND_FETCH(map, p, next, READ)                                                          \
    do {                                                                                            \
        const int64_t count = (map)->count, hop = (next)->count == count ? (next)->hop : 0;         \
        int64_t i = 0, k = 0;                                                                       \
        if ((map)->hop && hop) {                                                                    \
            const uint8_t *at = (p) + *(map)->channel, *ahead = (next)->cell + *(next)->channel;    \
            for (; i < count; ++i, at += (map)->hop, ahead += hop) {                                \
                __builtin_prefetch(ahead);                                                          \
                READ;                                                                               \
            }                                                                                       \
            break;                                                                                  \
        }                                                                                           \
        for (; i < count; ++i) {                                                                    \
            const uint8_t *const at = (p) + (map)->channel[i];                                      \
            if (k < (next)->count) __builtin_prefetch((next)->cell + (next)->channel[k++]);         \
            READ;                                                                                   \
        }                                                                                           \
        for (; k < (next)->count; ++k) __builtin_prefetch((next)->cell + (next)->channel[k]);       \
    } while (0)
static inline void bytes_of_cell(const FeatureMap *map, const uint8_t *p, const Upcoming *next, uint8_t *bytes) {
    READ_AND_FETCH(map, p, next, bytes[i] = *at);
}
static inline void codes_of_cell(const FeatureMap *map, const uint8_t *p, const Upcoming *next, int32_t *codes) {
    const uint8_t flip = byte_flip(map->type);
    if (map->type <= U8) READ_AND_FETCH(map, p, next, codes[i] = (int8_t)(*at ^ flip));
    else READ_AND_FETCH(map, p, next, codes[i] = sorted_code(map->type, at));
}

/* The lowest code of 8 and of 16 bits: the first entry of a table of values. */
static inline int32_t lowest_code(Dtype type) { return type <= U8 ? -128 : -32768; }

static inline double float_of_code(int32_t code) {
    if (code == 0x7FFFFFFF) return NAN;
    uint32_t bits = code < 0 ? (uint32_t)-code | 0x80000000 : (uint32_t)code;
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

#endif
