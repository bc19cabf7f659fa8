/* Places and weights of a resized picture's axis, by OpenCV's reference arithmetic. */
#ifndef TESTS_AXES_H
#define TESTS_AXES_H

#include <math.h>
#include <stdlib.h>

#include "pictures.h"

typedef struct {
    int64_t from, to;
    int32_t *first;
    uint16_t *weights;
} AxisLine;

/* OpenCV's places and weights; `box`: that many elements for each result; `one`: one element without weights. */
static AxisLine line_of_axis(int64_t from, int64_t to, int down, int one) {
    AxisLine a = {from, to, malloc((size_t)to * 4), one ? NULL : malloc((size_t)to * 4)};
    for (int64_t i = 0; i < to; ++i) {
        const float place = (float)((double)(i + 0.5) * (1.0 / ((double)to / (double)from)) - 0.5);
        int64_t first = (int64_t)floorf(place);
        float rest = place - (float)first;
        if (!down && (first < 0 || first >= from - 1)) rest = 0, first = first < 0 ? 0 : from - 1;
        a.first[i] = (int32_t)(one ? (first < 0 ? 0 : first < from ? first : from - 1) : first);
        if (one) continue;
        a.weights[2 * i] = (uint16_t)lrintf((1.f - rest) * 2048), a.weights[2 * i + 1] = (uint16_t)lrintf(rest * 2048);
    }
    return a;
}
/* The axis of a part, with so many elements before and behind it. */
static PictureAxis axis_of(const AxisLine *a, int64_t before, int64_t behind) {
    for (int64_t i = 0; i < a->to; ++i) a->first[i] += (int32_t)before;
    return (PictureAxis){before + a->from + behind, a->to, before, before + a->from, a->first, a->weights};
}

#endif
