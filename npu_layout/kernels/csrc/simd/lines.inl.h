/* Bilinear lines of pictures in 16-bit elements, from which a row is blended, and means of 2 by 2. */
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
#if VB == 64
    _mm512_mask_storeu_epi8(out, ~0ull >> (VB - n), v);
#else
    uint8_t room[VB];
    put(room, (V)v);
    memcpy(out, room, (size_t)n);
#endif
}
INLINE void put_half(uint8_t *out, W v, int64_t n) { /* 16-bit elements from 0 to 255, as bytes */
#if VB == 64
    const __m256i x = _mm512_cvtepi16_epi8(v);
    if (n >= HALF) _mm256_storeu_si256((void *)out, x);
    else _mm256_mask_storeu_epi8((void *)out, ~0u >> (HALF - n), x);
#else
    const W x = in_order(Y(packus_epi16)(v, v));
    uint8_t room[VB];
#if VB == 32
    if (n >= HALF) _mm_storeu_si128((void *)out, _mm256_castsi256_si128(x));
#else
    if (n >= HALF) _mm_storel_epi64((void *)out, x);
#endif
    else put(room, (V)x), memcpy(out, room, (size_t)n);
#endif
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
static void HERE(picture_line)(const uint8_t *pairs, const Weights *weights, int64_t n, int16_t *line) {
    const Weights w = *weights;
    for (int64_t i = 0; i < n; i += HALF) put_words(line + i, line_of(pairs, &w, i));
}

INLINE W blended(W a, W b, W above, W below, int two) {
    W x = Y(mulhi_epi16)(a, above);
    if (two) x = PLUS(x, Y(mulhi_epi16)(b, below));
    return Y(srli_epi16)(PLUS(x, word(2)), 2);
}
INLINE void blend_rows(const int16_t *a, const int16_t *b, int above, int below, int64_t n, uint8_t *out, int two) {
    const W first = word(above), second = word(below);
    for (int64_t i = 0; i < n; i += VB) {
        W x[2];
        for (int k = 0; k < 2; ++k) x[k] = blended(words_at(a + i + k * HALF), words_at(b + i + k * HALF), first, second, two);
        put_some(out + i, in_order(Y(packus_epi16)(x[0], x[1])), n - i);
    }
}
static void HERE(picture_blend)(const int16_t *a, const int16_t *b, int above, int below, int64_t n, uint8_t *out) {
    if (below) blend_rows(a, b, above, below, n, out, 1);
    else blend_rows(a, a, above, 0, n, out, 0);
}
INLINE void blend_lines(const uint8_t *a, const uint8_t *b, const Weights *weights, int above, int below, int64_t n, uint8_t *out,
                        int two) {
    const W first = word(above), second = word(below);
    const Weights w = *weights; /* stores of bytes might change what pointers point to */
    for (int64_t i = 0; i < n; i += VB) {
        W x[2];
        for (int k = 0; k < 2; ++k)
            x[k] = blended(line_of(a, &w, i + k * HALF), line_of(b, &w, i + k * HALF), first, second, two);
        put_some(out + i, in_order(Y(packus_epi16)(x[0], x[1])), n - i);
    }
}
static void HERE(picture_blend_pairs)(const uint8_t *a, const uint8_t *b, const Weights *weights, int above, int below, int64_t n,
                                      uint8_t *out) {
    if (below) blend_lines(a, b, weights, above, below, n, out, 1);
    else blend_lines(a, a, weights, above, 0, n, out, 0);
}

INLINE W sum_of_pairs(W x) {
#if VB >= 32 || defined(__SSSE3__)
    return Y(maddubs_epi16)(x, Y(set1_epi8)(1));
#else
    return PLUS(Y(srli_epi16)(x, 8), x & word(255));
#endif
}
INLINE W mean_of(W a, W b) { return Y(srli_epi16)(PLUS(PLUS(sum_of_pairs(a), sum_of_pairs(b)), word(2)), 2); }
static void HERE(picture_mean)(const uint8_t *a, const uint8_t *b, int64_t n, uint8_t *out) {
    for (int64_t i = 0; i < n; i += VB) {
        const uint8_t *p = a + 2 * i, *q = b + 2 * i;
        const W first = mean_of((W)whole(p), (W)whole(q)), second = mean_of((W)whole(p + VB), (W)whole(q + VB));
        put_some(out + i, in_order(Y(packus_epi16)(first, second)), n - i);
    }
}
#endif
