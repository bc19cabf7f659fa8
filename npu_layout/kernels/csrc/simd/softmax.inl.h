/* Softmax, after reduce.inl.h. With many channels sums are in double: WIDTH of them are two vectors. */
#if VB == 64
typedef __m512d D;
INLINE D doubles(F v, int upper) {
    return _mm512_cvtps_pd(upper ? _mm512_extractf32x8_ps((__m512)v, 1) : _mm512_castps512_ps256((__m512)v));
}
INLINE F zero_below(F x, F limit, F v) {
    return (F)_mm512_maskz_mov_ps(_mm512_cmp_ps_mask((__m512)x, (__m512)limit, _CMP_NLT_UQ), (__m512)v);
}
#elif VB == 32
typedef __m256d D;
INLINE D doubles(F v, int upper) {
    return _mm256_cvtps_pd(upper ? _mm256_extractf128_ps((__m256)v, 1) : _mm256_castps256_ps128((__m256)v));
}
#else
typedef double D __attribute__((vector_size(16)));
#if defined(__SSE2__)
INLINE D doubles(F v, int upper) {
    return (D)_mm_cvtps_pd(upper ? _mm_movehl_ps((__m128)v, (__m128)v) : (__m128)v);
}
#else
INLINE D doubles(F v, int upper) { return (D){v[2 * upper], v[2 * upper + 1]}; }
#endif
#endif
#if VB < 64
INLINE F zero_below(F x, F limit, F v) { return (F)(~(U)(x < limit) & (U)v); }
#endif

/* e**x or, if `inverted`, e**-x, without its power of two; each step is rounded to float32:
 *   t = x * log2(e) + magic; n = t - magic; r = (x - n * 0.693359375) + n * 2.12194440e-4; s = r r
 *   p = ((c3 r + c2) s + (c1 r + c0)) s + r, or that of -r; the power is p + 1
 * The lowest bits of a float near MAGIC are n plus the bias of an exponent. The halves of ln 2 are those of Cephes' expf
 * (S. Moshier, 1992); the coefficients have the least relative error for |r| <= ln(2) / 2 (Remez), 1.05e-7.
 * The last sum is left to the caller, which may combine it with another. Up to four vectors are computed step by step, which is
 * 5 to 15 % faster than one vector after the other. */
#define MAGIC (0x1.8p23f + 127)
#define LOG2_E 0x1.715476p0f
#define EACH(BODY) for (int k = 0; k < count; ++k) BODY
INLINE void reduced(const F *x, const F *magic, int inverted, F *t, F *p, int count) {
    const float sign = inverted ? -1 : 1;
    F n[4], r[4], s[4];
    EACH(t[k] = x[k] * every(LOG2_E) + magic[k]);
    EACH(n[k] = t[k] - magic[k]);
    EACH(r[k] = (x[k] - n[k] * every(0.693359375f)) + n[k] * every(2.12194440e-4f));
    EACH(s[k] = r[k] * r[k]);
    EACH(p[k] = r[k] * every(sign * 0x1.1062d6p-7f) + every(0x1.572a24p-5f));
    EACH(p[k] = p[k] * s[k] + (r[k] * every(sign * 0x1.5557aep-3f) + every(0x1.fffdfcp-2f)));
    EACH(p[k] = inverted ? p[k] * s[k] - r[k] : p[k] * s[k] + r[k]);
}
/* 2**n for magic = MAGIC, 2**(n - N) for MAGIC - N. */
INLINE F power_of_two_of(F t) { return (F)((U)t << 23); }

/* Softmax divides not by e**most but by the nearest power of two N, which costs no step and is exact. Beyond 256 a base is
 * subtracted from all values first, which is exact for those within 87.3 of `most`. The remainder of `most` is what the rounded
 * base leaves, which beyond 2**32 is not 256. The exponential of a value below `limit` is 0. */
typedef struct {
    F base, magic, limit;
} Origin;
INLINE Origin origin_of(F most) {
    const F base = most - smaller(larger(most, every(-256.0f)), every(256.0f)), rest = most - base;
    return (Origin){base, every(2 * MAGIC) - (rest * every(LOG2_E) + every(MAGIC)), rest - every(87.3f)};
}
/* `each`: an origin for each vector, or one for all. */
INLINE void exponentials_of(const F *x, const Origin *from, int each, F *e, int count) {
    F d[4], magic[4], t[4], p[4];
    EACH(d[k] = x[k] - from[each * k].base);
    EACH(magic[k] = from[each * k].magic);
    reduced(d, magic, 0, t, p, count);
    /* A product: a sum of exponents would be sufficient for numbers, but would change the bits of a NaN. */
    EACH(e[k] = zero_below(d[k], from[each * k].limit, (p[k] + every(1.0f)) * power_of_two_of(t[k])));
}

static void HERE(maxima)(const float *planes, int64_t pitch, int64_t channels, int64_t n, float *most, int first) {
    for (int64_t i = 0; i < n; i += WIDTH) {
        F m = floats((first ? planes : most) + i);
        for (int64_t c = 0; c < channels; ++c) m = larger(floats(planes + c * pitch + i), m);
        memcpy(most + i, &m, sizeof m);
    }
}

/* Sums of exponentials: in each 8 channels c + (c + 4), these added in order over SUMMED channels, then (0 + 2) + (1 + 3) of
 * the four sums, all in float32; the sums of SUMMED channels are added in double. */
enum { SUMMED = 64 };
INLINE F sum_of(const F four[4]) { return (four[0] + four[2]) + (four[1] + four[3]); }
/* From planes to planes, or in place if n is a multiple of WIDTH; otherwise n is WIDTH or more and the last step overlaps the
 * one before. */
INLINE void softmax_of(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int64_t n, int channels, int past, int fetches,
                       Ahead ahead) {
    enum { STEP = WIDTH };
    const int64_t lead = lead_of(past, dst, 4);
    AT_STEPS {
        F x[8], e[8] = {{0}, {0}, {0}, {0}, {0}, {0}, {0}, {0}}, sums[4], most;
        for (int c = 0; c < channels; ++c) {
            if (fetches && i % 16 < WIDTH) __builtin_prefetch(ahead.at + i / 16 * ahead.line + c * ahead.channel);
            x[c] = get_f32(src + c * s + 4 * i);
            most = larger(x[c], c ? most : x[c]);
        }
        const Origin from = origin_of(most);
        exponentials_of(x, &from, 0, e, channels < 4 ? channels : 4);
        if (channels > 4) exponentials_of(x + 4, &from, 0, e + 4, channels - 4);
        for (int k = 0; k < 4; ++k) sums[k] = channels > 4 ? e[k] + e[4 + k] : e[k];
        const F factor = every(1.0f) / sum_of(sums);
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
static void HERE(softmax_in_registers)(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int64_t channels, int64_t n, int past,
                                 Ahead ahead) {
    past = past && d % VB == 0;
    switch (channels) {
        SOFTMAX_OF(1) SOFTMAX_OF(2) SOFTMAX_OF(3) SOFTMAX_OF(4) SOFTMAX_OF(5) SOFTMAX_OF(6) SOFTMAX_OF(7) SOFTMAX_OF(8)
    }
}

INLINE void exponentials_at(float *p, int64_t pitch, const Origin *from, F *e, int count, const uint8_t *line, int64_t channel) {
    F x[4];
    for (int k = 0; k < count; ++k) {
        if (line) __builtin_prefetch(line + k * channel);
        x[k] = floats(p + k * pitch);
    }
    exponentials_of(x, from, 0, e, count);
    EACH(memcpy(p + k * pitch, e + k, sizeof *e));
}
/* `factor`: 1 / sum, if these were the last channels. */
static void HERE(exponentials)(float *planes, int64_t pitch, int64_t channels, int64_t n, const float *most, double *sums,
                               int first, float *factor, Ahead ahead) {
    const int all = first && factor && channels <= SUMMED;
    for (int64_t i = 0; i < n; i += WIDTH) {
        const uint8_t *line = ahead.at && i % 16 == 0 ? ahead.at + i / 16 * ahead.line : NULL;
        const Origin from = origin_of(floats(most + i));
        float *p = planes + i;
        int64_t block = ahead.block; /* channels left in it */
        D sum[2] = {{0}, {0}};
        if (!first) memcpy(sum, sums + i, sizeof sum);
        for (int64_t left = channels, some; left > 0; left -= SUMMED) {
            F four[4] = {{0}, {0}, {0}, {0}};
            for (some = at_most(left, SUMMED); some > 0; some -= 8) {
                F e[8];
                for (int h = 0; h < 8; h += 4) {
                    const int count = (int)at_most(some - h, 4);
                    if (count == 4) {
                        exponentials_at(p, pitch, &from, e + h, 4, line, ahead.channel);
                        p += 4 * pitch;
                        if (line) line += 4 * ahead.channel, block -= 4;
                        if (!block) line += ahead.skip, block = ahead.block;
                        continue;
                    }
                    for (int k = 0; k < 4; ++k) e[h + k] = every(0.0f);
                    for (int k = 0; k < count; ++k, p += pitch) {
                        exponentials_at(p, pitch, &from, e + h + k, 1, line, ahead.channel);
                        if (line) line += ahead.channel;
                    }
                }
                for (int k = 0; k < 4; ++k) four[k] += e[k] + e[4 + k];
            }
            const F whole = sum_of(four), one = every(1.0f) / whole;
            sum[0] += doubles(whole, 0), sum[1] += doubles(whole, 1);
            if (all) memcpy(factor + i, &one, sizeof one);
        }
        memcpy(sums + i, sum, sizeof sum);
    }
    for (int64_t i = 0; !all && factor && i < n; ++i) factor[i] = (float)(1.0 / sums[i]);
}

/* Neighbouring channels, WIDTH of them or more, in place: a row is a position. A maximum that ignores a NaN does no harm: the
 * result is NaN anyway. Nothing is stored past the caches: 64 channels then needed three times as long (1000 a tenth less). */
#if ACROSS_STEP
typedef double Double4 __attribute__((vector_size(32)));
typedef float Float4 __attribute__((vector_size(16)));
#if VB >= 32
INLINE Double4 four_doubles(Float4 v) { return (Double4)_mm256_cvtps_pd((__m128)v); }
INLINE Float4 four_floats(Double4 v) { return (Float4)_mm256_cvtpd_ps((__m256d)v); }
#else
INLINE Double4 four_doubles(Float4 v) { return (Double4){v[0], v[1], v[2], v[3]}; }
INLINE Float4 four_floats(Double4 v) { return (Float4){(float)v[0], (float)v[1], (float)v[2], (float)v[3]}; }
#endif
/* Four rows at a time: their vectors, reduced to sums in the order above or to maxima, and one value for each row. */
typedef struct {
    F part[16 / WIDTH];
} FourRows;
INLINE FourRows rows_of(F v) {
    FourRows rows;
    for (int i = 0; i < 16 / WIDTH; ++i) rows.part[i] = v;
    return rows;
}
INLINE F folded(F a, F b, int largest) { return largest ? largest2(a, b) : a + b; }
#if VB == 64
#define LANE_PAIR(a, b, which) (F)_mm512_shuffle_f32x4((__m512)(a), (__m512)(b), which)
INLINE void join_rows(FourRows *rows, const F v[4], int largest) {
    const F ab = folded(LANE_PAIR(v[0], v[1], 0x88), LANE_PAIR(v[0], v[1], 0xDD), largest);
    const F cd = folded(LANE_PAIR(v[2], v[3], 0x88), LANE_PAIR(v[2], v[3], 0xDD), largest);
    rows->part[0] = folded(folded(rows->part[0], LANE_PAIR(ab, cd, 0x88), largest), LANE_PAIR(ab, cd, 0xDD), largest);
}
INLINE F of_rows(const FourRows *rows, int largest) {
    F v = rows->part[0];
    v = folded(v, (F)_mm512_permute_ps((__m512)v, 0x4E), largest);
    return folded(v, (F)_mm512_permute_ps((__m512)v, 0xB1), largest);
}
INLINE Float4 four_of(F v) { return (Float4)_mm512_castps512_ps128(_mm512_maskz_compress_ps(0x1111, (__m512)v)); }
INLINE F of_row(F v, int k) {
    return k == 0 ? LANE_PAIR(v, v, 0) : k == 1 ? LANE_PAIR(v, v, 0x55) : k == 2 ? LANE_PAIR(v, v, 0xAA) : LANE_PAIR(v, v, 0xFF);
}
#elif VB == 32
INLINE F halves_folded(F a, F b, int largest) {
    return folded((F)_mm256_permute2f128_ps((__m256)a, (__m256)b, 0x20), (F)_mm256_permute2f128_ps((__m256)a, (__m256)b, 0x31), largest);
}
INLINE void join_rows(FourRows *rows, const F v[4], int largest) {
    rows->part[0] = folded(rows->part[0], halves_folded(v[0], v[1], largest), largest);
    rows->part[1] = folded(rows->part[1], halves_folded(v[2], v[3], largest), largest);
}
INLINE F of_rows(const FourRows *rows, int largest) { /* a c a c b d b d */
    const V ab = (V)rows->part[0], cd = (V)rows->part[1];
    const F v = folded((F)VLOW_4(ab, cd), (F)VHIGH_4(ab, cd), largest);
    return folded(v, (F)_mm256_permute_ps((__m256)v, 0x4E), largest);
}
INLINE Float4 four_of(F v) {
    return (Float4)_mm_unpacklo_ps(_mm256_castps256_ps128((__m256)v), _mm256_extractf128_ps((__m256)v, 1));
}
INLINE F of_row(F v, int k) {
    return (F)_mm256_permutevar8x32_ps((__m256)v, _mm256_set1_epi32(k == 0 ? 0 : k == 1 ? 4 : k == 2 ? 1 : 5));
}
#else
INLINE void join_rows(FourRows *rows, const F v[4], int largest) {
    for (int k = 0; k < 4; ++k) rows->part[k] = folded(rows->part[k], v[k], largest);
}
INLINE F of_rows(const FourRows *rows, int largest) {
    const B1 a = (B1)rows->part[0], b = (B1)rows->part[1], c = (B1)rows->part[2], d = (B1)rows->part[3];
    const F ab = folded((F)low4(a, b), (F)high4(a, b), largest), cd = folded((F)low4(c, d), (F)high4(c, d), largest);
    return folded((F)low8((B1)ab, (B1)cd), (F)high8((B1)ab, (B1)cd), largest);
}
INLINE Float4 four_of(F v) { return v; }
INLINE F of_row(F v, int k) { return every(v[k]); }
#endif
/* Rows with pitches of `s` and `d` bytes; their exponentials are in benches, with a pitch of `pitch` floats. */
typedef struct {
    int64_t s, d, channels, even, pitch;
} Rows;
INLINE F last_of(const Rows *r, const uint8_t *row) {
    return r->even < r->channels ? get_f32(row + 4 * (r->channels - WIDTH)) : every(-__builtin_inff());
}
INLINE void rows_most(const Rows *r, const uint8_t *src, int count, F most[4]) {
    EACH(most[k] = last_of(r, src + k * r->s));
    for (int64_t c = 0; c < r->even; c += WIDTH) EACH(most[k] = largest2(most[k], get_f32(src + k * r->s + 4 * c)));
}
INLINE void rows_scaled(const Rows *r, const float *bench, const F factor[4], uint8_t *dst, int count) {
    const int64_t last = r->channels - WIDTH;
    for (int64_t c = 0; c < r->even; c += WIDTH) EACH(put_f32(dst + k * r->d + 4 * c, floats(bench + k * r->pitch + c) * factor[k]));
    if (r->even < r->channels) EACH(put_f32(dst + k * r->d + 4 * last, floats(bench + k * r->pitch + last) * factor[k]));
}
/* Exponentials of WIDTH channels from c on. */
INLINE void rows_exponentials(const Rows *r, const uint8_t *src, int64_t c, const Origin from[4], float *bench, int count, F e[4]) {
    F x[4];
    if (c < r->even)
        EACH(x[k] = get_f32(src + k * r->s + 4 * c));
    else
        EACH(x[k] = some_floats(src + k * r->s + 4 * c, r->channels - c));
    exponentials_of(x, from, 1, e, count);
    EACH(put_f32((uint8_t *)(bench + k * r->pitch + c), e[k]));
}
enum { ROWS_AHEAD = 8 }; /* counted from the rows whose maxima are computed; 4 are slower */
/* Write exponentials of up to four rows to the bench, and 1 / their sums to `factor`. In the same loop, unless these are NULL,
 * compute `most_next` of the `next` rows, and write those in the bench `done`, times the factors given, to `dst`. */
INLINE void rows_walked(const Rows *r, const uint8_t *src, const F most[4], float *bench, int count, F factor[4], const uint8_t *next,
                        F most_next[4], const float *done, uint8_t *dst, int far) {
    enum { STEP = WIDTH < 8 ? 8 : WIDTH };
    F e[4] = {{0}, {0}, {0}, {0}}, more[4];
    FourRows rows = rows_of(every(-__builtin_inff()));
    join_rows(&rows, most, 1);
    const Origin all = origin_of(of_rows(&rows, 1));
    Origin from[4];
    EACH(from[k] = ((Origin){of_row(all.base, k), of_row(all.magic, k), of_row(all.limit, k)}));
    Double4 sum = {0};
    if (next) EACH(most_next[k] = last_of(r, next + k * r->s));
    for (int64_t c = 0; c < r->channels; c += STEP) {
        rows_exponentials(r, src, c, from, bench, count, e);
        if (WIDTH < STEP && c + WIDTH < r->channels) {
            rows_exponentials(r, src, c + WIDTH, from, bench, count, more);
            EACH(e[k] += more[k]);
        }
        for (int64_t i = c; i < c + STEP && i < r->even; i += WIDTH) {
            if (far) EACH(__builtin_prefetch(next + (k + ROWS_AHEAD) * r->s + 4 * i));
            if (far) EACH(__builtin_prefetch(dst + (k + ROWS_AHEAD) * r->d + 4 * i, 1));
            if (next) EACH(most_next[k] = largest2(most_next[k], get_f32(next + k * r->s + 4 * i)));
            if (done) EACH(put_f32(dst + k * r->d + 4 * i, floats(done + k * r->pitch + i) * factor[k]));
        }
        if (c % SUMMED == 0) {
            if (c) sum += four_doubles(four_of(of_rows(&rows, 0)));
            rows = rows_of(every(0.0f));
        }
        join_rows(&rows, e, 0);
    }
    if (done && r->even < r->channels) {
        const int64_t last = r->channels - WIDTH;
        EACH(put_f32(dst + k * r->d + 4 * last, floats(done + k * r->pitch + last) * factor[k]));
    }
    const Float4 factors = four_floats(1.0 / (sum + four_doubles(four_of(of_rows(&rows, 0)))));
    EACH(factor[k] = every(factors[k]));
}
/* One after the other, a row or four at a time. The next ones are prefetched, because prefetchers do not see so many short rows
 * as a stream: 0.95 of the time for data beyond L2. */
INLINE void softmax_rows(const Rows *r, const uint8_t *src, uint8_t *dst, int64_t n, int count, float *bench) {
    for (; n >= count; n -= count, src += count * r->s, dst += count * r->d) {
        F most[4], factor[4];
        rows_most(r, src, count, most);
        for (int k = count; k < 4; ++k) most[k] = most[0];
        for (int64_t at = 0; at < 4 * r->channels * count; at += 64) __builtin_prefetch(src + count * r->s + at);
        rows_walked(r, src, most, bench, count, factor, NULL, NULL, NULL, NULL, 0);
        rows_scaled(r, bench, factor, dst, count);
    }
}
static void HERE(softmax_one_row)(const Rows *r, const uint8_t *src, uint8_t *dst, int64_t n, float *bench) {
    softmax_rows(r, src, dst, n, 1, bench);
}
static void HERE(softmax_four_rows)(const Rows *r, const uint8_t *src, uint8_t *dst, int64_t n, float *bench) {
    softmax_rows(r, src, dst, n, 4, bench);
}
/* Four rows or more; the last four overlap those before if the number is no multiple of four. One loop works on three groups of
 * four, so that none waits for the end of a row: it pays with 32 registers, from 65 channels on (measured). */
static void HERE(softmax_flowing_rows)(const Rows *r, const uint8_t *src, uint8_t *dst, int64_t n, float *bench, float *other, int far) {
    F most[4], next[4], factor[4];
    rows_most(r, src, 4, most);
    float *done = NULL;
    uint8_t *to = dst;
    for (int64_t i = 0; i < n; i += 4) {
        const uint8_t *now = src + at_most(i, n - 4) * r->s, *after = src + at_most(i + 4, n - 4) * r->s;
        if (!done)
            rows_walked(r, now, most, bench, 4, factor, after, next, NULL, NULL, 0);
        else if (!far)
            rows_walked(r, now, most, bench, 4, factor, after, next, done, to, 0);
        else
            rows_walked(r, now, most, bench, 4, factor, after, next, done, to, 1);
        done = bench, bench = other, other = done;
        to = dst + at_most(i, n - 4) * r->d;
        memcpy(most, next, sizeof most);
    }
    rows_scaled(r, done, factor, to, 4);
}
/* `other`: a second bench, if there are more than four rows; NULL: no room for four at a time. */
static void HERE(softmax_across)(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int64_t n, int64_t channels, float *bench,
                                 float *other, int far) {
    const Rows r = {s, d, channels, channels - channels % WIDTH, channels - channels % WIDTH + WIDTH};
    const int64_t fours = other ? n - n % 4 : 0;
    if (VB == 64 && channels > 64 && fours) {
        HERE(softmax_flowing_rows)(&r, src, dst, n, bench, other, far);
        return;
    }
    HERE(softmax_four_rows)(&r, src, dst, fours, bench);
    HERE(softmax_one_row)(&r, src + fours * s, dst + fours * d, n - fours, bench);
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

/* `past`: whole cache lines are stored past the caches. */
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

static void HERE(copy)(const uint8_t *src, uint8_t *dst, int64_t bytes) { copy_past(src, dst, bytes); }
