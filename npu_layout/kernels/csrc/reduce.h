/* Reductions over channels: argmax, top_k, softmax; and sigmoid. */
#ifndef NPU_LAYOUT_REDUCE_H
#define NPU_LAYOUT_REDUCE_H

#include "levels.h"

/* CHUNK: channels of one call of a loop, so that an index within them fits every element. */
enum { MAX_DIGITS = 4, CHUNK = 128 };

/* The channel axis as nested loops, outermost first (only n and s): one, or more where it is stored in blocks. */
typedef struct {
    int count;
    Loop loops[MAX_DIGITS];
} Digits;

typedef struct {
    Dtype type;
    int64_t channels; /* the real ones: what the digits reach beyond them is neither read nor written */
    Box positions;    /* everything but channels: s of the source, d of the result, p of the values of top_k, in bytes */
    Digits from, to;  /* channels of the source; of softmax's result; none, which is one, for sigmoid */
    float shift, scale;
    int past;                    /* see past_caches */
    int64_t k, number_step, value_step; /* top_k: how many, and the bytes from one to the next */
} Reduction;

/* Sort and merge the loops of positions and the digits. */
void reduction_plan(Reduction *r);
int argmax_path(const Level *level, const Reduction *r); /* which row of the table it uses */
int softmax_path(const Level *level, const Reduction *r);
void argmax_run(const Level *level, const Reduction *r, const uint8_t *src, uint8_t *dst, int64_t part, int64_t parts);
void softmax_run(const Level *level, const Reduction *r, const uint8_t *src, uint8_t *dst, int64_t part, int64_t parts);
/* The k largest, k from 1 to TOP_K, in order: their channels to `dst`, their values to `values`. */
enum { TOP_K = 1024 };
int top_k_path(const Reduction *r);
void top_k_run(const Level *level, const Reduction *r, const uint8_t *src, uint8_t *dst, uint8_t *values, int64_t part, int64_t parts);
/* Of no channels: every axis is one of positions. In place where both sides have the same strides. */
void sigmoid_run(const Level *level, const Reduction *r, const uint8_t *src, uint8_t *dst, int64_t part, int64_t parts);

#endif
