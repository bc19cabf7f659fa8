/* e**x in float64, by the operations of exponential.h in their order, of some numbers at once. */
typedef double HERE(Doubles) __attribute__((vector_size(VB)));
typedef int64_t HERE(Longs) __attribute__((vector_size(VB)));
typedef uint64_t HERE(Bits) __attribute__((vector_size(VB)));

/* The numbers of `a` where `mask` is set, else those of `b`. */
INLINE HERE(Doubles) HERE(chosen)(HERE(Longs) mask, HERE(Doubles) a, HERE(Doubles) b) {
    return (HERE(Doubles))((mask & (HERE(Longs))a) | (~mask & (HERE(Longs))b));
}

/* A step's vectors go on side by side, so that the latencies of their sums overlap: as many as there are registers for. */
enum { HERE(ABREAST) = 8 * POWERS_STEP / VB < 4 ? 8 * POWERS_STEP / VB : 4, HERE(STEP) = HERE(ABREAST) * VB / 8 };
#if defined(__x86_64__)
#define SIDE_BY_SIDE(v) __asm__("" : "+x"(v)) /* the compiler would finish one vector after the other */
#else
#define SIDE_BY_SIDE(v) (void)(v)
#endif

static void HERE(powers)(double *p, int64_t n) {
    static const double taylor[] = {1.0 / 6227020800.0, 1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0, 1.0 / 362880.0,
                                    1.0 / 40320.0,      1.0 / 5040.0,      1.0 / 720.0,      1.0 / 120.0,     1.0 / 24.0,
                                    1.0 / 6.0,          1.0 / 2.0};
    const HERE(Doubles) zero = {0}, least = zero - 708.0, most = zero + 709.0, infinity = zero + (double)INFINITY;
    const double rounder = 6755399441055744.0;
    for (int64_t at = 0; at < n; at += HERE(STEP)) {
        HERE(Doubles) x[HERE(ABREAST)], r[HERE(ABREAST)], shifted[HERE(ABREAST)], y[HERE(ABREAST)];
        HERE(Longs) common = ~(HERE(Longs)){0};
        for (int v = 0; v < HERE(ABREAST); ++v) memcpy(x + v, p + at + v * (VB / 8), VB);
        for (int v = 0; v < HERE(ABREAST); ++v) common &= (x[v] >= least) & (x[v] <= most);
        int64_t usual = -1;
        for (int i = 0; i < VB / 8; ++i) usual &= common[i];
        for (int v = 0; v < HERE(ABREAST); ++v) {
            HERE(Doubles) inside = x[v];
            if (__builtin_expect(!usual, 0)) inside = HERE(chosen)(x[v] < least, least, HERE(chosen)(x[v] > most, most, x[v]));
            shifted[v] = inside * 1.4426950408889634 + rounder;
            const HERE(Doubles) k = shifted[v] - rounder;
            r[v] = (inside - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
            y[v] = zero + taylor[0];
        }
        for (int i = 1; i < 12; ++i)
            for (int v = 0; v < HERE(ABREAST); ++v) {
                y[v] = y[v] * r[v] + taylor[i];
                SIDE_BY_SIDE(y[v]);
            }
        for (int v = 0; v < HERE(ABREAST); ++v) {
            const HERE(Bits) bits = ((HERE(Bits))shifted[v] + 1023) << 52;
            y[v] = (1.0 + (r[v] + (r[v] * r[v]) * y[v])) * (HERE(Doubles))bits;
            if (__builtin_expect(usual, 1)) continue;
            y[v] = HERE(chosen)(x[v] < least, zero, HERE(chosen)(x[v] > most, infinity, y[v]));
            y[v] = HERE(chosen)(x[v] != x[v], x[v], y[v]);
        }
        for (int v = 0; v < HERE(ABREAST); ++v) memcpy(p + at + v * (VB / 8), y + v, VB);
    }
}
#undef SIDE_BY_SIDE
