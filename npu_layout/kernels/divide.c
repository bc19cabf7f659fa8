/* Divisions as two multiplications. */
#include "core.h"

#include <string.h>

/* 1 / d as a sum of two floats. fma(x, times, x * rest) rounds x / d * (1 + e), |e| < 2**-46.9: rest misses by 2**-48 / d,
 * and so does x * rest. Only where x / d is as near as that to the middle of two floats may another one of them come out;
 * and only where one of the two is half of an odd number does rint tell them apart. (Brisebarre and Muller, "Correctly rounded
 * multiplication by arbitrary precision constants", IEEE Transactions on Computers 57 (2), 2008, have the method.) */
static int product_of(float d, float low, float high, Product *product) {
    enum { MOST = 1 << 15, BYTES = 255 };
    if (!(d >= 0x1p-60f && d <= 0x1p60f && low >= -MOST && high <= MOST && high - low <= BYTES)) return 0;
    product->times = 1 / d;
    product->rest = (float)(1 / (double)d - (double)product->times);
    for (float half = low - 0.5f; half <= high + 0.5f; half += 1)
        for (int side = -1; side <= 1; side += 2) {
            int32_t bits;
            float next;
            memcpy(&bits, &half, sizeof bits);
            bits += side;
            memcpy(&next, &bits, sizeof next);
            const double x = ((double)half + (double)next) / 2 * (double)d; /* exact: 25 bits by 24 */
            const double off = (double)(float)x - x, near = x * 0x1p-46;
            if (off * off < near * near) return 0;
        }
    return 1;
}

int products_of(const Arithmetic *a, Product *products) {
    if (a->from != F32 || a->to > U8) return 0;
    for (int64_t i = 0; i < a->channels; ++i) {
        const int again = i && a->divisor[i] == a->divisor[i - 1] && a->low[i] == a->low[i - 1];
        if (again) products[i] = products[i - 1];
        else if (!product_of(a->divisor[i], a->low[i], a->high[i], products + i)) return 0;
    }
    return 1;
}
