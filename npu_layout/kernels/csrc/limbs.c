#include "limbs.h"

#include <math.h>

static int64_t cell_of(double at, int64_t size) {
    const double cell = rint(at);
    return cell > 0 ? cell < (double)size ? (int64_t)cell : size - 1 : 0;
}

/* The operations, and their order, are those of fallback.limbs. */
static double score_of(const Field *f, const double *a, const double *b) {
    const double dx = b[0] - a[0], dy = b[1] - a[1], length = sqrt(dx * dx + dy * dy);
    if (!(length > 0)) return -1;
    const double ux = dx / length, uy = dy / length;
    double sum = 0;
    int above = 0;
    for (int k = 0; k < f->samples; ++k) {
        const double t = (double)k / (f->samples - 1);
        const int64_t at = cell_of(a[1] + dy * t, f->rows) * f->columns + cell_of(a[0] + dx * t, f->columns);
        const double along = f->x[at] * ux + f->y[at] * uy;
        sum += along, above += along > f->least;
    }
    const double score = sum / f->samples * sqrt(a[2] * b[2]);
    return above >= f->enough && score > 0 ? score : -1;
}

int64_t limbs_match(const Field *field, const double *a, int64_t n, const double *b, int64_t m, double *scores, int64_t *pairs, double *found) {
    int64_t count = 0;
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < m; ++j) scores[i * m + j] = score_of(field, a + 3 * i, b + 3 * j);
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
