/* The tiles of a transpose: rows of the source become columns of the result. Elements are of 1, 2, 4 or 8 bytes, a constant
 * wherever a tile is inlined. */
typedef void Tile(int size, const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int past);
/* The same of rows in two places: those before `from` at `src`, the rest at `later`. */
typedef void Joint(int size, const uint8_t *src, const uint8_t *later, int from, int64_t s, uint8_t *dst, int64_t d, int past);

/* 16 bytes of rows and columns, and half as many of either, or of both. */
INLINE void tile_from(int size, int first, const uint8_t *src, const uint8_t *later, int from, int64_t s, uint8_t *dst, int64_t d) {
    const int count = 16 / size;
    B1 x[16];
    src += first * s, later += first * s;
    EACH_ROW_OF_TWO(count) x[r] = load16(AT(0));
    transpose_rows16(size, count, x);
    PUT_ROWS(count, store16(dst, x[r]));
}
INLINE void tile(int size, const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int past) {
    (void)past;
    tile_from(size, 0, src, src, 64, s, dst, d);
}
INLINE void tile_half_columns(int size, const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int past) {
    const int half = 8 / size;
    (void)past;
    B1 x[16];
    EACH_ROW(half) x[r] = interleave16_low(size, load8(src), load8(src + half * s));
    transpose_rows16(size, half, x);
    PUT_ROWS(half, store16(dst, x[r]));
}
INLINE void tile_half_rows(int size, const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int past) {
    const int half = 8 / size;
    (void)past;
    B1 x[16];
    EACH_ROW(half) x[r] = load16(src);
    transpose_rows16(size, half, x);
    d *= 2;
    PUT_ROWS(half, (store8(dst, x[r], 0), store8(dst + d / 2, x[r], 1)));
}
INLINE void tile_quarter(int size, const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int past) {
    const int quarter = 4 / size;
    (void)past;
    if (!quarter) {
        memcpy(dst, src, 8);
        return;
    }
    B1 x[16];
    EACH_ROW(quarter) x[r] = interleave16_low(size, load8(src), load8(src + quarter * s));
    transpose_rows16(size, quarter, x);
    d *= 2;
    PUT_ROWS(quarter, (store8(dst, x[r], 0), store8(dst + d / 2, x[r], 1)));
}

/* Tiles that have more rows than one of 16 bytes. */
#if VB >= 32
INLINE __m256i interleave256_low(int size, __m256i a, __m256i b) {
    return size == 1   ? _mm256_unpacklo_epi8(a, b)
           : size == 2 ? _mm256_unpacklo_epi16(a, b)
           : size == 4 ? _mm256_unpacklo_epi32(a, b)
                       : _mm256_unpacklo_epi64(a, b);
}
INLINE __m256i interleave256_high(int size, __m256i a, __m256i b) {
    return size == 1   ? _mm256_unpackhi_epi8(a, b)
           : size == 2 ? _mm256_unpackhi_epi16(a, b)
           : size == 4 ? _mm256_unpackhi_epi32(a, b)
                       : _mm256_unpackhi_epi64(a, b);
}
/* `rounds` of a transpose in two lanes, as transpose_rounds. */
INLINE void transpose_rounds256(int size, int rounds, int count, __m256i *x) {
    __m256i y[16];
    for (int k = 0; k < rounds; ++k) {
        for (int r = 0; r < count / 2; ++r) {
            y[2 * r] = interleave256_low(size, x[r], x[r + count / 2]);
            y[2 * r + 1] = interleave256_high(size, x[r], x[r + count / 2]);
        }
        for (int r = 0; r < count; ++r) x[r] = y[r];
    }
}

/* Twice as many rows: row r in the lower lane, row r + 16 / size in the upper one, which do not mix. */
INLINE void twice_from(int size, int first, const uint8_t *src, const uint8_t *later, int from, int64_t s, uint8_t *dst, int64_t d,
                       int past) {
    const int count = 16 / size;
    __m256i x[16];
    src += first * s, later += first * s;
    EACH_ROW_OF_TWO(count) x[r] = pair(AT(0), AT(count));
    transpose_rounds256(size, log2_of(count), count, x);
    PUT_ROWS(count, put256(dst, x[r], past));
}
INLINE void twice(int size, const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int past) {
    twice_from(size, 0, src, src, 64, s, dst, d, past);
}

/* 16 x 16 bytes in 8 registers, row r with row r + 8: the lanes are the bit that the last permutation brings home. */
INLINE void square16(int size, const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int past) {
    (void)past;
    __m256i x[16];
    EACH_ROW(8) x[r] = pair(src, src + 8 * s);
    transpose_rounds256(size, 3, 8, x);
    for (int r = 0; r < 8; ++r, (void)HELD(dst, 2 * d)) {
        const __m256i v = _mm256_permute4x64_epi64(x[r], 0xD8);
        _mm_storeu_si128((__m128i *)dst, _mm256_castsi256_si128(v));
        _mm_storeu_si128((__m128i *)(dst + d), _mm256_extracti128_si256(v, 1));
    }
}

/* Twice as many rows of bytes in 16 registers; the first round comes with the loads. */
INLINE void twice_bytes(int size, const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int past) {
    enum { COUNT = 16 };
    __m256i x[COUNT];
    for (int r = 0; r < COUNT / 2; ++r) {
        const uint8_t *p = HELD(src, r ? s : 0);
        const __m256i early = pair(p, p + COUNT * s), late = pair(p + COUNT / 2 * s, p + COUNT / 2 * s + COUNT * s);
        x[2 * r] = interleave256_low(size, early, late);
        x[2 * r + 1] = interleave256_high(size, early, late);
    }
    transpose_rounds256(size, log2_of(COUNT) - 1, COUNT, x);
    for (int r = 0; r < COUNT; ++r) put256(HELD(dst, r ? d : 0), x[r], past);
}
#endif

/* As many elements as a cache line holds, in both directions: whole lines on both sides. A strip is the part of it with
 * columns of 16 bytes together. */
#if VB == 64
/* Four times as many rows: what is stored is a whole cache line. The first round comes with the loads. */
INLINE void strip(int size, const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int past) {
    const int count = 16 / size;
    V x[16];
    for (int r = 0; r < count / 2; ++r) {
        const uint8_t *p = HELD(src, r ? s : 0);
        const V early = quad(p, count * s), late = quad(p + count / 2 * s, count * s);
        x[2 * r] = interleave_low(size, early, late);
        x[2 * r + 1] = interleave_high(size, early, late);
    }
    transpose_rounds(size, log2_of(count) - 1, count, x);
    for (int r = 0; r < count; ++r) put512(HELD(dst, r ? d : 0), x[r], past);
}

/* 16 x 16 elements of 4 bytes: whole cache lines on both sides, so that rows which share a set of the cache do not
 * drive each other out. The last two rounds turn the lanes. */
INLINE void square_from(int size, const uint8_t *src, const uint8_t *later, int from, int64_t s, uint8_t *dst, int64_t d, int past) {
    (void)size;
    __m512i x[16], y[16];
    enum { first = 0 };
    EACH_ROW_OF_TWO(16) x[r] = _mm512_loadu_si512(AT(0));
    for (int g = 0; g < 16; g += 4) {
        for (int r = 0; r < 2; ++r) {
            y[g + r] = _mm512_unpacklo_epi32(x[g + 2 * r], x[g + 2 * r + 1]);
            y[g + 2 + r] = _mm512_unpackhi_epi32(x[g + 2 * r], x[g + 2 * r + 1]);
        }
        for (int h = 0; h < 2; ++h) {
            x[g + 2 * h] = _mm512_unpacklo_epi64(y[g + 2 * h], y[g + 2 * h + 1]);
            x[g + 2 * h + 1] = _mm512_unpackhi_epi64(y[g + 2 * h], y[g + 2 * h + 1]);
        }
    }
    /* x[g + c]: rows g .. g + 3 of columns c, c + 4, c + 8, c + 12, a lane each. */
    for (int c = 0; c < 4; ++c, (void)HELD(dst, d)) {
        const __m512i a = _mm512_shuffle_i32x4(x[c], x[c + 4], 0x88), b = _mm512_shuffle_i32x4(x[c + 8], x[c + 12], 0x88);
        const __m512i e = _mm512_shuffle_i32x4(x[c], x[c + 4], 0xDD), f = _mm512_shuffle_i32x4(x[c + 8], x[c + 12], 0xDD);
        put512(dst, _mm512_shuffle_i32x4(a, b, 0x88), past);
        put512(dst + 8 * d, _mm512_shuffle_i32x4(a, b, 0xDD), past);
        put512(dst + 4 * d, _mm512_shuffle_i32x4(e, f, 0x88), past);
        put512(dst + 12 * d, _mm512_shuffle_i32x4(e, f, 0xDD), past);
    }
}
INLINE void square(int size, const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int past) {
    square_from(size, src, src, 16, s, dst, d, past);
}
#else
#if VB == 32
/* Of 4 bytes both halves of a line are stored one after the other. */
INLINE void strip4_from(const uint8_t *src, const uint8_t *later, int from, int64_t s, uint8_t *dst, int64_t d, int past) {
    __m256i x[8], y[8];
    for (int first = 0; first < 16; first += 8) {
        EACH_ROW_OF_TWO(4) x[first / 2 + r] = pair(AT(0), AT(4));
        src += 4 * s, later += 4 * s;
    }
    for (int half = 0; half < 8; half += 4) {
        for (int k = 0; k < 2; ++k) {
            y[half + 2 * k] = _mm256_unpacklo_epi32(x[half + k], x[half + k + 2]);
            y[half + 2 * k + 1] = _mm256_unpackhi_epi32(x[half + k], x[half + k + 2]);
        }
        for (int k = 0; k < 2; ++k) {
            x[half + 2 * k] = _mm256_unpacklo_epi32(y[half + k], y[half + k + 2]);
            x[half + 2 * k + 1] = _mm256_unpackhi_epi32(y[half + k], y[half + k + 2]);
        }
    }
    for (int k = 0; k < 4; ++k) put256(dst + k * d, x[k], past), put256(dst + k * d + 32, x[4 + k], past);
}
#endif
INLINE void strip_from(int size, const uint8_t *src, const uint8_t *later, int from, int64_t s, uint8_t *dst, int64_t d, int past) {
#if VB == 32
    if (size == 4) {
        strip4_from(src, later, from, s, dst, d, past);
        return;
    }
    for (int r = 0; r < 64 / size; r += 32 / size) twice_from(size, r, src, later, from, s, dst + r * size, d, past);
#else
    (void)past;
    for (int r = 0; r < 64 / size; r += 16 / size) tile_from(size, r, src, later, from, s, dst + r * size, d);
#endif
}
INLINE void strip(int size, const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int past) {
    strip_from(size, src, src, 64, s, dst, d, past);
}
INLINE void square_from(int size, const uint8_t *src, const uint8_t *later, int from, int64_t s, uint8_t *dst, int64_t d, int past) {
    for (int c = 0; c < 4; ++c) strip_from(size, src + 16 * c, later + 16 * c, from, s, dst + 16 / size * c * d, d, past);
}
INLINE void square(int size, const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int past) {
    square_from(size, src, src, 64, s, dst, d, past);
}
#endif
