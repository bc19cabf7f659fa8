/* Grayscale, from planes or from pixels. */
/* Gray of 8-bit pixels: (3735 B + 19235 G + 9798 R + 2**14) >> 15, as in OpenCV. */
INLINE uint8_t gray_pixel_u8(uint8_t b, uint8_t g, uint8_t r) {
    return (uint8_t)((3735u * b + 19235u * g + 9798u * r + (1u << 14)) >> 15);
}

/* Weights in base 256 with signed low digits, 3735 = 15, -105; 19235 = 75, 35; 9798 = 38, 70: then
 * (256 high + low + 2**14) >> 15 is (high + (low >> 8) + 64) >> 7 exactly, and no sum exceeds 16 bits. */
#if VB >= 32 || defined(__SSSE3__)
#if VB == 64
#define OP(name) _mm512_##name
typedef __m512i X;
#elif VB == 32
#define OP(name) _mm256_##name
typedef __m256i X;
#else
#define OP(name) _mm_##name
typedef __m128i X;
#endif
#define WEIGHTS(first, second) OP(set1_epi16)((int16_t)(((uint8_t)(second) << 8) | (uint8_t)(first)))
/* With 16 bits each: the first two channels of a pixel, and the third one with a zero. Blue is the first one or the third. */
INLINE X gray_half(X pair, X third, int blue) {
    const X high = OP(add_epi16)(OP(maddubs_epi16)(pair, blue ? WEIGHTS(38, 75) : WEIGHTS(15, 75)),
                                 OP(maddubs_epi16)(third, blue ? WEIGHTS(15, 0) : WEIGHTS(38, 0)));
    const X low = OP(add_epi16)(OP(maddubs_epi16)(pair, blue ? WEIGHTS(70, 35) : WEIGHTS(-105, 35)),
                                OP(maddubs_epi16)(third, blue ? WEIGHTS(-105, 0) : WEIGHTS(70, 0)));
    /* The instruction rounds: (256 x + 2**14) >> 15. */
    return OP(mulhrs_epi16)(OP(add_epi16)(high, OP(srai_epi16)(low, 8)), OP(set1_epi16)(256));
}
INLINE V gray_vector(V b, V g, V r) {
    const V none = {0};
    return (V)OP(packus_epi16)(gray_half((X)VLOW_1(r, g), (X)VLOW_1(b, none), 1),
                               gray_half((X)VHIGH_1(r, g), (X)VHIGH_1(b, none), 1));
}

/* VB / 4 pixels of 3 or 4 channels: in each lane the pairs of the first two channels, then the third ones with zeros. With 3
 * channels some bytes behind the pixels are read; `inner`: 4 bytes before them may be read too, which saves AVX2 the insertion of
 * a lane, and a fifth of the time. */
INLINE X pairs_and_thirds(int channels, int inner, const uint8_t *p) {
    uint8_t order[16];
    for (int k = 0; k < 4; ++k) {
        order[2 * k] = (uint8_t)(channels * k), order[2 * k + 1] = (uint8_t)(channels * k + 1);
        order[8 + 2 * k] = (uint8_t)(channels * k + 2), order[9 + 2 * k] = 0x80;
    }
    if (channels == 4) return (X)shuffled(whole(p), broadcast(order));
#if VB == 64
    const X lane = _mm512_set_epi32(12, 11, 10, 9, 9, 8, 7, 6, 6, 5, 4, 3, 3, 2, 1, 0);
    (void)inner;
    return shuffled(_mm512_permutexvar_epi32(lane, whole(p)), broadcast(order));
#else
#if VB == 32
    if (inner) {
        const X behind_four = _mm256_set_m128i(_mm_setzero_si128(), _mm_set1_epi8(4));
        return shuffled(whole(p - 4), _mm256_add_epi8(broadcast(order), behind_four));
    }
#endif
    (void)inner;
    return (X)shuffled(lanes(p, 12), broadcast(order));
#endif
}
INLINE V gray_of_pixels(int channels, int blue, int inner, const uint8_t *p) {
    X gray[2];
    for (int k = 0; k < 2; ++k, p += channels * VB / 2) {
        const X x = pairs_and_thirds(channels, inner, p), y = pairs_and_thirds(channels, inner, p + channels * VB / 4);
        gray[k] = gray_half(OP(unpacklo_epi64)(x, y), OP(unpackhi_epi64)(x, y), blue);
    }
    return TURN4((V)OP(packus_epi16)(gray[0], gray[1]), SCATTERED);
}
#define GRAYS_PIXELS 1
#elif defined(__SSE2__)
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
#elif defined(__aarch64__)
#define GRAY_HALF(high, half)                                                                                      \
    INLINE uint16x8_t gray##high(uint8x16_t b, uint8x16_t g, uint8x16_t r) {                                       \
        const uint16x8_t above = vmlal##high##_u8(                                                                 \
            vmlal##high##_u8(vmull##high##_u8(half(r), half(vdupq_n_u8(38))), half(g), half(vdupq_n_u8(75))), half(b), \
            half(vdupq_n_u8(15)));                                                                                 \
        const uint16x8_t below = vmlsl##high##_u8(                                                                 \
            vmlal##high##_u8(vmull##high##_u8(half(r), half(vdupq_n_u8(70))), half(g), half(vdupq_n_u8(35))), half(b), \
            half(vdupq_n_u8(105)));                                                                                \
        return (uint16x8_t)vsraq_n_s16((int16x8_t)above, (int16x8_t)below, 8);                                     \
    }
#define ALL(x) x
GRAY_HALF(, vget_low_u8)
GRAY_HALF(_high, ALL)
#undef ALL
INLINE V gray_vector(V b, V g, V r) {
    const uint8x16_t x[3] = {(uint8x16_t)b, (uint8x16_t)g, (uint8x16_t)r};
    const uint8x8_t low = vrshrn_n_u16(gray(x[0], x[1], x[2]), 7);
    return (V)vrshrn_high_n_u16(low, gray_high(x[0], x[1], x[2]), 7);
}
INLINE V gray_of_pixels(int channels, int blue, int inner, const uint8_t *p) {
    V x[4];
    (void)inner;
    if (channels == 3) load_planes3_1(p, x);
    else load_planes4_1(p, x);
    return gray_vector(x[blue], x[1], x[2 - blue]);
}
#define GRAYS_PIXELS 1
#endif

#if defined(__SSE2__) || defined(__aarch64__)
#define GRAY_STEP VB
INLINE void gray_planes_u8(const uint8_t *b, const uint8_t *g, const uint8_t *r, uint8_t *out, int64_t n, int how) {
    if (n < VB) {
        for (int64_t i = 0; i < n; ++i) out[i] = gray_pixel_u8(b[i], g[i], r[i]);
        return;
    }
    enum { STEP = VB };
    const int64_t lead = lead_of(1, out, 1);
    const int far = n >= FAR_FROM || (VB > 16 && how & COLD);
    AT_STEPS {
        fetch_planes(far, b + i, g - b, 2);
        if (far) __builtin_prefetch(r + i + APART);
        put_past(out + i, gray_vector(whole(b + i), whole(g + i), whole(r + i)), how & PAST);
        if (i + VB >= n) return;
    }
}
#else
#define GRAY_STEP 0
INLINE void gray_planes_u8(const uint8_t *restrict b, const uint8_t *restrict g, const uint8_t *restrict r,
                        uint8_t *restrict out, int64_t n, int how) {
    (void)how;
    for (int64_t i = 0; i < n; ++i) out[i] = gray_pixel_u8(b[i], g[i], r[i]);
}
#endif

/* The same for uint16, in 32 bits; float32 is never fused. */
INLINE uint16_t gray_pixel_u16(uint16_t b, uint16_t g, uint16_t r) {
    return (uint16_t)((3735u * b + 19235u * g + 9798u * r + (1u << 14)) >> 15);
}
INLINE float gray_pixel_f32(float b, float g, float r) { return b * 0.114f + g * 0.587f + r * 0.299f; }
INLINE void gray_vector_u16(const uint8_t *b, const uint8_t *g, const uint8_t *r, uint8_t *out, int past) {
    (void)past;
    const U sum = 3735u * (U)widen_u16(b) + 19235u * (U)widen_u16(g) + 9798u * (U)widen_u16(r) + (1u << 14);
    narrow_16(out, (S)(sum >> 15));
}
INLINE void gray_vector_f32(const uint8_t *b, const uint8_t *g, const uint8_t *r, uint8_t *out, int past) {
    put_past(out, (V)(get_f32(b) * every(0.114f) + get_f32(g) * every(0.587f) + get_f32(r) * every(0.299f)), past);
}
#define GRAY_PLANES(type, element)                                                                               \
    INLINE void gray_planes_##type(const uint8_t *b, const uint8_t *g, const uint8_t *r, uint8_t *out, int64_t n, int how) { \
        enum { SIZE = sizeof(element) };                                                                         \
        int64_t i = 0;                                                                                           \
        for (const int64_t lead = lead_of(how & PAST, out, SIZE); i < lead && i < n; ++i)                              \
            GRAY_ONE(type, element, b + i * SIZE, g + i * SIZE, r + i * SIZE, out + i * SIZE);                   \
        for (; i + WIDTH <= n; i += WIDTH)                                                                       \
            gray_vector_##type(b + i * SIZE, g + i * SIZE, r + i * SIZE, out + i * SIZE, how & PAST);                  \
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

#ifdef GRAYS_PIXELS
/* Pixels of 3 or 4 channels, blue first or third; the last ones through a buffer, so that nothing behind them is read. There is a
 * function for each case: GCC merges two loops that differ in constants, and loads these again at every step. */
INLINE void gray_pixels_u8(int channels, int blue, const uint8_t *p, uint8_t *out, int64_t n, int how) {
    enum { BEHIND = 6, BEFORE = 2 }; /* pixels that must follow those that are read, and precede all but the first ones */
    const int64_t lead = lead_of(how & PAST, out, 1);
    int64_t i = 0;
    if (VB + BEHIND <= n) put(out, gray_of_pixels(channels, blue, 0, p)), i = lead >= BEFORE ? lead : VB;
    for (const int far = n * channels >= (channels == 4 ? FAR_FROM : FAR_MEMORY); far && i + VB + BEHIND <= n; i += VB) {
        fetch_ahead(FAR, p + i * channels, channels * VB);
        put_past(out + i, gray_of_pixels(channels, blue, 1, p + i * channels), how & PAST);
    }
    for (; i + VB + BEHIND <= n; i += VB) put_past(out + i, gray_of_pixels(channels, blue, 1, p + i * channels), how & PAST);
    for (int64_t some; i < n; i += some) {
        uint8_t room[4 * (VB + BEHIND)] = {0}, gray[VB];
        some = n - i < VB ? n - i : VB;
        memcpy(room, p + i * channels, (size_t)(some * channels - (channels == 4)));
        put(gray, gray_of_pixels(channels, blue, 0, room));
        memcpy(out + i, gray, (size_t)some);
    }
}
#define GRAY_PIXELS(channels, blue)                                                                                      \
    OUT_OF_LINE void HERE(gray##channels##_##blue)(const uint8_t *p, uint8_t *out, int64_t n, int how) { \
        gray_pixels_u8(channels, blue, p, out, n, how);                                                                       \
    }
GRAY_PIXELS(3, 0)
GRAY_PIXELS(3, 2)
GRAY_PIXELS(4, 0)
GRAY_PIXELS(4, 2)
#endif

#if defined(PACKS) || defined(STRUCTURES)
#define GRAYS_FLOATS 1
/* WIDTH pixels of 3 or 4 floats: the first three channels of each. */
INLINE void split_floats(int channels, const uint8_t *p, F v[3]) {
#ifdef STRUCTURES
    V x[4];
    if (channels == 3) load_planes3_4(p, x);
    else load_planes4_4(p, x);
    for (int c = 0; c < 3; ++c) v[c] = (F)x[c];
#elif VB == 64
    FI x[3] = {(FI)whole(p), (FI)whole(p + VB), (FI)whole(p + 2 * VB)};
    for (int c = 0; c < 3; ++c) IN_REGISTER(x[c]);
    const S k = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    for (int c = 0; c < 3; ++c) {
        if (channels == 3) {
            const S at = 3 * k + c, behind = at >= 32;
            const FI near = _mm512_permutex2var_ps(x[0], (I)at, x[1]);
            v[c] = (F)_mm512_permutex2var_ps(near, (I)((~behind & k) | (behind & (at - 16))), x[2]);
        } else {
            const I at = (I)(4 * k + c);
            const FI low = _mm512_permutex2var_ps(x[0], at, x[1]), high = _mm512_permutex2var_ps(x[2], at, (FI)whole(p + 3 * VB));
            v[c] = (F)_mm512_shuffle_f32x4(low, high, 0x44);
        }
    }
#else
#define FLOATS_OF(x, y, i, j, k, l) PACKS(shuffle_ps)((FI)(x), (FI)(y), (i) | (j) << 2 | (k) << 4 | (l) << 6)
    /* With 4 channels lanes alternate, and one permutation of the result restores the order. */
    const int lanes_of_12 = channels == 3;
    const V a = lanes_of_12 ? lanes(p, 48) : whole(p), b = lanes_of_12 ? lanes(p + 16, 48) : whole(p + VB);
    const V c = lanes_of_12 ? lanes(p + 32, 48) : whole(p + 2 * VB);
    if (channels == 3) {
        v[0] = (F)FLOATS_OF(a, FLOATS_OF(b, c, 2, 2, 1, 1), 0, 3, 0, 2);
        v[1] = (F)FLOATS_OF(FLOATS_OF(a, b, 1, 1, 0, 0), FLOATS_OF(b, c, 3, 3, 2, 2), 0, 2, 0, 2);
        v[2] = (F)FLOATS_OF(FLOATS_OF(a, b, 2, 2, 1, 1), c, 0, 2, 0, 3);
    } else {
        const V d = whole(p + 3 * VB), ab = VLOW_4(a, b), cd = VLOW_4(c, d);
        v[0] = (F)FLOATS_OF(ab, cd, 0, 1, 0, 1);
        v[1] = (F)FLOATS_OF(ab, cd, 2, 3, 2, 3);
        v[2] = (F)FLOATS_OF(VHIGH_4(a, b), VHIGH_4(c, d), 0, 1, 0, 1);
    }
#undef FLOATS_OF
#endif
}

/* The pixels before the first one that begins at a vector of the source, or 0 if none of the first `most` does. A load that crosses
 * a line costs as much as two. */
INLINE int64_t lead_of_pixels(const uint8_t *src, int64_t step, int64_t most) {
    for (int64_t i = 0; i < most; ++i, src += step)
        if ((uintptr_t)src % VB == 0) return i;
    return 0;
}

/* Pixels of 3 or 4 channels, blue first or third; return how many were done. The fourth channel of the last one may be outside
 * the memory. */
INLINE int64_t gray_pixels_f32(int channels, int blue, const uint8_t *p, uint8_t *out, int64_t pixels, int how) {
    enum { STEP = WIDTH };
    const int64_t n = pixels - (channels == 4), lead = how & PAST ? lead_of(1, out, 4) : lead_of_pixels(p, 4 * channels, STEP);
    const int reach = reach_of_lines(n * 4 * channels, how);
    if (n < STEP) return 0;
    AT_STEPS {
        F v[3];
        const uint8_t *from = p + 4 * channels * i;
        fetch_ahead(reach, from, channels * VB);
        split_floats(channels, from, v);
        const F gray = v[blue] * every(0.114f) + v[1] * every(0.587f) + v[2 - blue] * every(0.299f);
        put_past(out + 4 * i, VB == 32 && channels == 4 ? (V)TURN4((V)gray, SCATTERED) : (V)gray, how & PAST);
        if (i + STEP >= n) return n;
    }
}
#endif

/* One row: pixels with step s, to neighbours. Pixels of 3 and 4 channels that reach this loop are split into planes in L1; the
 * fourth channel of the last pixel may be outside the memory. */
#define GRAY(type, element, size)                                                                                \
    INLINE void gray_row_##type(const uint8_t *b, const uint8_t *g, const uint8_t *r, int64_t s, uint8_t *out,  \
                                int64_t n, int how) {                                                           \
        if (s == size) { gray_planes_##type(b, g, r, out, n, how); return; }                                    \
        enum { SOME = 1024 };                                                                                    \
        uint8_t planes[4][size * SOME] __attribute__((aligned(64)));                                             \
        const uint8_t *first = b < r ? b : r;                                                                    \
        const int64_t ib = (b - first) / size, ir = (r - first) / size;                                          \
        const int pixels = g == first + size && ib + ir == 2;                                                    \
        for (int64_t i = 0; i < n; i += SOME) {                                                                  \
            int64_t count = n - i < SOME ? n - i : SOME, done = 0;                                               \
            const uint8_t *p = first + i * s;                                                                    \
            if (pixels && s == 3 * size) done = split3_##size(p, planes[0], size * SOME, count, 0, 0);           \
            if (pixels && s == 4 * size)                                                                         \
                done = split4_##size(p, planes[0], size * SOME, i + count < n ? count : count - 1, 0, 0);        \
            if (done) gray_planes_##type(planes[ib], planes[1], planes[ir], out + i * size, done, 0);            \
            for (; done < count; ++done) {                                                                       \
                const int64_t at = (i + done) * s;                                                               \
                GRAY_ONE(type, element, b + at, g + at, r + at, out + (i + done) * size);                        \
            }                                                                                                    \
        }                                                                                                        \
    }
GRAY(u8, uint8_t, 1)
GRAY(u16, uint16_t, 2)
GRAY(f32, float, 4)
static void HERE(gray_u8)(const uint8_t *b, const uint8_t *g, const uint8_t *r, int64_t s, uint8_t *out, int64_t n, int how) {
#ifdef GRAYS_PIXELS
    const int blue_first = g == b + 1 && r == g + 1, red_first = g == r + 1 && b == g + 1;
    if ((s == 3 || s == 4) && (blue_first || red_first)) {
        if (s == 3) blue_first ? HERE(gray3_0)(b, out, n, how) : HERE(gray3_2)(r, out, n, how);
        else blue_first ? HERE(gray4_0)(b, out, n, how) : HERE(gray4_2)(r, out, n, how);
        return;
    }
#endif
    gray_row_u8(b, g, r, s, out, n, how);
}
static void HERE(gray_u16)(const uint8_t *b, const uint8_t *g, const uint8_t *r, int64_t s, uint8_t *out, int64_t n, int how) {
    gray_row_u16(b, g, r, s, out, n, how);
}
static void HERE(gray_f32)(const uint8_t *b, const uint8_t *g, const uint8_t *r, int64_t s, uint8_t *out, int64_t n, int how) {
    int64_t done = 0;
#ifdef GRAYS_FLOATS
    const uint8_t *p = b < r ? b : r;
    if ((s == 12 || s == 16) && g == p + 4 && (b == p + 8 || r == p + 8)) {
        if (s == 12) done = b == p ? gray_pixels_f32(3, 0, p, out, n, how) : gray_pixels_f32(3, 2, p, out, n, how);
        else done = b == p ? gray_pixels_f32(4, 0, p, out, n, how) : gray_pixels_f32(4, 2, p, out, n, how);
    }
#endif
    if (done < n) gray_row_f32(b + done * s, g + done * s, r + done * s, s, out + 4 * done, n - done, done ? 0 : how);
}
