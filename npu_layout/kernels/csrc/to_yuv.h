/* Planes of Y, U and V out of planes of B, G and R. */
#ifndef NPU_LAYOUT_TO_YUV_H
#define NPU_LAYOUT_TO_YUV_H

#include "picture_loops.h"

/* Where the samples of a component go: bytes between rows and between samples, of which there is one for so many pixels across and
 * down, that of the top left one. */
typedef struct {
    uint8_t *out;
    int64_t pitch, step, every_x, every_y;
    YuvWeights weights;
} YuvSamples;

/* `plane`, `row`: bytes from one channel, and from one row of pixels, to the next. The samples of Y are neighbours; those of U and V
 * too, or they are neighbours of each other. */
typedef struct {
    const uint8_t *pixels;
    int64_t plane, row, width, height;
    YuvSamples of[3];
} ToYuv;

/* Whether the samples of U and V are written by turns. */
int yuv_is_joined(const ToYuv *made);
/* Write what rows from..to-1 of the pixels become. */
void yuv_rows(const PictureLoops *loops, const ToYuv *made, int64_t from, int64_t to);

#endif
