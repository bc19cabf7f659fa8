/* Divisions as two multiplications. */
#include "divide.h"

#include <string.h>

/* 1 / d as a sum of two floats; 0 and 0 if that is not sufficient. fma(x, times, x * rest) rounds x / d * (1 + e), |e| < 2**-46.9:
 * the errors of rest and of x * rest are 2**-48 / d each. Only if x / d is as near as that to halfway between two floats may the
 * result be the other one of them, and only if one of the two is half of an odd number does rint distinguish them. Of these only
 * those matter between which bytes are not saturated. The dividend, computed by the steps before, may be any float.
 * (Brisebarre and Muller, "Correctly rounded multiplication by arbitrary precision constants", IEEE Transactions on Computers
 * 57 (2), 2008, describe the method.) LEAST: for divisors from here on no x * rest overflows, which might have the other sign. */
static Product product_of(float d, float low, float high) {
    enum { MOST = 1 << 15, BYTES = 255 };
    const float LEAST = 0x1p-24f, LARGEST = 0x1p60f;
    const Product none = {0, 0};
    if (!(d >= LEAST && d <= LARGEST && low >= -MOST && high <= MOST && high - low <= BYTES)) return none;
    if (low != (float)(int)low) return none;
    const float times = 1 / d;
    for (float half = low - 0.5f; half <= high + 0.5f; half += 1)
        for (int side = -1; side <= 1; side += 2) {
            int32_t bits;
            float next;
            memcpy(&bits, &half, sizeof bits);
            bits += side;
            memcpy(&next, &bits, sizeof next);
            const double x = ((double)half + (double)next) / 2 * (double)d; /* exact: 25 bits by 24 */
            const double off = (double)(float)x - x, near = x * 0x1p-46;
            if (off * off < near * near) return none;
        }
    return (Product){times, (float)(1 / (double)d - (double)times)};
}

int products_of(const Arithmetic *a, Product *products) {
    if (a->from != F32 || a->to > U8) return 0;
    for (int64_t i = 0; i < a->channels; ++i) {
        const int again = i && a->divisor[i] == a->divisor[i - 1] && a->low[i] == a->low[i - 1];
        products[i] = again ? products[i - 1] : product_of(a->divisor[i], a->low[i], a->high[i]);
    }
    return 1;
}
