/* Rows of a resized picture: of R, G and B, or gray, out of Y, U and V, or of packed pixels as they are. */
#ifndef NPU_LAYOUT_PICTURES_H
#define NPU_LAYOUT_PICTURES_H

#include "levels.h"
#include "picture_loops.h"

/* One axis of a resize: where the first of the two source elements of each result is, and the weights of both, in 11 bits.
 * Without weights there is one element. Of `from` elements those from begin to end - 1 are a part, and the others are not in any
 * result. Rows may begin outside the part; columns may not. */
typedef struct {
    int64_t from, to, begin, end;
    const int32_t *first;
    const uint16_t *weights;
} PictureAxis;

/* A component: its plane, the bytes of a row before its first sample, bytes between samples, and one sample for so many pixels
 * across and down. */
typedef struct {
    int plane;
    int64_t start, step, every_x, every_y;
} PictureComponent;

/* What the samples of the first plane are: components, or what rows of B, G and R, or of gray, are made of first. GRAY_OF_PIXELS:
 * pixels of component[0].step bytes, blue at its start, 0 or 2. PIXELS_OF_565: words of 16 bits. MOSAIC: one color for each pixel,
 * red where x % 2 is red_x and y % 2 is red_y; in memory group_bytes follow each other for every group_pixels, of which the first
 * ones are the pixels. */
typedef enum { COMPONENTS, GRAY_OF_PIXELS, PIXELS_OF_565, MOSAIC } PictureSource;

/* Bytes and rows of a tile of a plane; 0: it is stored as rows. */
typedef struct {
    int64_t bytes, rows;
} PlaneTiles;

/* convert first: pixels are converted, then resized, and U and V are those of the nearest sample; otherwise the component of each
 * plane is resized along its own axes, then pixels are converted. `mean`: both axes take means of two elements. */
typedef struct {
    int components; /* Y, U and V, or Y only; of packed pixels their channels */
    PictureComponent component[4];
    PictureSource source;
    int red_x, red_y;
    int64_t group_pixels, group_bytes;
    PlaneTiles tile[3];
    int packed; /* pixels whose channels are neighbours, in the result too, and are not converted; two may come out of a plane each */
    int convert_first;
    int64_t width, height;
    PictureAxis x[3], y[3]; /* only the first ones if pixels are converted first */
    int mean[3];  /* 1: of 2 x 2, 2: of whole boxes of packed pixels, as many as there are pixels for each result */
    Color color;
    int channels;  /* 1, 3 or 4, of which the last one is 255 */
    int channel[3]; /* where R, G and B are among them */
} PictureSpec;

/* Whether packed pixels are put together of two planes, each with one of their two channels. */
static inline int picture_joins(const PictureSpec *spec) {
    return spec->packed && spec->components == 2 && spec->component[0].plane != spec->component[1].plane;
}

typedef struct PicturePlan PicturePlan;

/* Where a plane is, and bytes between its rows. */
typedef struct {
    const uint8_t *first;
    int64_t pitch;
} PicturePlane;

/* Invert the top bit of each of n bytes: 0..255 become -128..127. */
void picture_flip(const PicturePlan *plan, uint8_t *bytes, int64_t n);

/* Make a plan with the loops of a level, or return NULL without memory. `wide`: the machine has the instructions of WIDE_*. */
PicturePlan *picture_make(const PictureLoops *loops, int wide, const PictureSpec *spec);
void picture_free(PicturePlan *plan);

/* Write rows from..to-1 to planes of channels, or packed pixels to rows of pixels. Each thread has a bench of its own, of so many
 * bytes, aligned to 64; one call after another may leave it as it is, but what is in it does not outlive a call. */
int64_t picture_bench(const PicturePlan *plan);
void picture_rows(const PicturePlan *plan, const PicturePlane planes[3], int64_t from, int64_t to, uint8_t *out, int64_t row_pitch,
              int64_t channel_pitch, uint8_t *bench);

#endif
