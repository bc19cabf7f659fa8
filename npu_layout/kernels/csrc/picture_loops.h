/* The loops of rows of pictures that each level has; pictures.c puts them together. Every buffer between two loops has room for
 * PADDING bytes behind its last element, so that the loops may read whole vectors; they write exactly n elements. */
#ifndef NPU_LAYOUT_PICTURE_LOOPS_H
#define NPU_LAYOUT_PICTURE_LOOPS_H

#include <stdint.h>

enum { PADDING = 256 };

/* Copy bytes of a row from positions that are known when the plan is made. A window is a load of neighbouring bytes, of which
 * one shuffle picks several. EACH: byte by byte, at their positions. COPY: neighbours. LOADS_8: every 8 bytes are a
 * load of their own, by the loops of packed pixels only. LOADS_2: every 2 bytes come out of a window of 2. WINDOWS_1, _2, _4:
 * every 16 bytes come out of so many windows of 16 bytes. WIDE_64 and WIDE_128: every 64 bytes come out of one such window,
 * WIDE_256: out of two of 128, the first half of the bytes and the second. */
typedef enum { EACH, COPY, LOADS_8, LOADS_2, WINDOWS_1, WINDOWS_2, WINDOWS_4, WIDE_64, WIDE_128, WIDE_256 } GatherKind;
typedef struct {
    GatherKind kind;
    int64_t bytes;  /* that are asked for; a multiple of 64 of them is written */
    int32_t *at;    /* where each byte, or each window, is */
    uint8_t *order; /* which byte of its window is picked */
} Gather;

/* Y' C coefficients with 20 fractional bits: with y = max(Y - offset, 0), u = U - 128 and v = V - 128,
 * R = (y * luma + v * red_v + 2**19) >> 20, G = (y * luma + u * green_u + v * green_v + 2**19) >> 20,
 * B = (y * luma + u * blue_u + 2**19) >> 20, all saturated. */
typedef struct {
    int32_t offset, luma, red_v, green_u, green_v, blue_u;
} Color;

/* The other way: sample = (b * blue + g * green + r * red + add) >> 20, saturated. */
typedef struct {
    int32_t blue, green, red, add;
} YuvWeights;

/* What U and V add to R, G and B, with the 2**19: 16 bits above the point of 16, and the 16 below it, with
 * their top bit flipped. */
typedef struct {
    int16_t *high[3];
    uint16_t *low[3];
} Terms;

/* Weights of pairs of neighbours along a row: 11 bits, and their upper 7 and lower 4, of which each fits a signed byte. */
typedef struct {
    int16_t *whole;
    int8_t *high, *low;
} Weights;

/* Rows of packed pixels out of the bytes that a gather picks from a row, without a buffer in between; exactly n bytes are written.
 * rows: two rows of pairs, weighted along the row and then from row to row; if below is 0, the second one is not read. `next`: rows
 * that are fetched meanwhile, as many bytes as are read of these. */
typedef struct {
    void (*rows)(const uint8_t *const rows[2], const uint8_t *const next[2], const Gather *gather, const Weights *weights, int above,
                 int below, int64_t n, uint8_t *out);
    void (*means)(const uint8_t *const rows[2], const uint8_t *const next[2], const Gather *gather, int64_t n, uint8_t *out);
    void (*line)(const uint8_t *row, const Gather *gather, const Weights *weights, int64_t n, int16_t *line);
    void (*points)(const uint8_t *row, const Gather *gather, int64_t n, uint8_t *out);
    /* Means of two rows of them, half up. */
    void (*halves)(const uint8_t *const rows[2], const uint8_t *const next[2], const Gather *gather, int64_t n, uint8_t *out);
} PackedLoops;

typedef struct {
    int windows; /* whether gather has WINDOWS_* */
    void (*gather)(const uint8_t *row, const Gather *gather, uint8_t *out);
    void (*gather_wide)(const uint8_t *row, const Gather *gather, uint8_t *out); /* WIDE_*; NULL without such an instruction */
    /* line[i] = (pairs[2 i] * weights[2 i] + pairs[2 i + 1] * weights[2 i + 1]) >> 4 */
    void (*line)(const uint8_t *pairs, const Weights *weights, int64_t n, int16_t *line);
    /* out = (((a * above) >> 16) + ((b * below) >> 16) + 2) >> 2; if below is 0, b is not read */
    void (*blend)(const int16_t *a, const int16_t *b, int above, int below, int64_t n, uint8_t *out);
    /* The same of the lines of two rows of pairs, without storing them. */
    void (*blend_pairs)(const uint8_t *a, const uint8_t *b, const Weights *weights, int above, int below, int64_t n, uint8_t *out);
    /* Means of two rows, half up, of which exactly n bytes are read. */
    void (*mean_rows)(const uint8_t *a, const uint8_t *b, int64_t n, uint8_t *out);
    /* Means of 2 x 2 bytes of two rows of pairs. */
    void (*mean)(const uint8_t *a, const uint8_t *b, int64_t n, uint8_t *out);
    void (*luma)(const uint8_t *y, const Color *color, int64_t n, uint8_t *out);
    /* Samples of chroma: U and V one after the other, or, if `v` is NULL, pairs of both. */
    void (*terms)(const uint8_t *u, const uint8_t *v, const Color *color, int64_t n, const Terms *terms);
    /* n pixels, each with its own U and V, of which no others need the terms. */
    void (*color_once)(const uint8_t *y, const uint8_t *u, const uint8_t *v, const Color *color, int64_t n, uint8_t *const rgb[3]);
    /* n pixels, each with its own terms. */
    void (*color)(const uint8_t *y, const Terms *terms, const Color *color, int64_t n, uint8_t *const rgb[3]);
    /* n pixels, every two of which share their terms; `y` need not have room behind it. */
    void (*color_shared)(const uint8_t *y, const Terms *terms, const Color *color, int64_t n, uint8_t *const rgb[3]);
    /* Means of 2 x 2 pixels that share u and v; the rows of y need not have room behind them. */
    void (*color_mean)(const uint8_t *const y[2], const uint8_t *u, const uint8_t *v, const Color *color, int64_t n,
                       uint8_t *const rgb[3]);
    PackedLoops packed, packed_wide; /* for WINDOWS_* and for WIDE_*; NULL: there are none */
    /* The same as rows, of n pixels of 3 or 4 channels, each with 8 bytes of the gather and of weights; NULL: there is none. */
    void (*packed_far)(const uint8_t *const rows[2], const uint8_t *const next[2], const Gather *gather, const Weights *weights,
                       int above, int below, int64_t n, int channels, uint8_t *out);
    /* Boxes of pixels: add bytes of a row to sums, which the first row begins; add sums; the means of sums. */
    void (*box_rows)(const uint8_t *row, int64_t n, int first, uint16_t *sums);
    void (*box_words)(const uint16_t *words, int64_t n, uint16_t *sums);
    void (*box_mean)(const uint16_t *sums, float scale, int64_t n, uint8_t *out);
    /* Invert the top bit of each of n bytes: 0..255 become -128..127. */
    void (*flip)(uint8_t *bytes, int64_t n);
    /* Rows that are made of others: gray of pixels with a step of s bytes, B, G and R of 16-bit words, and those of a mosaic's row,
     * with the rows above and below: its own color, which is at odd pixels if `own` is 1, green, and the third one. */
    void (*gray)(const uint8_t *b, const uint8_t *g, const uint8_t *r, int64_t s, uint8_t *out, int64_t n, int how);
    void (*rows_of_565)(const uint8_t *row, int64_t n, uint8_t *b, uint8_t *g, uint8_t *r);
    void (*rows_of_mosaic)(const uint8_t *const rows[3], int own, int64_t n, uint8_t *const out[3]);
    /* n samples of every pixel of a row of B, G and R, or of every second one; and bytes of two rows by turns, of which exactly n each are read. */
    void (*to_yuv)(const uint8_t *const bgr[3], const YuvWeights *weights, int64_t every, int64_t n, uint8_t *out);
    void (*join_bytes)(const uint8_t *a, const uint8_t *b, int64_t n, uint8_t *out);
} PictureLoops;

#endif
