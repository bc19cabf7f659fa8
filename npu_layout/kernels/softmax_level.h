/* Softmax and sigmoid, after reduce_level.h. Softmax: exponentials of what each channel lacks to the largest, over their sum.
 * Sums are in double: WIDTH of them are two vectors. */
#if VB == 64
typedef __m512d D;
INLINE D doubles(F v, int upper) {
    return _mm512_cvtps_pd(upper ? _mm512_extractf32x8_ps((__m512)v, 1) : _mm512_castps512_ps256((__m512)v));
}
INLINE F singles(D lower, D upper) {
    return (F)_mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(lower)), _mm512_cvtpd_ps(upper), 1);
}
INLINE F zero_below(F x, F limit, F v) {
    return (F)_mm512_maskz_mov_ps(_mm512_cmp_ps_mask((__m512)x, (__m512)limit, _CMP_NLT_UQ), (__m512)v);
}
#elif VB == 32
typedef __m256d D;
INLINE D doubles(F v, int upper) {
    return _mm256_cvtps_pd(upper ? _mm256_extractf128_ps((__m256)v, 1) : _mm256_castps256_ps128((__m256)v));
}
INLINE F singles(D lower, D upper) {
    return (F)_mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps(lower)), _mm256_cvtpd_ps(upper), 1);
}
#else
typedef double D __attribute__((vector_size(16)));
#if defined(__SSE2__)
INLINE D doubles(F v, int upper) {
    return (D)_mm_cvtps_pd(upper ? _mm_movehl_ps((__m128)v, (__m128)v) : (__m128)v);
}
INLINE F singles(D lower, D upper) { return (F)_mm_movelh_ps(_mm_cvtpd_ps((__m128d)lower), _mm_cvtpd_ps((__m128d)upper)); }
#else
INLINE D doubles(F v, int upper) { return (D){v[2 * upper], v[2 * upper + 1]}; }
INLINE F singles(D lower, D upper) { return (F){(float)lower[0], (float)lower[1], (float)upper[0], (float)upper[1]}; }
#endif
#endif
#if VB < 64
INLINE F zero_below(F x, F limit, F v) { return (F)(~(U)(x < limit) & (U)v); }
#endif

/* e**(d + lost) for d from -87.3 to 88.8, infinite at the end, each step rounded to float32 by itself:
 *   n = rint(d * log2(e)); r = (d - n * 0.693359375) + (n * 2.12194440e-4 + lost); s = r r
 *   p = (((c4 s + (c3 r + c2)) s + (c1 r + c0)) s + r) + 1, times 2**n
 * The halves of ln 2 are those of Cephes' expf (S. Moshier, 1992); the coefficients those of the least relative error for
 * |r| <= ln(2) / 2 (Remez), 3.1e-9.
 * Of up to four vectors, step by step, which is 5 to 15 % faster than one vector after the other. `lost`: NULL where it is
 * 0. */
#define EACH(BODY) for (int k = 0; k < count; ++k) BODY
INLINE void powers_of(const F *d, const F *lost, F *e, int count) {
    const F magic = every(0x1.8p23f + 127); /* the lowest bits of what is near it are the exponent of 2**n */
    F t[4], n[4], r[4], s[4], p[4];
    EACH(t[k] = d[k] * every(0x1.715476p0f) + magic);
    EACH(n[k] = t[k] - magic);
    EACH(r[k] = n[k] * every(2.12194440e-4f));
    if (lost) EACH(r[k] = r[k] + lost[k]);
    EACH(r[k] = (d[k] - n[k] * every(0.693359375f)) + r[k]);
    EACH(s[k] = r[k] * r[k]);
    EACH(p[k] = s[k] * every(0x1.6a23dp-10f) + (r[k] * every(0x1.123a2p-7f) + every(0x1.5558f2p-5f)));
    EACH(p[k] = p[k] * s[k] + (r[k] * every(0x1.555492p-3f) + every(0x1.fffffcp-2f)));
    EACH(p[k] = (p[k] * s[k] + r[k]) + every(1.0f));
    /* A product, though a sum of exponents would do for numbers: the bits of a NaN would be summed too. */
    EACH(e[k] = p[k] * (F)((U)t[k] << 23));
}

/* e**(x - most) for x <= most: d = x - most, and `lost` what that rounded off (Knuth's two-sum); 0 where d < -87.3. `most`:
 * one of all, or one of each. */
INLINE void exponentials_of(const F *x, const F *most, int each, F *e, int count) {
    F d[4], back[4], lost[4];
    EACH(d[k] = x[k] - most[each * k]);
    EACH(back[k] = d[k] - x[k]);
    EACH(lost[k] = (x[k] - (d[k] - back[k])) - (most[each * k] + back[k]));
    powers_of(d, lost, e, count);
    EACH(e[k] = zero_below(d[k], every(-87.3f), e[k]));
}

static void HERE(maxima)(const float *planes, int64_t pitch, int64_t channels, int64_t n, float *most, int first) {
    for (int64_t i = 0; i < n; i += WIDTH) {
        F m = floats((first ? planes : most) + i);
        for (int64_t c = 0; c < channels; ++c) m = larger(floats(planes + c * pitch + i), m);
        memcpy(most + i, &m, sizeof m);
    }
}

/* 1 / sum of exponentials: four channels are summed in float32, (0 + 1) + (2 + 3), these sums in double. Of four at most a
 * division in float32 gives the same: rounding what has 53 bits to 24 does not show (S. Figueroa, When is double rounding
 * innocuous?, 1995). */
INLINE F factor_of(const F e[8], int channels) {
    const F one = every(1.0f), low = (e[0] + e[1]) + (e[2] + e[3]), high = (e[4] + e[5]) + (e[6] + e[7]);
    if (channels <= 4) return one / low;
    return singles(1.0 / (doubles(low, 0) + doubles(high, 0)), 1.0 / (doubles(low, 1) + doubles(high, 1)));
}
/* From planes to planes, or in place where n is a multiple of WIDTH; else n is WIDTH or more and the last step overlaps
 * the one before. */
INLINE void softmax_of(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int64_t n, int channels, int past, int fetches,
                       Ahead ahead) {
    enum { STEP = WIDTH };
    const int64_t lead = lead_of(past, dst, 4);
    AT_STEPS {
        F x[8], e[8] = {{0}, {0}, {0}, {0}, {0}, {0}, {0}, {0}}, most;
        for (int c = 0; c < channels; ++c) {
            if (fetches && i % 16 < WIDTH) __builtin_prefetch(ahead.at + i / 16 * ahead.line + c * ahead.channel);
            x[c] = get_f32(src + c * s + 4 * i);
            most = larger(x[c], c ? most : x[c]);
        }
        exponentials_of(x, &most, 0, e, channels < 4 ? channels : 4);
        if (channels > 4) exponentials_of(x + 4, &most, 0, e + 4, channels - 4);
        const F factor = factor_of(e, channels);
        uint8_t *const to = dst + 4 * i;
#ifdef STREAM
        if (past && (uintptr_t)to % VB == 0)
            for (int c = 0; c < channels; ++c) STREAM(to + c * d, (V)(e[c] * factor));
        else
#endif
            for (int c = 0; c < channels; ++c) put_f32(to + c * d, e[c] * factor);
        if (i + STEP >= n) return;
    }
}
#define SOFTMAX_OF(channels)                                                                              \
    case channels:                                                                                        \
        ahead.at ? softmax_of(src, s, dst, d, n, channels, past, 1, ahead)                                \
        : past   ? softmax_of(src, s, dst, d, n, channels, 1, 0, ahead)                                   \
                 : softmax_of(src, s, dst, d, n, channels, 0, 0, ahead);                                  \
        break;
static void HERE(softmax_of_few)(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int64_t channels, int64_t n, int past,
                                 Ahead ahead) {
    past = past && d % VB == 0;
    switch (channels) {
        SOFTMAX_OF(1) SOFTMAX_OF(2) SOFTMAX_OF(3) SOFTMAX_OF(4) SOFTMAX_OF(5) SOFTMAX_OF(6) SOFTMAX_OF(7) SOFTMAX_OF(8)
    }
}

static void HERE(exponentials)(float *planes, int64_t pitch, int64_t channels, int64_t n, const float *most, double *sums,
                               int first, float *factor, Ahead ahead) {
    for (int64_t i = 0; i < n; i += WIDTH) {
        const int fetches = ahead.at && i % 16 == 0;
        const uint8_t *line = fetches ? ahead.at + i / 16 * ahead.line : NULL;
        const F m = floats(most + i);
        D sum[2] = {{0}, {0}};
        if (!first) memcpy(sum, sums + i, sizeof sum);
        int64_t c = 0;
        for (; c + 4 <= channels; c += 4) {
            F x[4], e[4];
            float *const p = planes + c * pitch + i;
            for (int k = 0; k < 4; ++k) {
                if (fetches) __builtin_prefetch(line + (c + k) * ahead.channel);
                x[k] = floats(p + k * pitch);
            }
            exponentials_of(x, &m, 0, e, 4);
            for (int k = 0; k < 4; ++k) memcpy(p + k * pitch, e + k, sizeof *e);
            const F four = (e[0] + e[1]) + (e[2] + e[3]);
            sum[0] += doubles(four, 0), sum[1] += doubles(four, 1);
        }
        F rest[4] = {{0}, {0}, {0}, {0}};
        for (int k = 0; c < channels; ++c, ++k) {
            float *p = planes + c * pitch + i;
            const F x = floats(p);
            if (fetches) __builtin_prefetch(line + c * ahead.channel);
            exponentials_of(&x, &m, 0, rest + k, 1);
            memcpy(p, rest + k, sizeof *rest);
        }
        rest[0] = (rest[0] + rest[1]) + (rest[2] + rest[3]);
        sum[0] += doubles(rest[0], 0), sum[1] += doubles(rest[0], 1);
        memcpy(sums + i, sum, sizeof sum);
    }
    for (int64_t i = 0; factor && i < n; ++i) factor[i] = (float)(1.0 / sums[i]);
}

/* Neighbouring channels, WIDTH of them or more, as they lie: of one position, or of four whose sums are made together. The
 * exponentials wait in the bench. A largest that misses a NaN does no harm: NaN it will be. Nothing goes past the caches:
 * 64 channels took three times as long so (1000 a tenth less). */
#if ACROSS_STEP
typedef double Double4 __attribute__((vector_size(32)));
typedef float Float4 __attribute__((vector_size(16)));
#if VB >= 32
INLINE Double4 four_doubles(Float4 v) { return (Double4)_mm256_cvtps_pd((__m128)v); }
#else
INLINE Double4 four_doubles(Float4 v) { return (Double4){v[0], v[1], v[2], v[3]}; }
#endif
INLINE Double4 fours_summed(const F e[4], Double4 sum) {
    const V low[2] = {VLOW_4((V)e[0], (V)e[2]), VLOW_4((V)e[1], (V)e[3])};
    const V high[2] = {VHIGH_4((V)e[0], (V)e[2]), VHIGH_4((V)e[1], (V)e[3])};
    const F four = ((F)VLOW_4(low[0], low[1]) + (F)VHIGH_4(low[0], low[1])) +
                   ((F)VLOW_4(high[0], high[1]) + (F)VHIGH_4(high[0], high[1]));
    Float4 lane[LANES];
    memcpy(lane, &four, sizeof lane);
    for (int l = 0; l < LANES; ++l) sum += four_doubles(lane[l]);
    return sum;
}
INLINE void scale_by_one(const float *p, F factor, uint8_t *to, int64_t n) {
    int64_t i = 0;
    for (; i + WIDTH <= n; i += WIDTH) put_f32(to + 4 * i, floats(p + i) * factor);
    if (i < n) put_f32(to + 4 * (n - WIDTH), floats(p + n - WIDTH) * factor);
}
INLINE void softmax_rows(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int count, int64_t channels, float *bench) {
    const int64_t even = channels - channels % WIDTH, pitch = even + WIDTH;
    F most[4], e[4] = {{0}, {0}, {0}, {0}};
    EACH(most[k] = get_f32(src + k * s + 4 * (channels - WIDTH)));
    for (int64_t c = 0; c < even; c += WIDTH) EACH(most[k] = largest2(most[k], get_f32(src + k * s + 4 * c)));
    EACH(most[k] = largest_lane(most[k]));
    Double4 sum = {0};
    for (int64_t c = 0; c < channels; c += WIDTH) {
        F x[4];
        if (c < even)
            EACH(x[k] = get_f32(src + k * s + 4 * c));
        else
            EACH(x[k] = some_floats(src + k * s + 4 * c, channels - c));
        exponentials_of(x, most, 1, e, count);
        EACH(put_f32((uint8_t *)(bench + k * pitch + c), e[k]));
        sum = fours_summed(e, sum);
    }
    const Double4 factor = 1.0 / sum;
    EACH(scale_by_one(bench + k * pitch, every((float)factor[k]), dst + k * d, channels));
}
static void HERE(softmax_across)(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int64_t n, int64_t channels, int fours,
                                 float *bench) {
    for (; fours && n >= 4; n -= 4, src += 4 * s, dst += 4 * d) softmax_rows(src, s, dst, d, 4, channels, bench);
    for (; n; --n, src += s, dst += d) softmax_rows(src, s, dst, d, 1, channels, bench);
}
#define SOFTMAX_ACROSS HERE(softmax_across)
#else
#define SOFTMAX_ACROSS NULL
#endif

INLINE void scale_row(const float *p, const float *factor, uint8_t *to, int64_t n) {
    int64_t i = 0;
    for (; i + WIDTH <= n; i += WIDTH) put_f32(to + 4 * i, floats(p + i) * floats(factor + i));
    for (; i < n; ++i) {
        const float y = p[i] * factor[i];
        memcpy(to + 4 * i, &y, 4);
    }
}

/* `past`: whole cache lines go past the caches. */
static void HERE(scale)(const float *planes, int64_t pitch, int64_t channels, int64_t n, const float *factor, uint8_t *out,
                        int64_t step, int past) {
    for (int64_t c = 0; c < channels; ++c) {
        const float *p = planes + c * pitch;
        uint8_t *to = out + c * step;
#ifdef STREAM
        if (past && (uintptr_t)to % 4 == 0 && n >= 64) {
            int64_t i = (int64_t)(-(uintptr_t)to % 64) / 4;
            scale_row(p, factor, to, i);
            for (; i + 16 <= n; i += 16)
                for (int k = 0; k < 16; k += WIDTH) STREAM(to + 4 * (i + k), (V)(floats(p + i + k) * floats(factor + i + k)));
            scale_row(p + i, factor + i, to + 4 * i, n - i);
            continue;
        }
#endif
        scale_row(p, factor, to, n);
    }
    (void)past;
}

/* 1 / (1 + e**-x): of x below -88.8 0, above 87 the exponential is nothing to 1. */
INLINE void sigmoids_of(const F *x, F *y, int count) {
    F d[4], e[4];
    EACH(d[k] = -smaller(every(87.0f), larger(every(-88.8f), x[k])));
    powers_of(d, NULL, e, count);
    EACH(y[k] = every(1.0f) / (every(1.0f) + e[k]));
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
static void HERE(sigmoid)(const uint8_t *src, uint8_t *dst, int64_t n, int past) {
    enum { STEP = 4 * WIDTH };
    int64_t i = at_most(n, lead_of(1, dst, 4));
    if (i) sigmoids_of_some(src, dst, i);
    past = past && (uintptr_t)(dst + 4 * i) % VB == 0;
    for (; past && i + STEP <= n; i += STEP) sigmoids_at(src + 4 * i, dst + 4 * i, 4, 1);
    for (; i + STEP <= n; i += STEP) sigmoids_at(src + 4 * i, dst + 4 * i, 4, 0);
    for (; i + WIDTH <= n; i += WIDTH) sigmoids_at(src + 4 * i, dst + 4 * i, 1, 0);
    if (i < n) sigmoids_of_some(src + 4 * i, dst + 4 * i, n - i);
}

static void HERE(copy)(const uint8_t *src, uint8_t *dst, int64_t bytes) { copy_past(src, dst, bytes); }
