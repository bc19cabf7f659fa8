/* One part of one anchor of a detector's level: where it is, and what its codes mean. */
#ifndef NPU_LAYOUT_SOURCE_H
#define NPU_LAYOUT_SOURCE_H

#include "exponential.h"
#include "feature_map.h"

enum { MOST_BINS = 64 };

/* SOFTMAX_OF: of the scores of a cell, see shares.h; what codes mean is before it. */
typedef enum { AS_STORED, SIGMOID_OF, SOFTMAX_OF, ACTIVATIONS } Activation;

/* What has a scale of its own: nothing, or each channel, row or column of the map. */
typedef enum { ONE_SCALE, BY_CHANNEL, BY_ROW, BY_COLUMN, SCALINGS } Scaling;

/* `values`: of every code of 8 or 16 bits, the lowest first, activated; NULL for float32, for int32, which without scales mean themselves,
 * and for integers of several scales: those are (integer - zero) * scale in float32, and then activated. `powers`: of 8 bits, 256 rows of
 * e**(value - value of the row), for DFL and softmax; else NULL. */
typedef struct {
    int buffer;
    FeatureMap map;
    Activation activation;
    const double *values;
    Scaling scaling;
    const float *scale, *zero;
    double *powers;
} Source;

/* How many scales there are. */
static inline int64_t scales_of(const Source *source) {
    const FeatureMap *map = &source->map;
    const int64_t counts[SCALINGS] = {0, map->count, map->rows, map->columns};
    return counts[source->scaling];
}

/* What the code 0 is stored as. */
static inline int32_t first_of(Dtype type) { return type == U8 ? 128 : type == U16 ? 32768 : 0; }

/* What a code of several scales means, not activated. */
static inline float scaled_value(const Source *source, int64_t cell, int64_t channel, int32_t code) {
    const FeatureMap *map = &source->map;
    const int64_t k = source->scaling == BY_CHANNEL ? channel : source->scaling == BY_ROW ? cell / map->columns : cell % map->columns;
    return ((float)(code + first_of(map->type)) - source->zero[k]) * source->scale[k];
}

static inline double source_value(const Source *source, int64_t cell, int64_t channel, int32_t code) {
    if (source->values) return source->values[code - lowest_code(source->map.type)];
    const double value = source->scaling          ? (double)scaled_value(source, cell, channel, code)
                         : source->map.type == I32 ? (double)code
                                                   : float_of_code(code);
    return source->activation == SIGMOID_OF ? sigmoid_of(value) : value;
}

static inline int32_t code_at(const Source *source, const uint8_t *data, int64_t offset, int64_t channel) {
    return sorted_code(source->map.type, data + offset + source->map.channel[channel]);
}
static inline double value_at(const Source *source, const uint8_t *data, int64_t cell, int64_t channel) {
    return source_value(source, cell, channel, code_at(source, data, cell_at(&source->map, cell), channel));
}

/* Fill the rows of `powers` from `values`. */
void source_powers(const Level *level, Source *source);
/* The means of the bins of the four sides of a cell under softmaxes; meanwhile the lines of the next cell are fetched. */
void mean_bins(const Level *level, const Source *box, const uint8_t *data, int64_t cell, int bins, const Upcoming *next, double sides[4]);

#endif
