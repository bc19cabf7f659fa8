/* Limbs between joints, by the field along the line between them. */
#ifndef NPU_LAYOUT_LIMBS_H
#define NPU_LAYOUT_LIMBS_H

#include <stdint.h>

typedef struct {
    const float *x, *y; /* planes of rows x columns */
    int64_t rows, columns;
    int samples, enough; /* points of a line, and how many of them must be above `least` */
    double least;
} Field;

/* Match joints of two kinds, n x 3 and m x 3 of x, y and score: each once, the best aligned first; of equals the first. Writes
 * `pairs`, two numbers each, and their scores; returns how many. scores: room for n x m. */
int64_t limbs_match(const Field *field, const double *a, int64_t n, const double *b, int64_t m, double *scores, int64_t *pairs, double *found);

#endif
