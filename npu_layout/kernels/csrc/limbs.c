#include "limbs.h"

#include <math.h>

enum { SHARES = 64 }; /* samples whose places on a line are computed once */

/* The nearest whole number of 0 .. size - 1, of halves the even one; of NaN 0. Between these bounds adding 1.5 * 2**52 rounds as rint does,
 * which is a call without SSE4.1. */
static int64_t cell_of(double at, int64_t size) {
    const double rounder = 6755399441055744.0, last = (double)(size - 1);
    const double inside = at > 0 ? at < last ? at : last : 0;
    return (int64_t)((inside + rounder) - rounder);
}

static double share_of(int k, int samples) { return (double)k / (samples - 1); }

/* The operations, and their order, are those of fallback.limbs; a line that too few of the samples left can save is none. */
static double score_of(const Field *f, const double *shares, const double *a, const double *b) {
    const double dx = b[0] - a[0], dy = b[1] - a[1], length = sqrt(dx * dx + dy * dy);
    if (!(length > 0)) return -1;
    const double ux = dx / length, uy = dy / length;
    double sum = 0;
    int below = 0;
    for (int k = 0; k < f->samples; ++k) {
        const double t = k < SHARES ? shares[k] : share_of(k, f->samples);
        const int64_t at = cell_of(a[1] + dy * t, f->rows) * f->columns + cell_of(a[0] + dx * t, f->columns);
        const double along = f->x[at] * ux + f->y[at] * uy;
        sum += along, below += !(along > f->least);
        if (f->samples - below < f->enough) return -1;
    }
    const double score = sum / f->samples * sqrt(a[2] * b[2]);
    return score > 0 ? score : -1;
}

int64_t limbs_match(const Field *field, const double *a, int64_t n, const double *b, int64_t m, double *scores, int64_t *pairs, double *found) {
    int64_t count = 0;
    double shares[SHARES];
    for (int k = 0; k < SHARES && k < field->samples; ++k) shares[k] = share_of(k, field->samples);
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < m; ++j) scores[i * m + j] = score_of(field, shares, a + 3 * i, b + 3 * j);
    for (;;) {
        int64_t best = 0;
        for (int64_t i = 1; i < n * m; ++i)
            if (scores[i] > scores[best]) best = i;
        if (n < 1 || m < 1 || !(scores[best] > 0)) return count;
        const int64_t i = best / m, j = best % m;
        found[count] = scores[best], pairs[2 * count] = i, pairs[2 * count + 1] = j, ++count;
        for (int64_t k = 0; k < m; ++k) scores[i * m + k] = -1;
        for (int64_t k = 0; k < n; ++k) scores[k * m + j] = -1;
    }
}
