/* Rows of YUV: bilinear lines, and colour with 20 fractional bits exactly, in 16-bit elements.
 *
 * The sum s = y * luma + terms has up to 31 bits. Both summands are split at bit 16: the result is
 * ((high + high' + carry) >> 4), saturated, where `carry` is whether low + low' has 17 bits, which one comparison answers:
 * low' > 0xffff - low. The halves of the terms are shared by the pixels of one sample of chroma, those of y by R, G and B. */
#if defined(__SSE2__)
#if VB == 64
#define Y(name) _mm512_##name
typedef __m512i W;
INLINE W words(const uint8_t *p) { return _mm512_cvtepu8_epi16(_mm256_loadu_si256((const void *)p)); }
INLINE W carried(W high, W low, W limit) {
    return _mm512_mask_sub_epi16(high, _mm512_cmpgt_epi16_mask(low, limit), high, _mm512_set1_epi16(-1));
}
INLINE W in_order(W v) { return _mm512_permutexvar_epi64(_mm512_set_epi64(7, 5, 3, 1, 6, 4, 2, 0), v); }
#elif VB == 32
#define Y(name) _mm256_##name
typedef __m256i W;
INLINE W words(const uint8_t *p) { return _mm256_cvtepu8_epi16(_mm_loadu_si128((const void *)p)); }
INLINE W carried(W high, W low, W limit) { return _mm256_sub_epi16(high, _mm256_cmpgt_epi16(low, limit)); }
INLINE W in_order(W v) { return _mm256_permute4x64_epi64(v, 0xD8); }
#else
#define Y(name) _mm_##name
typedef __m128i W;
INLINE W words(const uint8_t *p) { return _mm_unpacklo_epi8(_mm_loadl_epi64((const void *)p), _mm_setzero_si128()); }
INLINE W carried(W high, W low, W limit) { return _mm_sub_epi16(high, _mm_cmpgt_epi16(low, limit)); }
INLINE W in_order(W v) { return v; }
#endif
enum { HALF = VB / 2 }; /* 16-bit elements of a vector */
#define PLUS Y(add_epi16)
#define TIMES_LOW Y(mullo_epi16)

INLINE W word(int x) { return Y(set1_epi16)((int16_t)x); }
INLINE W words_at(const int16_t *p) { return (W)whole((const uint8_t *)p); }
INLINE void put_words(int16_t *p, W v) { put((uint8_t *)p, (V)v); }
INLINE void put_some(uint8_t *out, W v, int64_t n) {
    if (n >= VB) {
        put(out, (V)v);
        return;
    }
    uint8_t room[VB];
    put(room, (V)v);
    memcpy(out, room, (size_t)n);
}
INLINE void put_half(uint8_t *out, W v, int64_t n) { /* 16-bit elements from 0 to 255, as bytes */
    uint8_t room[VB];
    put(room, (V)in_order(Y(packus_epi16)(v, v)));
    if (n >= HALF) memcpy(out, room, HALF);
    else memcpy(out, room, (size_t)n);
}
/* In each lane two halves, interleaved. */
INLINE W interleaved(W v) {
#if SHUFFLES
    const uint8_t order[16] = {0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15};
    return (W)shuffled((V)v, broadcast(order));
#else
    return _mm_unpacklo_epi8(v, _mm_srli_si128(v, 8));
#endif
}

/* 16 sums of pairs, a multiple of 16. */
INLINE W line_of(const uint8_t *pairs, const Weights *weights, int64_t i) {
    const W x = (W)whole(pairs + 2 * i);
#if VB >= 32 || defined(__SSSE3__)
    const W high = (W)whole((const uint8_t *)weights->high + 2 * i), low = (W)whole((const uint8_t *)weights->low + 2 * i);
    return PLUS(Y(maddubs_epi16)(x, high), Y(srli_epi16)(Y(maddubs_epi16)(x, low), 4));
#else
    const W none = _mm_setzero_si128();
    const W a = _mm_madd_epi16(_mm_unpacklo_epi8(x, none), words_at(weights->whole + 2 * i));
    const W b = _mm_madd_epi16(_mm_unpackhi_epi8(x, none), words_at(weights->whole + 2 * i + 8));
    return _mm_packs_epi32(_mm_srai_epi32(a, 4), _mm_srai_epi32(b, 4));
#endif
}
static void HERE(yuv_line)(const uint8_t *pairs, const Weights *weights, int64_t n, int16_t *line) {
    for (int64_t i = 0; i < n; i += HALF) put_words(line + i, line_of(pairs, weights, i));
}

INLINE W blended(const int16_t *a, const int16_t *b, W above, W below, int two) {
    W x = Y(mulhi_epi16)(words_at(a), above);
    if (two) x = PLUS(x, Y(mulhi_epi16)(words_at(b), below));
    return Y(srli_epi16)(PLUS(x, word(2)), 2);
}
INLINE void blend_rows(const int16_t *a, const int16_t *b, int above, int below, int64_t n, uint8_t *out, int two) {
    const W first = word(above), second = word(below);
    for (int64_t i = 0; i < n; i += VB)
        put_some(out + i, in_order(Y(packus_epi16)(blended(a + i, b + i, first, second, two),
                                                   blended(a + i + HALF, b + i + HALF, first, second, two))), n - i);
}
static void HERE(yuv_blend)(const int16_t *a, const int16_t *b, int above, int below, int64_t n, uint8_t *out) {
    if (below) blend_rows(a, b, above, below, n, out, 1);
    else blend_rows(a, a, above, 0, n, out, 0);
}

INLINE W sum_of_pairs(W x) {
#if VB >= 32 || defined(__SSSE3__)
    return Y(maddubs_epi16)(x, Y(set1_epi8)(1));
#else
    return PLUS(Y(srli_epi16)(x, 8), x & word(255));
#endif
}
INLINE W mean_of(W a, W b) { return Y(srli_epi16)(PLUS(PLUS(sum_of_pairs(a), sum_of_pairs(b)), word(2)), 2); }
static void HERE(yuv_mean)(const uint8_t *a, const uint8_t *b, int64_t n, uint8_t *out) {
    for (int64_t i = 0; i < n; i += VB) {
        const uint8_t *p = a + 2 * i, *q = b + 2 * i;
        const W first = mean_of((W)whole(p), (W)whole(q)), second = mean_of((W)whole(p + VB), (W)whole(q + VB));
        put_some(out + i, in_order(Y(packus_epi16)(first, second)), n - i);
    }
}

/* A factor of 32 bits: its upper half, and its lower one, signed or unsigned. */
typedef struct {
    W high, low;
} Factor;
INLINE Factor signed_factor(int32_t c) { return (Factor){word((c + 0x8000) >> 16), word(c)}; }
INLINE Factor unsigned_factor(int32_t c) { return (Factor){word(c >> 16), word(c)}; }

typedef struct {
    W high, limit; /* the largest low half of terms without a carry, its top bit flipped */
} Luma;
INLINE Luma luma_of(W y, Factor luma) {
    return (Luma){PLUS(TIMES_LOW(y, luma.high), Y(mulhi_epu16)(y, luma.low)), TIMES_LOW(y, luma.low) ^ word(0x7fff)};
}
INLINE W channel(Luma y, W high, W low) { return Y(srai_epi16)(carried(PLUS(y.high, high), low, y.limit), 4); }

typedef struct {
    W high[3], low[3];
} TermsOf;
typedef struct {
    Factor red_v, green_u, green_v, blue_u;
} Factors;
INLINE Factors factors_of(const Color *c) {
    return (Factors){signed_factor(c->red_v), signed_factor(c->green_u), signed_factor(c->green_v), signed_factor(c->blue_u)};
}
INLINE W upper(W x, Factor c) { return PLUS(TIMES_LOW(x, c.high), Y(mulhi_epi16)(x, c.low)); }
INLINE TermsOf terms_of(W u, W v, Factors c) {
    const W half = word(8), top = word(-0x8000), center = word(128); /* 2**19 is 8 above the point */
    u = Y(sub_epi16)(u, center), v = Y(sub_epi16)(v, center);
    const W green_u = TIMES_LOW(u, c.green_u.low), green_v = TIMES_LOW(v, c.green_v.low);
    const W green = PLUS(PLUS(upper(u, c.green_u), upper(v, c.green_v)), half);
    return (TermsOf){
        {PLUS(upper(v, c.red_v), half), carried(green, green_v ^ top, green_u ^ word(0x7fff)), PLUS(upper(u, c.blue_u), half)},
        {TIMES_LOW(v, c.red_v.low) ^ top, PLUS(green_u, green_v) ^ top, TIMES_LOW(u, c.blue_u.low) ^ top}};
}
INLINE TermsOf terms_at(const uint8_t *u, const uint8_t *v, int64_t i, Factors factors) {
    if (v) return terms_of(words(u + i), words(v + i), factors);
    const W both = (W)whole(u + 2 * i);
    return terms_of(both & word(255), Y(srli_epi16)(both, 8), factors);
}
INLINE void all_terms(const uint8_t *u, const uint8_t *v, const Color *color, int64_t n, const Terms *terms) {
    const Factors factors = factors_of(color);
    const Terms to = *terms; /* stores might change what pointers point to */
    for (int64_t i = 0; i < n; i += HALF) {
        const TermsOf t = terms_at(u, v, i, factors);
        for (int c = 0; c < 3; ++c) put_words(to.high[c] + i, t.high[c]), put_words((int16_t *)to.low[c] + i, t.low[c]);
    }
}
static void HERE(yuv_terms)(const uint8_t *u, const uint8_t *v, const Color *color, int64_t n, const Terms *terms) {
    if (v) all_terms(u, v, color, n, terms);
    else all_terms(u, NULL, color, n, terms);
}

INLINE W words_of_y(const uint8_t *y, W offset) { return Y(subs_epu16)(words(y), offset); }
static void HERE(yuv_luma)(const uint8_t *y, const Color *color, int64_t n, uint8_t *out) {
    const Factor luma = unsigned_factor(color->luma);
    const W offset = word(color->offset), half = word(8);
    for (int64_t i = 0; i < n; i += VB) {
        W x[2];
        for (int k = 0; k < 2; ++k) {
            const W at = words_of_y(y + i + k * HALF, offset);
            x[k] = Y(srai_epi16)(PLUS(PLUS(TIMES_LOW(at, luma.high), Y(mulhi_epu16)(at, luma.low)), half), 4);
        }
        put_some(out + i, in_order(Y(packus_epi16)(x[0], x[1])), n - i);
    }
}
INLINE void colors_once(const uint8_t *y, const uint8_t *u, const uint8_t *v, const Color *color, int64_t n, uint8_t *const rgb[3]) {
    const Factor luma = unsigned_factor(color->luma);
    const Factors factors = factors_of(color);
    const W offset = word(color->offset);
    uint8_t *const out[3] = {rgb[0], rgb[1], rgb[2]};
    for (int64_t i = 0; i < n; i += VB) {
        W x[3][2];
        for (int k = 0; k < 2; ++k) {
            const Luma light = luma_of(words_of_y(y + i + k * HALF, offset), luma);
            const TermsOf t = terms_at(u, v, i + k * HALF, factors);
            for (int c = 0; c < 3; ++c) x[c][k] = channel(light, t.high[c], t.low[c]);
        }
        for (int c = 0; c < 3; ++c) put_some(out[c] + i, in_order(Y(packus_epi16)(x[c][0], x[c][1])), n - i);
    }
}
static void HERE(yuv_color_once)(const uint8_t *y, const uint8_t *u, const uint8_t *v, const Color *color, int64_t n,
                                 uint8_t *const rgb[3]) {
    if (v) colors_once(y, u, v, color, n, rgb);
    else colors_once(y, u, NULL, color, n, rgb);
}
static void HERE(yuv_color)(const uint8_t *y, const Terms *terms, const Color *color, int64_t n, uint8_t *const rgb[3]) {
    const Factor luma = unsigned_factor(color->luma);
    const W offset = word(color->offset);
    const Terms from = *terms;
    uint8_t *const out[3] = {rgb[0], rgb[1], rgb[2]};
    for (int64_t i = 0; i < n; i += VB) {
        const Luma a = luma_of(words_of_y(y + i, offset), luma), b = luma_of(words_of_y(y + i + HALF, offset), luma);
        for (int c = 0; c < 3; ++c) {
            const int16_t *high = from.high[c] + i, *low = (const int16_t *)from.low[c] + i;
            const W x = channel(a, words_at(high), words_at(low)), z = channel(b, words_at(high + HALF), words_at(low + HALF));
            put_some(out[c] + i, in_order(Y(packus_epi16)(x, z)), n - i);
        }
    }
}

/* VB pixels, whose even and odd ones are apart, as the terms that they share are neighbours; n of them are in memory. */
typedef struct {
    Luma even, odd;
} Pixels;
INLINE Pixels pixels_of(const uint8_t *y, int64_t n, W offset, Factor luma) {
    uint8_t room[VB];
    if (n < VB) memcpy(room, y, (size_t)n), memset(room + n, 0, (size_t)(VB - n));
    const W x = Y(subs_epu8)((W)whole(n < VB ? room : y), offset);
    return (Pixels){luma_of(x & word(255), luma), luma_of(Y(srli_epi16)(x, 8), luma)};
}
static void HERE(yuv_color_shared)(const uint8_t *y, const Terms *terms, const Color *color, int64_t n, uint8_t *const rgb[3]) {
    const Factor luma = unsigned_factor(color->luma);
    const W offset = Y(set1_epi8)((char)color->offset);
    const Terms from = *terms;
    uint8_t *const out[3] = {rgb[0], rgb[1], rgb[2]};
    for (int64_t i = 0; i < n; i += VB) {
        const Pixels p = pixels_of(y + i, n - i, offset, luma);
        for (int c = 0; c < 3; ++c) {
            const W high = words_at(from.high[c] + i / 2), low = words_at((const int16_t *)from.low[c] + i / 2);
            const W x = Y(packus_epi16)(channel(p.even, high, low), channel(p.odd, high, low));
            put_some(out[c] + i, interleaved(x), n - i);
        }
    }
}
INLINE void color_means(const uint8_t *const y[2], const uint8_t *u, const uint8_t *v, const Color *color, int64_t n,
                        uint8_t *const rgb[3]) {
    const Factor luma = unsigned_factor(color->luma);
    const Factors factors = factors_of(color);
    const W offset = Y(set1_epi8)((char)color->offset);
    uint8_t *const out[3] = {rgb[0], rgb[1], rgb[2]};
    const uint8_t *const above = y[0], *const below = y[1];
    for (int64_t i = 0; i < n; i += HALF) {
        const TermsOf t = terms_at(u, v, i, factors);
        const Pixels a = pixels_of(above + 2 * i, 2 * (n - i), offset, luma), b = pixels_of(below + 2 * i, 2 * (n - i), offset, luma);
        for (int c = 0; c < 3; ++c) {
            const W x = Y(packus_epi16)(channel(a.even, t.high[c], t.low[c]), channel(a.odd, t.high[c], t.low[c]));
            const W z = Y(packus_epi16)(channel(b.even, t.high[c], t.low[c]), channel(b.odd, t.high[c], t.low[c]));
            put_half(out[c] + i, mean_of(interleaved(x), interleaved(z)), n - i);
        }
    }
}
static void HERE(yuv_color_mean)(const uint8_t *const y[2], const uint8_t *u, const uint8_t *v, const Color *color, int64_t n,
                                 uint8_t *const rgb[3]) {
    if (v) color_means(y, u, v, color, n, rgb);
    else color_means(y, u, NULL, color, n, rgb);
}
#endif
