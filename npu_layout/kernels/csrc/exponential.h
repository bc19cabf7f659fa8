/* e**x and x**(1/5) in float64, by the operations of decode/arithmetic/exponential.py in their order: equal bits. */
#ifndef NPU_LAYOUT_EXPONENTIAL_H
#define NPU_LAYOUT_EXPONENTIAL_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline double exponential(double x) {
    static const double taylor[] = {1.0 / 6227020800.0, 1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0, 1.0 / 362880.0,
                                    1.0 / 40320.0,      1.0 / 5040.0,      1.0 / 720.0,      1.0 / 120.0,     1.0 / 24.0,
                                    1.0 / 6.0,          1.0 / 2.0};
    const double rounder = 6755399441055744.0; /* 1.5 * 2**52: adding it rounds to a whole number, half to even */
    if (!(x >= -708.0)) return x < -708.0 ? 0.0 : x;
    if (x > 709.0) return INFINITY;
    const double shifted = x * 1.4426950408889634 + rounder, k = shifted - rounder;
    const double r = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
    double p = taylor[0];
    for (int i = 1; i < 12; ++i) p = p * r + taylor[i];
    uint64_t bits;
    double power;
    memcpy(&bits, &shifted, 8);
    bits = (bits + 1023) << 52;
    memcpy(&power, &bits, 8);
    return (1.0 + (r + (r * r) * p)) * power;
}

static inline double fifth_root(double x) {
    if (!(x >= 1e-300 && x < INFINITY)) return x < 1e-300 ? 0.0 : x;
    uint64_t bits;
    double y;
    memcpy(&bits, &x, 8);
    bits = bits / 5 + 0x3326666666666666; /* of 2**818.4: within 6 % */
    memcpy(&y, &bits, 8);
    for (int i = 0; i < 6; ++i) { /* Newton's steps */
        const double square = y * y;
        y = (4.0 * y + x / (square * square)) / 5.0;
    }
    return y;
}

static inline double sigmoid_of(double x) { return 1.0 / (1.0 + exponential(-x)); }

#endif
