/* Reductions over channels: argmax, top_k, softmax; and sigmoid. */
#ifndef NPU_LAYOUT_REDUCE_H
#define NPU_LAYOUT_REDUCE_H

#include "levels.h"

/* CHUNK: channels of one call of a loop, so few that an index within them fits in every element. */
enum { MAX_DIGITS = 4, CHUNK = 128 };

/* The channel axis as nested loops, outermost first (only n and s): one, or more if it is stored in blocks. */
typedef struct {
    int count;
    Loop loops[MAX_DIGITS];
} Digits;

typedef struct {
    Dtype type;
    int64_t channels; /* without padding: elements that the digits reach beyond them are neither read nor written */
    Box positions;    /* all axes except the channel's: s for the source, d for the result, p for the values of top_k, in bytes */
    Digits from, to;  /* channels of the source and of softmax's result; no loops count as one channel */
    float shift, scale;
    int past;                    /* whether to store past the caches (cold.h) */
    int64_t k, number_step, value_step; /* top_k: the number of values, and the bytes from one to the next */
} Reduction;

/* Sort and merge the loops of positions and of the digits. */
void reduction_plan(Reduction *r);
int argmax_path(const Level *level, const Reduction *r); /* return which row of the table is used */
int softmax_path(const Level *level, const Reduction *r);
void argmax_run(const Level *level, const Reduction *r, const uint8_t *src, uint8_t *dst, int64_t part, int64_t parts);
void softmax_run(const Level *level, const Reduction *r, const uint8_t *src, uint8_t *dst, int64_t part, int64_t parts);
/* Write the k largest, k from 1 to TOP_K, in order: their channels to `dst`, their values to `values`. */
enum { TOP_K = 1024 };
int top_k_path(const Level *level, const Reduction *r); /* the largest alone is found as argmax finds it */
void top_k_run(const Level *level, const Reduction *r, const uint8_t *src, uint8_t *dst, uint8_t *values, int64_t part, int64_t parts);
/* Of one channel, every axis is one of positions: in place if both sides have the same strides. `sigmoid_plan`, after reduction_plan, makes the
 * channel one of them where it or positions are neighbours on both sides. */
void sigmoid_plan(Reduction *r);
void sigmoid_run(const Level *level, const Reduction *r, const uint8_t *src, uint8_t *dst, int64_t part, int64_t parts);

#endif
