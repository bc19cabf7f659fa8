/* Conversions: elements of another dtype, in another order too. */
#ifndef NPU_LAYOUT_CONVERT_H
#define NPU_LAYOUT_CONVERT_H

#include "move.h"

/* y = ((x - shift) * scale) / divisor (0, 1 and 1 where there is no such step), then for integers rint(y + before)
 * clamped to low..high, plus after. */
typedef struct {
    Dtype from, to;
    int divides;  /* there is a divisor */
    int steps;    /* there is any of shift, scale, divisor */
    int past;     /* see past_caches */
    int one_step; /* bytes to bytes by rint(x * scale + before), saturated: whoever plans has tried every x */
    int bits;     /* not 0: the same in 16 bits, with u from 0 to 255: (u * factor / 256 - 32768 + summand) >> bits, tried too */
    int64_t channels;
    const float *shift, *scale, *divisor; /* `channels` values each */
    const float *before, *low, *high;     /* integers only; low and high have `after` taken off */
    const int32_t *after;
    const uint16_t *factor;
    const int16_t *summand;
    const Product *products; /* as products_of returns them; or NULL */
} Arithmetic;

/* How a conversion is done: tile by tile. DIRECT: what is converted is in the same order on both sides. GATHER: it is
 * moved to a bench in L1 first, in the order of the destination, and converted from there. SCATTER: it is converted to
 * the bench, in the order of the source, and moved from there. BOTH: from one bench to another, with a move on either
 * side. PIXELS, TRANSPOSED: the order changes while
 * elements are converted. */
typedef enum { DIRECT, GATHER, SCATTER, BOTH, PIXELS, TRANSPOSED } Way;

typedef struct {
    Way way;
    Box box;   /* the last `inner` loops make a tile, the last `dense` of these go through neighbours where it is converted */
    int inner, dense;
    int64_t pad;                 /* as of a Move; then it is SCATTER, BOTH or PIXELS */
    int64_t rows_step, row_step; /* how much a tile has of the first of the former and of the first of the latter */
    Move gather, scatter;
} Convert;

void convert_plan(Convert *convert, const Box *box, const Arithmetic *arithmetic, int64_t pad);
void convert_run(const Level *level, const Convert *c, const Arithmetic *a, const uint8_t *src, uint8_t *dst);
/* The rows of the table that a whole tile uses, in their order; how many. */
int convert_paths(const Level *level, const Convert *c, const Arithmetic *a, int taken[4]);

#endif
