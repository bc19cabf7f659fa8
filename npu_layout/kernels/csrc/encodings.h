/* From the channels of a cell to the edges of its box, in float64. */
#ifndef NPU_LAYOUT_ENCODINGS_H
#define NPU_LAYOUT_ENCODINGS_H

#include <stdint.h>

/* As decode/heads/head.py lists them. */
typedef enum { DFL, DISTANCES, CENTER_POWER, CENTER_EXP, VARIANCES, XYWH, XYXY, CENTER_SIZE, SIGMOID_EXP, LINEAR, TANH_SIGMOID, ENCODINGS } Encoding;

/* How boxes of a level are encoded. `strides`: channels are in cells, else in units of unit_x and unit_y pixels. `spread`: of CENTER_EXP and
 * SIGMOID_EXP, how far a centre moves from the middle of its cell. */
typedef struct {
    Encoding encoding;
    int bins, strides;
    double center, unit_x, unit_y, of_center, of_size, stride, spread;
} BoxRule;

/* Edges from values of 4 channels; of DFL from those of the four sides; of CENTER_SIZE from the centre in its cell and the size. x, y: the
 * cell; w, h: the anchor. */
void box_edges(const BoxRule *rule, const double v[4], double x, double y, double w, double h, double edges[4]);

/* As kernels/detecting.py lists them. */
typedef enum { IN_CELLS, IN_PIXELS, OFFSETS, STEPS, IN_INPUTS, DOUBLED, POINT_ENCODINGS } PointEncoding;

/* How the points beside boxes of a level are encoded: `values` channels each, 2 or 3; 0: there are none. */
typedef struct {
    PointEncoding encoding;
    int values;
    double variance;
} PointRule;

/* The place of a point from its two channels. x, y, w, h: as for a box. */
static inline void point_place(const PointRule *rule, const BoxRule *box, const double v[2], double x, double y, double w, double h, double place[2]) {
    const double cell[2] = {x, y}, size[2] = {w, h};
    for (int i = 0; i < 2; ++i) {
        const double center = (cell[i] + box->center) * box->stride;
        switch (rule->encoding) {
            case IN_CELLS: place[i] = (2.0 * v[i] + cell[i]) * box->stride; break;
            case OFFSETS: place[i] = center + v[i] * rule->variance * size[i]; break;
            case STEPS: place[i] = center + v[i] * box->stride; break;
            case DOUBLED: place[i] = (2.0 * v[i] - 0.5 + cell[i]) * box->stride; break;
            case IN_INPUTS: place[i] = v[i] * (i ? box->unit_y : box->unit_x); break;
            default: place[i] = v[i];
        }
    }
}

#endif
