/* Gray pixels, of planes or of pixels. */
/* Gray of 8-bit pixels: (3735 B + 19235 G + 9798 R + 2**14) >> 15, as OpenCV has it. */
INLINE uint8_t gray_pixel_u8(uint8_t b, uint8_t g, uint8_t r) {
    return (uint8_t)((3735u * b + 19235u * g + 9798u * r + (1u << 14)) >> 15);
}

#if VB >= 32 || defined(__SSE2__)
#if VB >= 32
#if VB == 64
#define OP(name) _mm512_##name
#else
#define OP(name) _mm256_##name
#endif
#define WEIGHTS(low, high) OP(set1_epi16)((int16_t)(((uint8_t)(high) << 8) | (uint8_t)(low)))
/* Weights in base 256 with signed low digits, 3735 = 15, -105; 19235 = 75, 35; 9798 = 38, 70: then
 * (256 high + low + 2**14) >> 15 is (high + 64 + (low >> 8)) >> 7 exactly, and no sum leaves 16 bits. */
INLINE V gray_half(V rg, V b1) {
    const V high = OP(add_epi16)(OP(maddubs_epi16)(rg, WEIGHTS(38, 75)), OP(maddubs_epi16)(b1, WEIGHTS(15, 64)));
    const V low = OP(add_epi16)(OP(maddubs_epi16)(rg, WEIGHTS(70, 35)), OP(maddubs_epi16)(b1, WEIGHTS(-105, 0)));
    return OP(srli_epi16)(OP(add_epi16)(high, OP(srai_epi16)(low, 8)), 7);
}
INLINE V gray_vector(V b, V g, V r) {
    const V one = OP(set1_epi8)(1);
    return OP(packus_epi16)(gray_half(VLOW_1(r, g), VLOW_1(b, one)), gray_half(VHIGH_1(r, g), VHIGH_1(b, one)));
}
#else
/* Eight pixels as 16-bit pairs (r, g) and (b, 1). */
INLINE __m128i gray_quarter(__m128i rg, __m128i b1) {
    const __m128i sum = _mm_add_epi32(_mm_madd_epi16(rg, _mm_set1_epi32((19235 << 16) | 9798)),
                                      _mm_madd_epi16(b1, _mm_set1_epi32((16384 << 16) | 3735)));
    return _mm_srli_epi32(sum, 15);
}
INLINE __m128i gray_half(__m128i b, __m128i g, __m128i r) {
    const __m128i one = _mm_set1_epi16(1);
    return _mm_packs_epi32(gray_quarter(_mm_unpacklo_epi16(r, g), _mm_unpacklo_epi16(b, one)),
                           gray_quarter(_mm_unpackhi_epi16(r, g), _mm_unpackhi_epi16(b, one)));
}
INLINE V gray_vector(V b, V g, V r) {
    const __m128i zero = _mm_setzero_si128();
#define LOW(x) _mm_unpacklo_epi8((__m128i)x, zero)
#define HIGH(x) _mm_unpackhi_epi8((__m128i)x, zero)
    return (V)_mm_packus_epi16(gray_half(LOW(b), LOW(g), LOW(r)), gray_half(HIGH(b), HIGH(g), HIGH(r)));
#undef LOW
#undef HIGH
}
#endif
INLINE void gray_planes_u8(const uint8_t *b, const uint8_t *g, const uint8_t *r, uint8_t *out, int64_t n) {
    if (n < VB) {
        for (int64_t i = 0; i < n; ++i) out[i] = gray_pixel_u8(b[i], g[i], r[i]);
        return;
    }
    enum { STEP = VB };
    const int64_t lead = lead_of(1, out, 1);
    AT_STEPS {
        put(out + i, gray_vector(whole(b + i), whole(g + i), whole(r + i)));
        if (i + VB >= n) return;
    }
}
#else
INLINE void gray_planes_u8(const uint8_t *restrict b, const uint8_t *restrict g, const uint8_t *restrict r,
                        uint8_t *restrict out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) out[i] = gray_pixel_u8(b[i], g[i], r[i]);
}
#endif

/* The same of uint16, which 32 bits hold; float32 never fused. */
INLINE uint16_t gray_pixel_u16(uint16_t b, uint16_t g, uint16_t r) {
    return (uint16_t)((3735u * b + 19235u * g + 9798u * r + (1u << 14)) >> 15);
}
INLINE float gray_pixel_f32(float b, float g, float r) { return b * 0.114f + g * 0.587f + r * 0.299f; }
INLINE void gray_vector_u16(const uint8_t *b, const uint8_t *g, const uint8_t *r, uint8_t *out) {
    const U sum = 3735u * (U)widen_u16(b) + 19235u * (U)widen_u16(g) + 9798u * (U)widen_u16(r) + (1u << 14);
    narrow_16(out, (S)(sum >> 15));
}
INLINE void gray_vector_f32(const uint8_t *b, const uint8_t *g, const uint8_t *r, uint8_t *out) {
    put_f32(out, get_f32(b) * every(0.114f) + get_f32(g) * every(0.587f) + get_f32(r) * every(0.299f));
}
#define GRAY_PLANES(type, element)                                                                               \
    INLINE void gray_planes_##type(const uint8_t *b, const uint8_t *g, const uint8_t *r, uint8_t *out, int64_t n) { \
        enum { SIZE = sizeof(element) };                                                                         \
        int64_t i = 0;                                                                                           \
        for (; i + WIDTH <= n; i += WIDTH)                                                                       \
            gray_vector_##type(b + i * SIZE, g + i * SIZE, r + i * SIZE, out + i * SIZE);                        \
        for (; i < n; ++i) GRAY_ONE(type, element, b + i * SIZE, g + i * SIZE, r + i * SIZE, out + i * SIZE);    \
    }
#define GRAY_ONE(type, element, b, g, r, out)                                                                    \
    do {                                                                                                         \
        element x[3];                                                                                            \
        memcpy(x, b, sizeof *x), memcpy(x + 1, g, sizeof *x), memcpy(x + 2, r, sizeof *x);                       \
        *x = gray_pixel_##type(x[0], x[1], x[2]);                                                                \
        memcpy(out, x, sizeof *x);                                                                               \
    } while (0)
GRAY_PLANES(u16, uint16_t)
GRAY_PLANES(f32, float)

/* One row: pixels of step s, gray ones neighbours. Pixels of 3 and 4 channels are split into planes in L1. */
#define GRAY(type, element, size)                                                                                \
    static void HERE(gray_##type)(const uint8_t *b, const uint8_t *g, const uint8_t *r, int64_t s, uint8_t *out, \
                                  int64_t n) {                                                                   \
        if (s == size) {                                                                                         \
            gray_planes_##type(b, g, r, out, n);                                                                 \
            return;                                                                                              \
        }                                                                                                        \
        enum { SOME = 1024 };                                                                                    \
        uint8_t planes[4][size * SOME] __attribute__((aligned(64)));                                             \
        const uint8_t *first = b < r ? b : r;                                                                    \
        const int64_t ib = (b - first) / size, ir = (r - first) / size;                                          \
        const int pixels = g == first + size && ib + ir == 2;                                                    \
        for (int64_t i = 0; i < n; i += SOME) {                                                                  \
            int64_t count = n - i < SOME ? n - i : SOME, done = 0;                                               \
            const uint8_t *p = first + i * s;                                                                    \
            if (pixels && s == 3 * size) done = split3_##size(p, planes[0], size * SOME, count, 0, 0);           \
            /* The last pixel's fourth channel may lie outside. */                                               \
            if (pixels && s == 4 * size)                                                                         \
                done = split4_##size(p, planes[0], size * SOME, i + count < n ? count : count - 1, 0, 0);        \
            if (done) gray_planes_##type(planes[ib], planes[1], planes[ir], out + i * size, done);               \
            for (; done < count; ++done) {                                                                       \
                const int64_t at = (i + done) * s;                                                               \
                GRAY_ONE(type, element, b + at, g + at, r + at, out + (i + done) * size);                        \
            }                                                                                                    \
        }                                                                                                        \
    }
GRAY(u8, uint8_t, 1)
GRAY(u16, uint16_t, 2)
GRAY(f32, float, 4)
