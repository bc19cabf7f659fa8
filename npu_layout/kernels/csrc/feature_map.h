/* Where the channels of one part of an output are, for every cell, and its stored codes as integers that sort. */
#ifndef NPU_LAYOUT_FEATURE_MAP_H
#define NPU_LAYOUT_FEATURE_MAP_H

#include <math.h>
#include <string.h>

#include "levels.h"

/* How the loops read it: channel after channel of neighbouring cells; blocks of channels, some vectors of cells at once; neighbouring
 * channels, cell after cell; by the tables. */
typedef enum { PLANES, BLOCKS, ROWS, TABLES } MapKind;

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
} FeatureMap;

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
static inline int64_t cell_at(const FeatureMap *map, int64_t cell) {
    return map->row[cell / map->columns] + map->column[cell % map->columns];
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

/* The codes of channels from `first` on, of one cell. */
static inline void codes_of_cell(const FeatureMap *map, const uint8_t *p, int64_t first, int64_t count, int32_t *codes) {
    const int64_t *channel = map->channel + first;
    if (map->type <= U8) {
        const uint8_t flip = byte_flip(map->type);
        for (int64_t i = 0; i < count; ++i) codes[i] = (int8_t)(p[channel[i]] ^ flip);
        return;
    }
    for (int64_t i = 0; i < count; ++i) codes[i] = sorted_code(map->type, p + channel[i]);
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
