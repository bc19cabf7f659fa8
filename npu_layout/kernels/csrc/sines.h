/* Sine and cosine in float64, by the operations of decode/arithmetic/sines.py in their order: equal bits. */
#ifndef NPU_LAYOUT_SINES_H
#define NPU_LAYOUT_SINES_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline void sine_and_cosine(double x, double *sine, double *cosine) {
    static const double of_sine[] = {1.0 / 355687428096000.0, -1.0 / 1307674368000.0, 1.0 / 6227020800.0, -1.0 / 39916800.0,
                                     1.0 / 362880.0,          -1.0 / 5040.0,          1.0 / 120.0,        -1.0 / 6.0};
    static const double of_cosine[] = {1.0 / 20922789888000.0, -1.0 / 87178291200.0, 1.0 / 479001600.0, -1.0 / 3628800.0,
                                       1.0 / 40320.0,          -1.0 / 720.0,         1.0 / 24.0};
    const double rounder = 6755399441055744.0; /* 1.5 * 2**52: adding it rounds to a whole number, half to even */
    if (!(fabs(x) <= 524288.0)) x = fmod(x, 6.283185307179586);
    const double shifted = x * 0.6366197723675814 + rounder, k = shifted - rounder;
    const double r = ((x - k * 1.57079632673412561417e+00) - k * 6.07710050630396597660e-11) - k * 2.02226624879595063154e-21;
    const double square = r * r;
    double p = of_sine[0], q = of_cosine[0];
    for (int i = 1; i < 8; ++i) p = p * square + of_sine[i];
    for (int i = 1; i < 7; ++i) q = q * square + of_cosine[i];
    const double half = 0.5 * square, rest = 1.0 - half;
    const double s = r + (r * square) * p, c = rest + (((1.0 - rest) - half) + (square * square) * q);
    uint64_t quarter;
    memcpy(&quarter, &shifted, 8);
    const double one = quarter & 1 ? c : s, other = quarter & 1 ? s : c;
    *sine = quarter & 2 ? -one : one;
    *cosine = (quarter + 1) & 2 ? -other : other;
}

#endif
