/* The tiles of a transpose: rows of the source become columns of the result. */
/* Tiles of 16 / size columns and rows, or half as many of either: rows of the source become columns of dst. */
#define TURNED(size, rounds, count)                                     \
    for (int k = 0; k < (rounds); ++k) {                                \
        ROUND(B1, low##size, high##size, x, y, count)                   \
        for (int r = 0; r < (count); ++r) x[r] = y[r];                  \
    }
#define TILE(size, rounds)                                                                                              \
    INLINE void tile##size##_from(int first, const uint8_t *src, const uint8_t *later, int from, int64_t s, uint8_t *dst, \
                                int64_t d, int past) {                                                                  \
        (void)past;                                                                                                     \
        B1 x[16 / size], y[16 / size];                                                                                  \
        src += first * s, later += first * s;                                                                           \
        EACH_ROW_OF_TWO(16 / size) x[r] = load16(AT(0));                                                                 \
        TURNED(size, rounds, 16 / size)                                                                                 \
        PUT_ROWS(16 / size, store16(dst, x[r]));                                                                        \
    }                                                                                                                   \
    INLINE void tile##size(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int past) {                          \
        tile##size##_from(0, src, src, 64, s, dst, d, past);                                                              \
    }
#define TILE_HALVES(size, rounds)                                                                            \
    INLINE void tile##size##_half_columns(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int past) { \
        (void)past;                                                                                          \
        enum { HALF = 8 / size };                                                                            \
        B1 x[HALF], y[HALF];                                                                                 \
        EACH_ROW(HALF) x[r] = low##size(load8(src), load8(src + HALF * s));                                  \
        TURNED(size, rounds - 1, HALF)                                                                       \
        PUT_ROWS(HALF, store16(dst, x[r]));                                                                  \
    }                                                                                                        \
    INLINE void tile##size##_half_rows(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int past) {    \
        (void)past;                                                                                          \
        enum { HALF = 8 / size };                                                                            \
        B1 x[HALF], y[HALF];                                                                                 \
        EACH_ROW(HALF) x[r] = load16(src);                                                                   \
        TURNED(size, rounds - 1, HALF)                                                                       \
        d *= 2;                                                                                              \
        PUT_ROWS(HALF, (store8(dst, x[r], 0), store8(dst + d / 2, x[r], 1)));                                \
    }
#define TILE_QUARTER(size, rounds)                                                                   \
    INLINE void tile##size##_quarter(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int past) { \
        (void)past;                                                                                  \
        enum { HALF = 8 / size, QUARTER = HALF / 2 };                                                \
        if (!QUARTER) {                                                                              \
            memcpy(dst, src, size);                                                                  \
            return;                                                                                  \
        }                                                                                            \
        B1 x[QUARTER + !QUARTER], y[QUARTER + !QUARTER];                                             \
        EACH_ROW(QUARTER) x[r] = low##size(load8(src), load8(src + QUARTER * s));                    \
        TURNED(size, rounds - 2, QUARTER)                                                            \
        d *= 2;                                                                                      \
        PUT_ROWS(QUARTER, (store8(dst, x[r], 0), store8(dst + d / 2, x[r], 1)));                     \
    }
#define TILES(size, rounds) TILE(size, rounds) TILE_HALVES(size, rounds) TILE_QUARTER(size, rounds)
TILES(1, 4)
TILES(2, 3)
TILES(4, 2)
TILES(8, 1)

/* Tiles with more rows than a tile of 16 bytes has. */
#if VB >= 32
/* Twice as many rows: row r in the lower lane, row r + 16 / size in the upper one, which do not mix. */
#define TWICE(name, count, rounds, epi)                                                                       \
    INLINE void twice##name##_from(int first, const uint8_t *src, const uint8_t *later, int from, int64_t s, uint8_t *dst, \
                                 int64_t d, int past) {                                                       \
        __m256i x[count], y[count];                                                                           \
        src += first * s, later += first * s;                                                                 \
        EACH_ROW_OF_TWO(count) x[r] = pair(AT(0), AT(count));                                                  \
        for (int k = 0; k < rounds; ++k) {                                                                    \
            ROUND(__m256i, _mm256_unpacklo_##epi, _mm256_unpackhi_##epi, x, y, count)                         \
            for (int r = 0; r < count; ++r) x[r] = y[r];                                                      \
        }                                                                                                     \
        PUT_ROWS(count, put256(dst, x[r], past));                                                             \
    }                                                                                                         \
    INLINE void twice##name(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int past) {               \
        twice##name##_from(0, src, src, 64, s, dst, d, past);                                                   \
    }
TWICE(2, 8, 3, epi16)
TWICE(4, 4, 2, epi32)
TWICE(8, 2, 1, epi64)

/* 16 x 16 bytes in 8 registers, row r with row r + 8: the last permutation moves the bit that the lane stands for into place. */
INLINE void twice1(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int past) {
    (void)past;
    __m256i x[8], y[8];
    EACH_ROW(8) x[r] = pair(src, src + 8 * s);
    for (int k = 0; k < 3; ++k) {
        ROUND(__m256i, _mm256_unpacklo_epi8, _mm256_unpackhi_epi8, x, y, 8)
        for (int r = 0; r < 8; ++r) x[r] = y[r];
    }
    for (int r = 0; r < 8; ++r, (void)ADVANCED(dst, 2 * d)) {
        const __m256i v = _mm256_permute4x64_epi64(x[r], 0xD8);
        _mm_storeu_si128((__m128i *)dst, _mm256_castsi256_si128(v));
        _mm_storeu_si128((__m128i *)(dst + d), _mm256_extracti128_si256(v, 1));
    }
}
#endif

/* The elements of a cache line in both directions: whole lines on both sides. A strip is the part with columns of 16 bytes in
 * total. */
#define STRIP(size, name, rows)                                                                               \
    INLINE void strip##size##_from(const uint8_t *src, const uint8_t *later, int from, int64_t s, uint8_t *dst, int64_t d, \
                                 int past) {                                                                  \
        for (int r = 0; r < 64 / size; r += rows)                                                             \
            name##_from(r, src, later, from, s, dst + r * size, d, past);                                       \
    }
#define SQUARE(size)                                                                                          \
    INLINE void strip##size(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int past) {               \
        strip##size##_from(src, src, 64, s, dst, d, past);                                                      \
    }                                                                                                         \
    INLINE void square##size##_from(const uint8_t *src, const uint8_t *later, int from, int64_t s, uint8_t *dst, int64_t d, \
                                  int past) {                                                                 \
        for (int c = 0; c < 4; ++c)                                                                           \
            strip##size##_from(src + 16 * c, later + 16 * c, from, s, dst + 16 / size * c * d, d, past);        \
    }                                                                                                         \
    INLINE void square##size(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int past) {              \
        square##size##_from(src, src, 64, s, dst, d, past);                                                     \
    }
#if VB == 32
/* Past the caches both halves of a line are stored one after the other, because eight lines that are written by halves would leave
 * the processor in parts; through them the halves of 16 rows need fewer registers. */
INLINE void strip2_from(const uint8_t *src, const uint8_t *later, int from, int64_t s, uint8_t *dst, int64_t d, int past) {
    __m256i x[2][8], y[8];
    for (int half = 0; half < 2; ++half) {
        const int first = 16 * half;
        if (!past) {
            twice2_from(first, src, later, from, s, dst + 32 * half, d, 0);
            continue;
        }
        EACH_ROW_OF_TWO(8) x[half][r] = pair(AT(0), AT(8));
        src += 8 * s, later += 8 * s;
        for (int k = 0; k < 3; ++k) {
            ROUND(__m256i, _mm256_unpacklo_epi16, _mm256_unpackhi_epi16, x[half], y, 8)
            for (int r = 0; r < 8; ++r) x[half][r] = y[r];
        }
    }
    if (past) PUT_ROWS(8, (put256(dst, x[0][r], 1), put256(dst + 32, x[1][r], 1)));
}
SQUARE(2)
/* Both halves of a line are stored one after the other. */
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
SQUARE(4)
#elif VB == 16
STRIP(1, tile1, 16)
SQUARE(1)
STRIP(2, tile2, 8)
SQUARE(2)
STRIP(4, tile4, 4)
SQUARE(4)
#endif

#if VB >= 32
/* More rows: each store is a whole cache line (FOURFOLD), or half of one. The first round is done by the loads. */
#define MANIFOLD(name, V, BITS, count, rounds, epi, load, put)                                                \
    INLINE void name(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int past) {                      \
        V x[count], y[count];                                                                                 \
        for (int r = 0; r < count / 2; ++r) {                                                                 \
            const uint8_t *p = ADVANCED(src, r ? s : 0);                                                          \
            const V early = load(p, count * s), late = load(p + count / 2 * s, count * s);                    \
            y[2 * r] = BITS##_unpacklo_##epi(early, late);                                                    \
            y[2 * r + 1] = BITS##_unpackhi_##epi(early, late);                                                \
        }                                                                                                     \
        for (int k = 1; k < rounds; ++k) {                                                                    \
            for (int r = 0; r < count; ++r) x[r] = y[r];                                                      \
            ROUND(V, BITS##_unpacklo_##epi, BITS##_unpackhi_##epi, x, y, count)                               \
        }                                                                                                     \
        for (int r = 0; r < count; ++r) put(ADVANCED(dst, r ? d : 0), y[r], past);                                \
    }
#define PAIR_AT(p, step) pair(p, (p) + (step))
MANIFOLD(twicelong1, __m256i, _mm256, 16, 4, epi8, PAIR_AT, put256)
#endif
#if VB == 64
#define FOURFOLD(size, rounds, epi) MANIFOLD(fourfold##size, __m512i, _mm512, 16 / size, rounds, epi, quad, put512)
FOURFOLD(1, 4, epi8)
FOURFOLD(2, 3, epi16)
FOURFOLD(4, 2, epi32)
FOURFOLD(8, 1, epi64)
/* 16 x 16 elements of 4 bytes: whole cache lines on both sides, so that rows which share a set of the cache do not
 * evict each other. The last two rounds permute the lanes. */
INLINE void square4_from(const uint8_t *src, const uint8_t *later, int from, int64_t s, uint8_t *dst, int64_t d, int past) {
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
    /* x[g + c]: rows g .. g + 3 of columns c, c + 4, c + 8, c + 12, one lane for each column. */
    for (int c = 0; c < 4; ++c, (void)ADVANCED(dst, d)) {
        const __m512i a = _mm512_shuffle_i32x4(x[c], x[c + 4], 0x88), b = _mm512_shuffle_i32x4(x[c + 8], x[c + 12], 0x88);
        const __m512i e = _mm512_shuffle_i32x4(x[c], x[c + 4], 0xDD), f = _mm512_shuffle_i32x4(x[c + 8], x[c + 12], 0xDD);
        put512(dst, _mm512_shuffle_i32x4(a, b, 0x88), past);
        put512(dst + 8 * d, _mm512_shuffle_i32x4(a, b, 0xDD), past);
        put512(dst + 4 * d, _mm512_shuffle_i32x4(e, f, 0x88), past);
        put512(dst + 12 * d, _mm512_shuffle_i32x4(e, f, 0xDD), past);
    }
}
INLINE void square4(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int past) {
    square4_from(src, src, 16, s, dst, d, past);
}
#endif

typedef void Tile(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int past);
/* The same for rows in two places: those before `from` at `src`, the rest at `later`. */
typedef void Joint(const uint8_t *src, const uint8_t *later, int from, int64_t s, uint8_t *dst, int64_t d, int past);

