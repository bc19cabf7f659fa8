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
    Box positions;    /* everything but channels: s of the source, d of the result, in bytes */
    Digits from, to;  /* channels of the source; of softmax's result */
    float shift, scale;
    int past; /* the result is PAST bytes or more */
} Reduction;

/* Of `channels` planes, `step` bytes apart, of n bytes each (one vector's or more): the largest element so far goes to
 * `best` as a sortable integer or float, to `at` one more than the channel that beat what was there before, or 0.
 * `first`: nothing was there. */
typedef void Largest(const uint8_t *planes, int64_t step, int64_t channels, int64_t n, uint8_t *best, uint8_t *at, int first);

/* where[i] = before + at[i] for every i that has an `at`; elements of 1, 2 and 4 bytes. */
typedef int64_t Index __attribute__((aligned(1), may_alias));
typedef void Widen(const uint8_t *at, int64_t n, int64_t before, int first, Index *where);

/* The first of the largest of the `channels` floats at each of n places, `step` bytes apart; measured: faster than by
 * way of planes from ACROSS channels on. */
typedef void Across(const uint8_t *p, int64_t step, int64_t n, int64_t channels, Index *where);
enum { ACROSS = 9 };

/* Cache lines to fetch meanwhile: one for each channel of 16 positions; `at` may be NULL, or anything. */
typedef struct {
    const uint8_t *at;
    int64_t channel, line;
} Ahead;

/* Planes of n floats, `pitch` floats apart, n a multiple of 16. The largest of each position; then, in place, the
 * exponentials of what they lack to it, and their sums; then out = plane * factor for any n. */
typedef void Maxima(const float *planes, int64_t pitch, int64_t channels, int64_t n, float *most, int first);
typedef void Exponentials(float *planes, int64_t pitch, int64_t channels, int64_t n, const float *most, double *sums, int first,
                          Ahead ahead);
typedef void Scale(const float *planes, int64_t pitch, int64_t channels, int64_t n, const float *factor, uint8_t *out,
                   int64_t step, int past);

/* Whole cache lines past the caches. */
typedef void Copy(const uint8_t *src, uint8_t *dst, int64_t bytes);

/* Which of n neighbouring elements are above the threshold (integers: `least` or more), above those at the byte
 * offsets `earlier`, and not below those at `later`: their numbers, ascending; how many. */
typedef struct {
    int earliers, laters;
    int64_t earlier[4], later[4];
    int64_t least;
    float threshold;
} Nearby;
typedef int64_t Peak(const uint8_t *p, int64_t n, const Nearby *nearby, int32_t *found);

typedef struct {
    Largest *largest[DTYPES];
    Widen *widen[3];
    Across *across; /* NULL: none */
    Maxima *maxima;
    Exponentials *exponentials;
    Scale *scale;
    Copy *copy;
    Peak *peak[DTYPES]; /* none for float16 and bfloat16, which are converted */
} Reducers;

extern const Reducers reducers_base, reducers_sse4, reducers_avx2, reducers_avx512;
const Reducers *reducers(const Level *level);

/* Sort and merge the loops of positions and the digits. */
void reduction_plan(Reduction *r);
void argmax_run(const Level *level, const Reduction *r, const uint8_t *src, uint8_t *dst, int64_t part, int64_t parts);
void softmax_run(const Level *level, const Reduction *r, const uint8_t *src, uint8_t *dst, int64_t part, int64_t parts);

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
 * there was no room. */
typedef struct {
    int64_t count, room;
    int unsorted;
    int64_t *codes;
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
