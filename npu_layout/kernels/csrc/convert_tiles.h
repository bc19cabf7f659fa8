/* The tiles of a conversion, for planning and for running it. */
#ifndef NPU_LAYOUT_CONVERT_TILES_H
#define NPU_LAYOUT_CONVERT_TILES_H

#include "convert.h"

/* Bytes of a row of a result from which on it gains by stores past the caches: shorter ones begin and end within lines too often. */
enum { ROW_LEAST = 960 };

/* Elements of a vector of any level: bytes, or floats. */
static inline int vector_of(const Arithmetic *a) { return a->one_step ? 64 : 16; }

/* Elements of loop i of a tile of so many rows, and of so many elements of the first loop of a row. */
static inline int64_t tile_extent(const Convert *c, int i, int64_t rows_n, int64_t row_n) {
    const int first = c->box.count - c->dense;
    return i < first ? rows_n : i == first ? row_n : c->box.loops[i].n;
}

/* The moves of such a tile between the benches and the source or destination, as far as its way has them. */
void convert_tile_moves(const Convert *c, const Arithmetic *a, int64_t rows_n, int64_t row_n, Move *gather, Move *scatter);

#endif
