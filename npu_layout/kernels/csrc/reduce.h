/* Reductions over channels, and peaks: what the binding, the walks and the loops agree on. */
#ifndef NPU_LAYOUT_REDUCE_H
#define NPU_LAYOUT_REDUCE_H

#include "core.h"

/* CHUNK: channels that one call of a loop takes, so that an index within them fits every element. */
enum { MAX_DIGITS = 4, CHUNK = 128 };

/* The channel axis as nested loops, outermost first (n and s alone): one, or more where it lies in blocks. */
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
int argmax_path(const Level *level, const Reduction *r); /* which row of the table it takes */
int softmax_path(const Level *level, const Reduction *r);
void argmax_run(const Level *level, const Reduction *r, const uint8_t *src, uint8_t *dst, int64_t part, int64_t parts);
void softmax_run(const Level *level, const Reduction *r, const uint8_t *src, uint8_t *dst, int64_t part, int64_t parts);
/* The k largest, k from 1 to TOP_K, in order: their channels to `dst`, what they hold to `values`. */
enum { TOP_K = 1024 };
int top_k_path(const Reduction *r);
void top_k_run(const Level *level, const Reduction *r, const uint8_t *src, uint8_t *dst, uint8_t *values, int64_t part, int64_t parts);
/* Of no channels: every axis is one of positions. In place where both sides lie alike. */
void sigmoid_run(const Level *level, const Reduction *r, const uint8_t *src, uint8_t *dst, int64_t part, int64_t parts);

/* Heatmaps: loops over planes (s: bytes, p: what one step adds to the plane's number), rows and columns. */
typedef struct {
    Dtype type;
    int64_t height, width, y, x; /* extents, steps in bytes */
    int64_t radius, least;       /* integers: `least` or more; floats: above the threshold */
    float threshold;
    int y_bits, x_bits; /* that hold every y and x */
    Box planes;
} Heatmaps;

/* Codes, of the bits of plane, y and x, in a list of `room`, in any order; how many there are, with those for which
 * there was no room; and the one found last, 0 before any was. */
typedef struct {
    int64_t count, room;
    int unsorted;
    int64_t *codes, last;
} Peaks;
void peaks_find(const Level *level, const Heatmaps *maps, const uint8_t *src, Peaks *peaks);
/* Sort `peaks` by way of as much room again. True: the list lies in `other`. */
int peaks_sort(Peaks *peaks, int64_t *other);

/* Where a peak is between pixels: not looked for, at the top of a parabola, a quarter of a pixel towards the greater
 * neighbour. */
typedef enum { WHOLE, PARABOLA, QUARTER, REFINEMENTS } Refinement;

/* Of the pixel `index` (n, c, y, x) of heatmaps with those extents and steps in bytes: n, c, x, y and its value. */
void peak_top(Dtype type, const uint8_t *src, const int64_t extents[4], const int64_t steps[4], const int64_t index[4],
              Refinement refinement, double top[5]);

#endif
