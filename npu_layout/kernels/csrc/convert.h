/* Conversions: elements of another dtype, possibly in another order. */
#ifndef NPU_LAYOUT_CONVERT_H
#define NPU_LAYOUT_CONVERT_H

#include "move.h"

/* y = ((x - shift) * scale) / divisor (0, 1 and 1 if there is no such step), then for integers rint(y + before)
 * clamped to low..high, plus after. */
typedef struct {
    Dtype from, to;
    int divides;  /* there is a divisor */
    int steps;    /* there is any of shift, scale, divisor */
    int past;     /* whether to store past the caches (cold.h) */
    int cold;     /* whether the source is in no cache */
    int one_step; /* bytes to bytes by rint(x * scale + before), saturated: description.py has tried every x */
    int bits;     /* not 0: the same in 16 bits, with u from 0 to 255: (u * factor / 256 - 32768 + summand) >> bits, tried too */
    int64_t channels;
    const float *shift, *scale, *divisor; /* `channels` values each */
    const float *before, *low, *high;     /* integers only; `after` is subtracted from low and high */
    const int32_t *after;
    const uint16_t *factor;
    const int16_t *summand;
    const Product *products; /* as products_of returns them; or NULL */
} Arithmetic;

/* How the tiles of a conversion are converted. DIRECT: their elements are in the same order on both sides. GATHER: they are
 * moved to a bench (a scratch buffer in L1) first, in the order of the destination, and converted from there. SCATTER: they
 * are converted to the bench, in the order of the source, and moved from there. BOTH: from one bench to another, with a move
 * on either side. PIXELS, TRANSPOSED: the order changes while elements are converted. */
typedef enum { DIRECT, GATHER, SCATTER, BOTH, PIXELS, TRANSPOSED } Way;

typedef struct {
    Way way;
    Box box;   /* the last `inner` loops are a tile; while it is converted, the last `dense` of these step through neighbours */
    int inner, dense;
    int64_t pad;                 /* as in Move; then `way` is SCATTER, BOTH or PIXELS */
    int64_t rows_step, row_step; /* the extent in a tile of the first `inner` loop, and of the first `dense` loop */
    Move gather, scatter;
} Convert;

void convert_plan(Convert *convert, const Box *box, const Arithmetic *arithmetic, int64_t pad);
/* Whether a conversion fetches more lines ahead if its source is in no cache. */
int convert_fetches(const Convert *c, const Arithmetic *a);
/* Whether a conversion is faster with stores past the caches if its result is in none (measured). */
int convert_gains_past(const Convert *c, const Arithmetic *a, int vector);
/* Whether a conversion is slower, as it is planned for such stores, if its result is in a cache. */
int convert_looks_first(const Convert *c, const Convert *past);
void convert_run(const Level *level, const Convert *c, const Arithmetic *a, const uint8_t *src, uint8_t *dst);
/* The rows of the table that a whole tile uses, in order; return how many. */
int convert_paths(const Level *level, const Convert *c, const Arithmetic *a, int taken[4]);

#endif
