/* e**x in float64, by the operations of exponential.h in their order, of some numbers at once. */
typedef double HERE(Doubles) __attribute__((vector_size(VB)));
typedef int64_t HERE(Longs) __attribute__((vector_size(VB)));
typedef uint64_t HERE(Bits) __attribute__((vector_size(VB)));

/* The numbers of `a` where `mask` is set, else those of `b`. */
INLINE HERE(Doubles) HERE(chosen)(HERE(Longs) mask, HERE(Doubles) a, HERE(Doubles) b) {
    return (HERE(Doubles))((mask & (HERE(Longs))a) | (~mask & (HERE(Longs))b));
}

static void HERE(powers)(double *p, int64_t n) {
    static const double taylor[] = {1.0 / 6227020800.0, 1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0, 1.0 / 362880.0,
                                    1.0 / 40320.0,      1.0 / 5040.0,      1.0 / 720.0,      1.0 / 120.0,     1.0 / 24.0,
                                    1.0 / 6.0,          1.0 / 2.0};
    const HERE(Doubles) zero = {0}, least = zero - 708.0, most = zero + 709.0, infinity = zero + (double)INFINITY;
    const double rounder = 6755399441055744.0;
    for (int64_t at = 0; at < n; at += VB / 8) {
        HERE(Doubles) x;
        memcpy(&x, p + at, VB);
        const HERE(Longs) low = x < least, high = x > most, none = x != x;
        const HERE(Doubles) inside = HERE(chosen)(low, least, HERE(chosen)(high, most, x));
        const HERE(Doubles) shifted = inside * 1.4426950408889634 + rounder, k = shifted - rounder;
        const HERE(Doubles) r = (inside - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
        HERE(Doubles) sum = zero + taylor[0];
        for (int i = 1; i < 12; ++i) sum = sum * r + taylor[i];
        const HERE(Bits) bits = ((HERE(Bits))shifted + 1023) << 52;
        HERE(Doubles) y = (1.0 + (r + (r * r) * sum)) * (HERE(Doubles))bits;
        y = HERE(chosen)(low, zero, HERE(chosen)(high, infinity, y));
        y = HERE(chosen)(none, x, y);
        memcpy(p + at, &y, VB);
    }
}
