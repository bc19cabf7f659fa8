/* Sigmoid, by the exponential of softmax.inl.h. */

/* 1 / (1 + e**-x), as 2**n / ((2**n + 1) + p), which needs no product with a power of two and does not wait for p + 1. At and
 * below -87.7 it is 0. */
INLINE void sigmoids_of(const F *x, F *y, int count) {
    F d[4], magic[4], t[4], p[4];
    EACH(d[k] = smaller(every(87.0f), larger(every(-88.0f), x[k])));
    EACH(magic[k] = every(MAGIC));
    reduced(d, magic, 1, t, p, count);
    EACH(t[k] = power_of_two_of(t[k]));
    EACH(p[k] += t[k] + every(1.0f));
    EACH(y[k] = t[k] / p[k]);
}
INLINE void sigmoids_at(const uint8_t *src, uint8_t *dst, int count, int past) {
    F x[4], y[4];
    EACH(x[k] = get_f32(src + k * VB));
    sigmoids_of(x, y, count);
#ifdef STREAM
    if (past) {
        EACH(STREAM(dst + k * VB, (V)y[k]));
        return;
    }
#endif
    EACH(put_f32(dst + k * VB, y[k]));
    (void)past;
}
INLINE void sigmoids_of_some(const uint8_t *src, uint8_t *dst, int64_t n) {
    const F x = some_floats(src, n);
    F y;
    sigmoids_of(&x, &y, 1);
    memcpy(dst, &y, 4 * (size_t)n);
}
/* Four vectors at a time; return how many elements were done. Separate functions: if several loops share the constants, GCC keeps
 * these in registers, and spills others (1.03 to 1.1 times as long). */
#define SIGMOIDS(name, past)                                                                                              \
    OUT_OF_LINE int64_t HERE(name)(const uint8_t *src, uint8_t *dst, int64_t n) {                    \
        enum { STEP = 4 * WIDTH };                                                                                        \
        int64_t i = 0;                                                                                                    \
        for (; i + STEP <= n; i += STEP) {                                                                                \
            fetch_ahead(CLOSE, src + 4 * i, 4 * VB);                                                                      \
            sigmoids_at(src + 4 * i, dst + 4 * i, 4, past);                                                               \
        }                                                                                                                 \
        return i;                                                                                                         \
    }
SIGMOIDS(sigmoids, 0)
SIGMOIDS(sigmoids_past, 1)
static void HERE(sigmoid)(const uint8_t *src, uint8_t *dst, int64_t n, int past) {
    int64_t i = at_most(n, lead_of(1, dst, 4));
    if (i) sigmoids_of_some(src, dst, i);
    past = past && (uintptr_t)(dst + 4 * i) % VB == 0;
    i += (past ? HERE(sigmoids_past) : HERE(sigmoids))(src + 4 * i, dst + 4 * i, n - i);
    for (; i + WIDTH <= n; i += WIDTH) sigmoids_at(src + 4 * i, dst + 4 * i, 1, 0);
    if (i < n) sigmoids_of_some(src + 4 * i, dst + 4 * i, n - i);
}
