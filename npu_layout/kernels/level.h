/* The vector loops, compiled once for each instruction set: LEVEL is its name, VB its vector's bytes (16, 32, 64).
 * Sizes come by value and every load and store may be unaligned. */
#include <stdlib.h>
#include <string.h>

#include "core.h"

#define PASTE_(a, b) a##_##b
#define PASTE(a, b) PASTE_(a, b)
#define HERE(name) PASTE(name, LEVEL)
#define STRINGIFY_(a) #a
#define STRINGIFY(a) STRINGIFY_(a)
#define INLINE static inline __attribute__((always_inline))

typedef uint8_t B1 __attribute__((vector_size(16)));
typedef uint16_t B2 __attribute__((vector_size(16)));
typedef uint32_t B4 __attribute__((vector_size(16)));
typedef uint64_t B8 __attribute__((vector_size(16)));

#if defined(__clang__) || __GNUC__ >= 12
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (__typeof__(a)){__VA_ARGS__})
#endif

INLINE B1 load16(const uint8_t *p) {
    B1 v;
    memcpy(&v, p, 16);
    return v;
}
INLINE void store16(uint8_t *p, B1 v) { memcpy(p, &v, 16); }
INLINE B1 load8(const uint8_t *p) {
    uint64_t v;
    memcpy(&v, p, 8);
    return (B1)(B8){v, 0};
}
INLINE void store8(uint8_t *p, B1 v, int half) {
    uint64_t x = ((B8)v)[half];
    memcpy(p, &x, 8);
}

/* Interleave the lower (upper) halves of two vectors, by elements of 1, 2, 4 and 8 bytes. */
INLINE B1 low1(B1 a, B1 b) { return SHUFFLE(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23); }
INLINE B1 high1(B1 a, B1 b) { return SHUFFLE(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31); }
INLINE B1 low2(B1 a, B1 b) { return (B1)SHUFFLE((B2)a, (B2)b, 0, 8, 1, 9, 2, 10, 3, 11); }
INLINE B1 high2(B1 a, B1 b) { return (B1)SHUFFLE((B2)a, (B2)b, 4, 12, 5, 13, 6, 14, 7, 15); }
INLINE B1 low4(B1 a, B1 b) { return (B1)SHUFFLE((B4)a, (B4)b, 0, 4, 1, 5); }
INLINE B1 high4(B1 a, B1 b) { return (B1)SHUFFLE((B4)a, (B4)b, 2, 6, 3, 7); }
INLINE B1 low8(B1 a, B1 b) { return (B1)SHUFFLE((B8)a, (B8)b, 0, 2); }
INLINE B1 high8(B1 a, B1 b) { return (B1)SHUFFLE((B8)a, (B8)b, 1, 3); }

/* One round of a transpose of `count` registers: the register's top bit goes to the element's bottom bit, and the
 * element's top bit to the register's bottom bit. After log2(count) rounds rows have become columns. */
#define ROUND(type, low, high, from, to, count)            \
    for (int r = 0; r < (count) / 2; ++r) {                \
        (to)[2 * r] = low((from)[r], (from)[r + (count) / 2]);      \
        (to)[2 * r + 1] = high((from)[r], (from)[r + (count) / 2]); \
    }

/* Tiles of 16 / size columns and rows, or half as many of either: rows of the source become columns of dst. */
#define ROW(r) (((r) < from ? src : later) + (r)*s)
#define TILES(size, rounds)                                                                                   \
    INLINE void tile##size##_of(int first, const uint8_t *src, const uint8_t *later, int from, int64_t s, uint8_t *dst, \
                                int64_t d, int past) {                                                        \
        (void)past;                                                                                           \
        B1 x[16 / size], y[16 / size];                                                                        \
        for (int r = 0; r < 16 / size; ++r) x[r] = load16(ROW(first + r));                                    \
        for (int k = 0; k < rounds; ++k) {                                                                    \
            ROUND(B1, low##size, high##size, x, y, 16 / size)                                                 \
            for (int r = 0; r < 16 / size; ++r) x[r] = y[r];                                                  \
        }                                                                                                     \
        for (int r = 0; r < 16 / size; ++r) store16(dst + r * d, x[r]);                                       \
    }                                                                                                         \
    INLINE void tile##size(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int past) {                \
        tile##size##_of(0, src, src, 64, s, dst, d, past);                                                    \
    }                                                                                                         \
    INLINE void tile##size##_few_columns(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int past) { \
        (void)past; \
        enum { HALF = 8 / size };                                                                             \
        B1 x[HALF], y[HALF];                                                                                  \
        for (int r = 0; r < HALF; ++r) x[r] = low##size(load8(src + r * s), load8(src + (r + HALF) * s));     \
        for (int k = 0; k < rounds - 1; ++k) {                                                                \
            ROUND(B1, low##size, high##size, x, y, HALF)                                                      \
            for (int r = 0; r < HALF; ++r) x[r] = y[r];                                                       \
        }                                                                                                     \
        for (int r = 0; r < HALF; ++r) store16(dst + r * d, x[r]);                                            \
    }                                                                                                         \
    INLINE void tile##size##_few_rows(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int past) { \
        (void)past; \
        enum { HALF = 8 / size };                                                                             \
        B1 x[HALF], y[HALF];                                                                                  \
        for (int r = 0; r < HALF; ++r) x[r] = load16(src + r * s);                                            \
        for (int k = 0; k < rounds - 1; ++k) {                                                                \
            ROUND(B1, low##size, high##size, x, y, HALF)                                                      \
            for (int r = 0; r < HALF; ++r) x[r] = y[r];                                                       \
        }                                                                                                     \
        for (int r = 0; r < HALF; ++r) store8(dst + 2 * r * d, x[r], 0), store8(dst + (2 * r + 1) * d, x[r], 1); \
    }                                                                                                         \
    INLINE void tile##size##_few(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int past) { \
        (void)past; \
        enum { HALF = 8 / size, QUARTER = HALF / 2 };                                                         \
        if (!QUARTER) {                                                                                       \
            memcpy(dst, src, size);                                                                           \
            return;                                                                                           \
        }                                                                                                     \
        B1 x[QUARTER + !QUARTER], y[QUARTER + !QUARTER];                                                      \
        for (int r = 0; r < QUARTER; ++r)                                                                     \
            x[r] = low##size(load8(src + r * s), load8(src + (r + QUARTER) * s));                             \
        for (int k = 0; k < rounds - 2; ++k) {                                                                \
            ROUND(B1, low##size, high##size, x, y, QUARTER)                                                   \
            for (int r = 0; r < QUARTER; ++r) x[r] = y[r];                                                    \
        }                                                                                                     \
        for (int r = 0; r < QUARTER; ++r)                                                                     \
            store8(dst + 2 * r * d, x[r], 0), store8(dst + (2 * r + 1) * d, x[r], 1);                         \
    }
TILES(1, 4)
TILES(2, 3)
TILES(4, 2)
TILES(8, 1)

#if VB >= 32
#include <immintrin.h>
#elif defined(__SSE4_1__)
#include <smmintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

/* TRY_MORE(size): cover by tiles that have more rows than one of 16 bytes, where there are so many. */
#if VB >= 32
INLINE __m256i pair(const uint8_t *low, const uint8_t *high) {
    __m256i v = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)low));
    return _mm256_inserti128_si256(v, _mm_loadu_si128((const __m128i *)high), 1);
}

INLINE void put256(uint8_t *p, __m256i v, int past) {
    if (past && !((uintptr_t)p % 32))
        _mm256_stream_si256((__m256i *)(void *)p, v);
    else
        _mm256_storeu_si256((__m256i *)(void *)p, v);
}

/* Twice as many rows: row r in the lower lane, row r + 16 / size in the upper one, which stay apart to the end. */
#define TWICE(name, count, rounds, epi)                                                                       \
    INLINE void twice##name##_of(int first, const uint8_t *src, const uint8_t *later, int from, int64_t s, uint8_t *dst, \
                                 int64_t d, int past) {                                                       \
        enum { COUNT = count };                                                                               \
        __m256i x[COUNT], y[COUNT];                                                                           \
        for (int r = 0; r < COUNT; ++r) x[r] = pair(ROW(first + r), ROW(first + r + COUNT));                  \
        for (int k = 0; k < rounds; ++k) {                                                                    \
            ROUND(__m256i, _mm256_unpacklo_##epi, _mm256_unpackhi_##epi, x, y, COUNT)                         \
            for (int r = 0; r < COUNT; ++r) x[r] = y[r];                                                      \
        }                                                                                                     \
        for (int r = 0; r < COUNT; ++r) put256(dst + r * d, x[r], past);                                      \
    }                                                                                                         \
    INLINE void twice##name(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int past) {               \
        twice##name##_of(0, src, src, 64, s, dst, d, past);                                                   \
    }
TWICE(2, 8, 3, epi16)
TWICE(4, 4, 2, epi32)
TWICE(8, 2, 1, epi64)

/* 16 x 16 bytes in 8 registers, row r with row r + 8: the lanes are the bit that the last permutation brings home. */
INLINE void twice1_of(int first, const uint8_t *src, const uint8_t *later, int from, int64_t s, uint8_t *dst,
                     int64_t d, int past) {
    (void)past;
    __m256i x[8], y[8];
    for (int r = 0; r < 8; ++r) x[r] = pair(ROW(first + r), ROW(first + r + 8));
    for (int k = 0; k < 3; ++k) {
        ROUND(__m256i, _mm256_unpacklo_epi8, _mm256_unpackhi_epi8, x, y, 8)
        for (int r = 0; r < 8; ++r) x[r] = y[r];
    }
    for (int r = 0; r < 8; ++r) {
        __m256i v = _mm256_permute4x64_epi64(x[r], 0xD8);
        _mm_storeu_si128((__m128i *)(dst + 2 * r * d), _mm256_castsi256_si128(v));
        _mm_storeu_si128((__m128i *)(dst + (2 * r + 1) * d), _mm256_extracti128_si256(v, 1));
    }
}
INLINE void twice1(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int past) {
    twice1_of(0, src, src, 64, s, dst, d, past);
}
enum { TWICE_ROWS1 = 16, TWICE_ROWS2 = 16, TWICE_ROWS4 = 8, TWICE_ROWS8 = 4 };
#define TRY_TWICE(size) \
    if (a >= TWICE_ROWS##size && b >= 16 / size) cover(twice##size, NULL, TWICE_ROWS##size, 16 / size, size, src, sa, a, dst, db, b, past); else
#endif

/* As many elements as a cache line holds, in both directions, of tiles of so many rows: whole lines on both sides. */
#define SQUARE(size, name, rows)                                                                              \
    INLINE void square##size##_of(const uint8_t *src, const uint8_t *later, int from, int64_t s, uint8_t *dst, int64_t d, \
                                  int past) {                                                                 \
        for (int c = 0; c < 4; ++c)                                                                           \
            for (int r = 0; r < 64 / size; r += rows)                                                         \
                name##_of(r, src + 16 * c, later + 16 * c, from, s, dst + 16 / size * c * d + r * size, d, past); \
    }                                                                                                         \
    INLINE void square##size(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int past) {              \
        square##size##_of(src, src, 64, s, dst, d, past);                                                     \
    }
#define TRY_SQUARE(size) \
    if (a >= 64 / size && b >= 64 / size) cover(square##size, square##size##_of, 64 / size, 64 / size, size, src, sa, a, dst, db, b, past); else
#if VB == 32
SQUARE(2, twice2, 16)
SQUARE(4, twice4, 8)
#elif VB == 16
SQUARE(1, tile1, 16)
SQUARE(2, tile2, 8)
SQUARE(4, tile4, 4)
#endif

#if VB == 64
/* Rows s bytes apart, one in each lane. */
INLINE __m512i quad(const uint8_t *p, int64_t s) {
    return _mm512_inserti64x4(_mm512_castsi256_si512(pair(p, p + s)), pair(p + 2 * s, p + 3 * s), 1);
}

INLINE void put512(uint8_t *p, __m512i v, int past) {
    if (past && !((uintptr_t)p % 64))
        _mm512_stream_si512((void *)p, v);
    else
        _mm512_storeu_si512(p, v);
}

/* Four times as many rows: what is stored is a whole cache line. */
#define FOURFOLD(size, rounds, epi)                                                                           \
    INLINE void fourfold##size(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int past) {                      \
        enum { COUNT = 16 / size };                                                                           \
        __m512i x[COUNT], y[COUNT];                                                                           \
        for (int r = 0; r < COUNT; ++r) x[r] = quad(src + r * s, COUNT * s);                                  \
        for (int k = 0; k < rounds; ++k) {                                                                    \
            ROUND(__m512i, _mm512_unpacklo_##epi, _mm512_unpackhi_##epi, x, y, COUNT)                         \
            for (int r = 0; r < COUNT; ++r) x[r] = y[r];                                                      \
        }                                                                                                     \
        for (int r = 0; r < COUNT; ++r) put512(dst + r * d, x[r], past);                                      \
    }
FOURFOLD(1, 4, epi8)
/* Between both: with 32 registers 16 vectors of 32 bytes fit. */
TWICE(long1, 16, 4, epi8)
FOURFOLD(2, 3, epi16)
FOURFOLD(4, 2, epi32)
FOURFOLD(8, 1, epi64)
/* 16 x 16 elements of 4 bytes: whole cache lines on both sides, so that rows which share a set of the cache do not
 * drive each other out. The last two rounds turn the lanes. */
INLINE void square4_of(const uint8_t *src, const uint8_t *later, int from, int64_t s, uint8_t *dst, int64_t d, int past) {
    __m512i x[16], y[16];
    for (int r = 0; r < 16; ++r) x[r] = _mm512_loadu_si512((r < from ? src : later) + r * s);
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
    for (int c = 0; c < 4; ++c) {
        const __m512i a = _mm512_shuffle_i32x4(x[c], x[c + 4], 0x88), b = _mm512_shuffle_i32x4(x[c + 8], x[c + 12], 0x88);
        const __m512i e = _mm512_shuffle_i32x4(x[c], x[c + 4], 0xDD), f = _mm512_shuffle_i32x4(x[c + 8], x[c + 12], 0xDD);
        put512(dst + c * d, _mm512_shuffle_i32x4(a, b, 0x88), past);
        put512(dst + (c + 8) * d, _mm512_shuffle_i32x4(a, b, 0xDD), past);
        put512(dst + (c + 4) * d, _mm512_shuffle_i32x4(e, f, 0x88), past);
        put512(dst + (c + 12) * d, _mm512_shuffle_i32x4(e, f, 0xDD), past);
    }
}
INLINE void square4(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int past) {
    square4_of(src, src, 16, s, dst, d, past);
}
#define TRY_MORE(size)                                                                                        \
    if (size == 4 && a >= 16 && b >= 16) cover(square4, square4_of, 16, 16, 4, src, sa, a, dst, db, b, past);             \
    else if (a >= 64 / size && b >= 16 / size) cover(fourfold##size, NULL, 64 / size, 16 / size, size, src, sa, a, dst, db, b, past); \
    else if (size == 1 && a >= 32 && b >= 16) cover(twicelong1, NULL, 32, 16, 1, src, sa, a, dst, db, b, past);           \
    else TRY_TWICE(size)
#elif VB == 32
#define TRY_8(size) TRY_TWICE(size)
#define TRY_1(size) TRY_TWICE(size)
#define TRY_2(size) TRY_SQUARE(size) TRY_TWICE(size)
#define TRY_4(size) TRY_SQUARE(size) TRY_TWICE(size)
#define TRY_MORE(size) TRY_##size(size)
#else
#define TRY_8(size)
#define TRY_1(size) TRY_SQUARE(size)
#define TRY_2(size) TRY_SQUARE(size)
#define TRY_4(size) TRY_SQUARE(size)
#define TRY_MORE(size) TRY_##size(size)
#endif

typedef void Tile(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int past);
/* The same of rows that lie apart: those before `from` at `src`, the rest at `rest`. */
typedef void Joint(const uint8_t *src, const uint8_t *rest, int from, int64_t s, uint8_t *dst, int64_t d, int past);

/* Where tile i of an axis of n elements starts: after `lead` elements steps of `step`, the last one overlapping. */
INLINE int64_t place(int64_t i, int64_t step, int64_t n, int64_t lead, int64_t leads) {
    int64_t at = i < leads ? i * step : lead + (i - leads) * step;
    return at < n - step ? at : n - step;
}

/* Cover a x b elements by tiles of `rows` x `columns`, in strips of one cache line: along the destination's rows, which
 * reads few rows of the source from end to end, or along the source's rows. Measured: the first way suits short rows of
 * the source, unless wide elements then write to too many rows at a time, and large results with short rows. An access
 * that crosses from one cache line to the next costs twice, so tiles begin at lines of both sides where rows allow it.
 * BLOCK: bytes of the source that stay in L2 while all of its columns are read. WIDE: bytes of a row of the result from
 * which on few rows share a page, and the walk along them is given up. */
enum { LARGE = 1 << 21, BLOCK = 1 << 18, WIDE = 2048, COLUMNS = 128 };
INLINE void cover(Tile *tile, Joint *joint, int rows, int columns, int size, const uint8_t *src, int64_t sa, int64_t a,
                  uint8_t *dst, int64_t db, int64_t b, int past) {
    const int fills_lines = rows * size == 64, reads_lines = columns * size == 64;
    const int64_t across = sa < 0 ? -sa : sa, down = db < 0 ? -db : db;
    int64_t lead = 0, leads = 0, skip = 0;
    /* Rows of the result without gaps: the line in which one begins holds the end of the one before. */
    const int gapless = joint && db == a * size;
    if (db % 64 == 0 && (uintptr_t)dst % 64 && (uintptr_t)dst % size == 0 && (gapless || a > 128 / size)) {
        lead = (64 - (int64_t)((uintptr_t)dst % 64)) / size;
        leads = (lead + rows - 1) / rows;
    }
    const int joins = gapless && lead;
    const int64_t early = rows - lead; /* elements of the row before */
    if (reads_lines && sa % 64 == 0 && (uintptr_t)src % size == 0 && b >= 4 * columns)
        skip = (int64_t)(-(uintptr_t)src % 64) / size;
    const int64_t as = joins ? a / rows : leads + (a - lead + rows - 1) / rows;
    const int64_t bs = (skip > 0) + (b - skip + columns - 1) / columns;
    const int large = a * b * size > LARGE;
    const int by_destination = across < down ? size < 4 || (reads_lines && !large) : large || (fills_lines && down % 1024 == 0);
    const int64_t step = by_destination ? rows * size : columns * size, strip = step < 64 ? 64 / step : 1;
    const int64_t outer = by_destination ? as : bs, inner = by_destination ? bs : as;
    /* What goes past the caches fills whole lines one after the other: not where rows of the result are the short ones,
     * which took up to twice as long. */
    const int lines = past && across < down && db % 64 == 0 && a * size >= 2048 && (lead || (uintptr_t)dst % 64 == 0);
    const int64_t line = lines && !by_destination && rows * size < 64 ? 64 / (rows * size) : 1;
    /* Rows that share lines, or sets of the cache, are finished before their lines leave L2. */
    const int crowded = down >= WIDE && (across >= down || down % 1024 == 0);
    const int shared = across >= down && fills_lines && (down % 64 || down % 1024 == 0);
    const int64_t block = !by_destination ? !across || across * rows * 16 > BLOCK ? inner : BLOCK / (across * rows)
                          : crowded       ? 1
                          : shared        ? COLUMNS / columns
                                          : inner;
    for (int64_t l0 = 0; l0 < inner; l0 += block) {
        const int64_t l1 = l0 + block < inner ? l0 + block : inner;
        for (int64_t k0 = 0; k0 < outer;) {
            int64_t k1 = by_destination && k0 < leads ? leads : k0 + strip;
            if (k1 > outer) k1 = outer;
            for (int64_t m0 = l0, m1; m0 < l1; m0 = m1) {
                m1 = past && !by_destination && m0 < leads ? leads : m0 + (past ? line : 1);
                if (past && m1 > l1) m1 = l1;
                for (int64_t k = k0; k < k1; ++k)
                    for (int64_t l = m0; l < m1; ++l) {
                        const int64_t p = place(by_destination ? k : l, rows, a, lead, leads);
                        const int64_t q = place(by_destination ? l : k, columns, b, skip, skip > 0);
                        const uint8_t *from = src + q * size;
                        uint8_t *to = dst + q * db;
                        if (!joins || p) {
                            tile(from + p * sa, sa, to + p * size, db, past && lines);
                            continue;
                        }
                        if (q)
                            joint(from - size + (a - early) * sa, from - early * sa, (int)early, sa, to - early * size, db,
                                  past && lines);
                        else
                            tile(from, sa, to, db, 0);
                        if (!q || q == b - columns) tile(from + (a - rows) * sa, sa, to + (a - rows) * size, db, 0);
                    }
            }
            k0 = k1;
        }
    }
}

INLINE void element(int size, const uint8_t *src, uint8_t *dst) {
    switch (size) {
        case 1: *dst = *src; break;
        case 2: memcpy(dst, src, 2); break;
        case 4: memcpy(dst, src, 4); break;
        case 8: memcpy(dst, src, 8); break;
        case 16: memcpy(dst, src, 16); break;
        default: memcpy(dst, src, (size_t)size);
    }
}

INLINE void strided(int size, const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int64_t n) {
    for (int64_t i = 0; i < n; ++i) element(size, src + i * s, dst + i * d);
}

#define BY_SIZE(size, CALL) \
    switch (size) {         \
        case 1: CALL(1); break;   \
        case 2: CALL(2); break;   \
        case 4: CALL(4); break;   \
        case 8: CALL(8); break;   \
        case 16: CALL(16); break; \
        default: CALL(size);      \
    }

/* In blocks, so that a cache line of the source serves all elements of it that are wanted. */
static void HERE(move_strided)(const Move *m, const uint8_t *src, uint8_t *dst) {
    const Loop near = m->box.loops[m->box.count - 2], k = m->box.loops[m->box.count - 1];
    const int64_t most = near.n > 1 && llabs(near.s) < llabs(k.s) ? 32 : k.n;
    for (int64_t i = 0; i < k.n; i += most) {
        const int64_t n = k.n - i < most ? k.n - i : most;
        for (int64_t j = 0; j < near.n; ++j) {
            const uint8_t *s = src + i * k.s + j * near.s;
            uint8_t *d = dst + i * k.d + j * near.d;
#define CALL(size) strided(size, s, k.s, d, k.d, n)
            BY_SIZE(m->size, CALL)
#undef CALL
        }
    }
}

#define TRANSPOSE(size)                                                                                       \
    INLINE void transpose##size(const uint8_t *src, int64_t sa, int64_t a, uint8_t *dst, int64_t db, int64_t b,   \
                                int past) {                                                                   \
        enum { FULL = 16 / size, HALF = 8 / size };                                                           \
        TRY_MORE(size)                                                                                        \
        if (a >= FULL && b >= FULL)                                                                      \
            cover(tile##size, NULL, FULL, FULL, size, src, sa, a, dst, db, b, past);                                      \
        else if (a >= FULL && b >= HALF)                                                                      \
            cover(tile##size##_few_columns, NULL, FULL, HALF, size, src, sa, a, dst, db, b, past);                        \
        else if (a >= HALF && b >= FULL)                                                                      \
            cover(tile##size##_few_rows, NULL, HALF, FULL, size, src, sa, a, dst, db, b, past);                           \
        else if (a >= HALF && b >= HALF)                                                                      \
            cover(tile##size##_few, NULL, HALF, HALF, size, src, sa, a, dst, db, b, past);                                \
        else if (a >= b)                                                                                      \
            for (int64_t j = 0; j < b; ++j) strided(size, src + j * size, sa, dst + j * db, size, a);         \
        else                                                                                                  \
            for (int64_t i = 0; i < a; ++i) strided(size, src + i * sa, size, dst + i * size, db, b);         \
    }
TRANSPOSE(1)
TRANSPOSE(2)
TRANSPOSE(4)
TRANSPOSE(8)

/* A vector of VB bytes is VB / 16 lanes, which never mix here: lane l of a group holds its own 16 / size pixels. */
#if VB == 64
typedef __m512i V;
#define LANES 4
#define LANE(v, l) (B1)_mm512_extracti32x4_epi32(v, l)
#define STREAM(p, v) _mm512_stream_si512((void *)(p), v)
INLINE V lanes(const uint8_t *p, int64_t step) { return quad(p, step); }
INLINE V whole(const uint8_t *p) { return _mm512_loadu_si512(p); }
INLINE void put(uint8_t *p, V v) { _mm512_storeu_si512(p, v); }
INLINE V select3(V a, V b, V c, V at_b, V at_c) {
    return _mm512_ternarylogic_epi64(_mm512_ternarylogic_epi64(a, b, at_b, 0xD8), c, at_c, 0xD8);
}
INLINE V shuffled(V v, V order) { return _mm512_shuffle_epi8(v, order); }
INLINE V broadcast(const uint8_t *p) { return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)p)); }
#define VLOW_1 _mm512_unpacklo_epi8
#define VHIGH_1 _mm512_unpackhi_epi8
#define VLOW_2 _mm512_unpacklo_epi16
#define VHIGH_2 _mm512_unpackhi_epi16
#define VLOW_4 _mm512_unpacklo_epi32
#define VHIGH_4 _mm512_unpackhi_epi32
#define SHUFFLES 1
#elif VB == 32
typedef __m256i V;
#define LANES 2
#define LANE(v, l) (B1)_mm256_extracti128_si256(v, l)
#define STREAM(p, v) _mm256_stream_si256((__m256i *)(void *)(p), v)
INLINE V lanes(const uint8_t *p, int64_t step) { return pair(p, p + step); }
INLINE V whole(const uint8_t *p) { return _mm256_loadu_si256((const __m256i *)p); }
INLINE void put(uint8_t *p, V v) { _mm256_storeu_si256((__m256i *)p, v); }
INLINE V select3(V a, V b, V c, V at_b, V at_c) { return _mm256_blendv_epi8(_mm256_blendv_epi8(a, b, at_b), c, at_c); }
INLINE V shuffled(V v, V order) { return _mm256_shuffle_epi8(v, order); }
INLINE V broadcast(const uint8_t *p) { return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)p)); }
#define VLOW_1 _mm256_unpacklo_epi8
#define VHIGH_1 _mm256_unpackhi_epi8
#define VLOW_2 _mm256_unpacklo_epi16
#define VHIGH_2 _mm256_unpackhi_epi16
#define VLOW_4 _mm256_unpacklo_epi32
#define VHIGH_4 _mm256_unpackhi_epi32
#define SHUFFLES 1
#else
typedef B1 V;
#define LANES 1
#define LANE(v, l) (v)
#if defined(__SSE2__)
#define STREAM(p, v) _mm_stream_si128((__m128i *)(void *)(p), (__m128i)(v))
#endif
INLINE V lanes(const uint8_t *p, int64_t step) { (void)step; return load16(p); }
INLINE V whole(const uint8_t *p) { return load16(p); }
INLINE void put(uint8_t *p, V v) { store16(p, v); }
INLINE V select3(V a, V b, V c, V at_b, V at_c) { return (a & ~(at_b | at_c)) | (b & at_b) | (c & at_c); }
INLINE V broadcast(const uint8_t *p) { return load16(p); }
#define VLOW_1 low1
#define VHIGH_1 high1
#define VLOW_2 low2
#define VHIGH_2 high2
#define VLOW_4 low4
#define VHIGH_4 high4
#if defined(__SSSE3__)
INLINE V shuffled(V v, V order) { return (V)_mm_shuffle_epi8((__m128i)v, (__m128i)order); }
#define SHUFFLES 1
#elif defined(__aarch64__)
#include <arm_neon.h>
INLINE V shuffled(V v, V order) { return (V)vqtbl1q_u8((uint8x16_t)v, (uint8x16_t)order); }
#define SHUFFLES 1
#else
#define SHUFFLES 0
#endif
#endif

/* Pieces of 16 / count bytes: piece r of lane l is what piece l of the r-th LANES of them was (GATHERED), or the other
 * way round (SCATTERED). A level that cannot do so in one step works lane by lane. */
#if VB == 64
#define MERGE_TURNS(count, size) ((count) * (size) <= 16)
#define SPLIT_TURNS MERGE_TURNS
#define PIECES2(order) _mm512_set_epi64(order(7, 2), order(6, 2), order(5, 2), order(4, 2), order(3, 2), order(2, 2), order(1, 2), order(0, 2))
#define PIECES4(order)                                                                                               \
    _mm512_set_epi32(order(15, 4), order(14, 4), order(13, 4), order(12, 4), order(11, 4), order(10, 4), order(9, 4), \
                     order(8, 4), order(7, 4), order(6, 4), order(5, 4), order(4, 4), order(3, 4), order(2, 4),       \
                     order(1, 4), order(0, 4))
#define PIECES8(order)                                                                                               \
    _mm512_set_epi16(order(31, 8), order(30, 8), order(29, 8), order(28, 8), order(27, 8), order(26, 8), order(25, 8), \
                     order(24, 8), order(23, 8), order(22, 8), order(21, 8), order(20, 8), order(19, 8), order(18, 8), \
                     order(17, 8), order(16, 8), order(15, 8), order(14, 8), order(13, 8), order(12, 8), order(11, 8), \
                     order(10, 8), order(9, 8), order(8, 8), order(7, 8), order(6, 8), order(5, 8), order(4, 8),      \
                     order(3, 8), order(2, 8), order(1, 8), order(0, 8))
#define TURN2(v, order) _mm512_permutexvar_epi64(PIECES2(order), v)
#define TURN4(v, order) _mm512_permutexvar_epi32(PIECES4(order), v)
#define TURN8(v, order) _mm512_permutexvar_epi16(PIECES8(order), v)
#elif VB == 32
#define MERGE_TURNS(count, size) ((count) < 8)
#define SPLIT_TURNS(count, size) ((count) == 4)
#define TURN2(v, order) _mm256_permute4x64_epi64(v, order(3, 2) << 6 | order(2, 2) << 4 | order(1, 2) << 2 | order(0, 2))
#define TURN4(v, order)                                                                                              \
    _mm256_permutevar8x32_epi32(v, _mm256_set_epi32(order(7, 4), order(6, 4), order(5, 4), order(4, 4), order(3, 4), \
                                                    order(2, 4), order(1, 4), order(0, 4)))
#define TURN8(v, order) (v)
#else
#define MERGE_TURNS(count, size) ((count) * (size) <= 16)
#define SPLIT_TURNS MERGE_TURNS
#define TURN2(v, order) (v)
#define TURN4(v, order) (v)
#define TURN8(v, order) (v)
#endif
#define GATHERED(at, count) ((at) % (count) * LANES + (at) / (count))
#define SCATTERED(at, count) ((at) % LANES * (count) + (at) / LANES)

INLINE void put_past(uint8_t *p, V v, int past) {
#ifdef STREAM
    if (past && (uintptr_t)p % VB == 0) {
        STREAM(p, v);
        return;
    }
#endif
    (void)past;
    put(p, v);
}
INLINE void put_lane(uint8_t *p, B1 v, int past) {
#ifdef STREAM
    if (past && (uintptr_t)p % 16 == 0) {
        _mm_stream_si128((__m128i *)(void *)p, (__m128i)v);
        return;
    }
#endif
    (void)past;
    store16(p, v);
}
INLINE void put_lanes(uint8_t *p, int64_t step, V v, int past) {
    (void)step;
    put_lane(p, LANE(v, 0), past);
#if LANES > 1
    put_lane(p + step, LANE(v, 1), past);
#endif
#if LANES > 2
    put_lane(p + 2 * step, LANE(v, 2), past);
    put_lane(p + 3 * step, LANE(v, 3), past);
#endif
}

/* 4 x 4 elements of 16 bytes: a cache line on both sides. */
INLINE void tile16(const uint8_t *src, int64_t sa, uint8_t *dst, int64_t db) {
    for (int l = 0; l < 4; l += LANES)
        for (int k = 0; k < 4; ++k) put(dst + k * db + l * 16, lanes(src + l * sa + k * 16, sa));
}
INLINE void loose16(const uint8_t *src, int64_t sa, int64_t a, uint8_t *dst, int64_t db, int64_t b) {
    for (int64_t j = 0; j < b; ++j)
        for (int64_t i = 0; i < a; ++i) store16(dst + j * db + i * 16, load16(src + i * sa + j * 16));
}
/* Rows of the source that lie further apart than those of the result are read from end to end, four at a time, as far as
 * the part of the result stays in L1. */
INLINE void transpose16(const uint8_t *src, int64_t sa, int64_t a, uint8_t *dst, int64_t db, int64_t b) {
    const int64_t down = llabs(db), as = a & ~3, bs = b & ~3;
    if (llabs(sa) > down) {
        const int64_t most = down > 4096 ? 4 : down < 256 ? 64 : 16384 / down & ~3;
        for (int64_t j0 = 0; j0 < bs; j0 += most)
            for (int64_t i = 0; i < as; i += 4)
                for (int64_t j = j0; j < j0 + most && j < bs; j += 4)
                    tile16(src + i * sa + j * 16, sa, dst + j * db + i * 16, db);
    } else {
        for (int64_t j = 0; j < bs; j += 4)
            for (int64_t i = 0; i < as; i += 4) tile16(src + i * sa + j * 16, sa, dst + j * db + i * 16, db);
    }
    loose16(src + as * sa, sa, a - as, dst + as * 16, db, bs);
    loose16(src + bs * 16, sa, a, dst + bs * db, db, b - bs);
}

/* Rows of n * size neighbouring bytes. A call of memcpy costs as much as hundreds of bytes. */
INLINE void copy_row(const uint8_t *s, uint8_t *d, int64_t bytes) {
    if (bytes >= VB) {
        for (int64_t at = 0; at < bytes - VB; at += VB) put(d + at, whole(s + at));
        put(d + bytes - VB, whole(s + bytes - VB));
    } else if (bytes >= 16) {
        for (int64_t at = 0; at < bytes - 16; at += 16) store16(d + at, load16(s + at));
        store16(d + bytes - 16, load16(s + bytes - 16));
    } else if (bytes >= 8) {
        element(8, s, d);
        element(8, s + bytes - 8, d + bytes - 8);
    } else if (bytes >= 4) {
        element(4, s, d);
        element(4, s + bytes - 4, d + bytes - 4);
    } else {
        for (int64_t at = 0; at < bytes; ++at) d[at] = s[at];
    }
}

/* Whole cache lines past the caches, what is before and behind them not. */
INLINE void copy_past(const uint8_t *s, uint8_t *d, int64_t bytes) {
    int64_t i = (int64_t)(-(uintptr_t)d % 64);
    if (i > bytes) i = bytes;
    copy_row(s, d, i);
    for (; i + 64 <= bytes; i += 64)
        for (int k = 0; k < 64; k += VB) put_past(d + i + k, whole(s + i + k), 1);
    copy_row(s + i, d + i, bytes - i);
}

static __attribute__((noinline)) void HERE(transpose)(int size, const uint8_t *src, int64_t sa, int64_t a, uint8_t *dst,
                                                     int64_t db, int64_t b, int past) {
    past = VB > 16 && past;
    switch (size) {
        case 1: if (past) transpose1(src, sa, a, dst, db, b, 1); else transpose1(src, sa, a, dst, db, b, 0); break;
        case 2: if (past) transpose2(src, sa, a, dst, db, b, 1); else transpose2(src, sa, a, dst, db, b, 0); break;
        case 4: if (past) transpose4(src, sa, a, dst, db, b, 1); else transpose4(src, sa, a, dst, db, b, 0); break;
        case 8: if (past) transpose8(src, sa, a, dst, db, b, 1); else transpose8(src, sa, a, dst, db, b, 0); break;
        default: transpose16(src, sa, a, dst, db, b);
    }
}

/* Rows whose distance is a multiple of CROWD share so few sets of L1 that they drive each other out. They go by a bench
 * in L1: of the result always, but for what goes past the caches; of the source where it lies in L2, since what comes
 * from further away wants to be read from end to end. */
enum { CROWD = 2048, BENCH = 16384, NEAR = 1 << 20, RUN = 512 };

static void HERE(transpose_to_crowd)(int size, int past, const uint8_t *src, Loop a, uint8_t *dst, Loop b) {
    enum { COLUMNS_AT_ONCE = BENCH / 64 };
    uint8_t bench[BENCH + 64 * 64] __attribute__((aligned(64)));
    const int64_t rows = 64 / size, pitch = COLUMNS_AT_ONCE * size + 64;
    for (int64_t j = 0; j < b.n; j += rows) {
        const int64_t bs = b.n - j < rows ? b.n - j : rows;
        for (int64_t i = 0; i < a.n; i += COLUMNS_AT_ONCE) {
            const int64_t as = a.n - i < COLUMNS_AT_ONCE ? a.n - i : COLUMNS_AT_ONCE;
            HERE(transpose)(size, src + i * a.s + j * size, a.s, as, bench, pitch, bs, 0);
            for (int64_t k = 0; k < bs; ++k) {
                uint8_t *row = dst + (j + k) * b.d + i * size;
                if (past) copy_past(bench + k * pitch, row, as * size);
                else copy_row(bench + k * pitch, row, as * size);
            }
        }
    }
}

static void HERE(transpose_from_crowd)(int size, int past, const uint8_t *src, Loop a, uint8_t *dst, Loop b) {
    enum { ROWS = BENCH / RUN, PITCH = RUN + 64 };
    uint8_t bench[ROWS * PITCH] __attribute__((aligned(64)));
    const int64_t run = RUN / size;
    for (int64_t i = 0; i < a.n; i += ROWS) {
        const int64_t as = a.n - i < ROWS ? a.n - i : ROWS;
        for (int64_t j = 0; j < b.n; j += run) {
            const int64_t bs = b.n - j < run ? b.n - j : run;
            for (int64_t k = 0; k < as; ++k) copy_row(src + (i + k) * a.s + j * size, bench + k * PITCH, bs * size);
            HERE(transpose)(size, bench, PITCH, as, dst + i * size + j * b.d, b.d, bs, past);
        }
    }
}

static void HERE(move_transpose)(const Move *m, const uint8_t *src, uint8_t *dst) {
    const Loop b = m->box.loops[m->box.count - 2], a = m->box.loops[m->box.count - 1];
    const int size = m->size, many = size < 16 && a.n * size >= 64 && b.n * size >= 64;
    if (many && b.d % CROWD == 0 && !(VB > 16 && m->past))
        HERE(transpose_to_crowd)(size, m->past, src, a, dst, b);
    else if (many && a.s % CROWD == 0 && a.n * b.n * size <= NEAR)
        HERE(transpose_from_crowd)(size, m->past, src, a, dst, b);
    else
        HERE(transpose)(size, src, a.s, a.n, dst, b.d, b.n, m->past);
}

static void HERE(move_copy)(const Move *m, const uint8_t *src, uint8_t *dst) {
    const Loop rows = m->box.loops[m->box.count - 2], row = m->box.loops[m->box.count - 1];
    const int64_t bytes = row.n * m->size;
    if (bytes <= 2048)
        for (int64_t i = 0; i < rows.n; ++i) copy_row(src + i * rows.s, dst + i * rows.d, bytes);
    else
        for (int64_t i = 0; i < rows.n; ++i) memcpy(dst + i * rows.d, src + i * rows.s, (size_t)bytes);
}

/* Step by step along n elements, the last step overlapping the one before. What goes past the caches goes from a cache
 * line on; there have to be that many elements, and planes have to be alike. */
#define AT_STEPS for (int64_t i = 0;; i = next(i, STEP, n, lead))
INLINE int64_t next(int64_t i, int64_t step, int64_t n, int64_t lead) {
    const int64_t to = i || !lead ? i + step : lead;
    return to + step <= n ? to : n - step;
}
INLINE int64_t lead_of(int past, const uint8_t *dst, int size) {
    return past && (uintptr_t)dst % size == 0 ? (int64_t)(-(uintptr_t)dst % VB) / size : 0;
}

#if SHUFFLES
/* Of 3 registers that hold 16 / size pixels of 3 channels, channel c lies in register r at the elements i with
 * (i + r * (16 / size)) % 3 == c: three disjoint sets, so that two blends and one shuffle bring a plane together. */
typedef struct {
    V at[3], order[3];
} Thirds;

INLINE Thirds thirds(int size, int inverse) {
    Thirds t;
    for (int c = 0; c < 3; ++c) {
        uint8_t at[16], order[16];
        for (int i = 0; i < 16; ++i) {
            const int e = i / size, n = 16 / size, from = inverse ? (inverse * (e - c + 3 * n)) % n : (3 * e + c) % n;
            at[i] = e % 3 == c ? 0xFF : 0;
            order[i] = (uint8_t)(from * size + i % size);
        }
        t.at[c] = broadcast(at);
        t.order[c] = broadcast(order);
    }
    return t;
}

/* Three registers whose lanes follow each other: lane l of register r is piece 3 l + r. */
INLINE void put_thirds(uint8_t *p, const V x[3], int past) {
#if VB == 64
#define LANE_PAIRS(a, b, c, d) \
    _mm512_set_epi64(2 * (d) + 1, 2 * (d), 2 * (c) + 1, 2 * (c), 2 * (b) + 1, 2 * (b), 2 * (a) + 1, 2 * (a))
    /* Lane 4 + l is lane l of the second register. */
    const V a = _mm512_permutex2var_epi64(x[0], LANE_PAIRS(0, 4, 0, 1), x[1]);
    const V b = _mm512_permutex2var_epi64(x[1], LANE_PAIRS(1, 5, 0, 2), x[2]);
    const V c = _mm512_permutex2var_epi64(x[2], LANE_PAIRS(2, 7, 0, 3), x[0]);
    put_past(p, _mm512_permutex2var_epi64(a, LANE_PAIRS(0, 1, 4, 3), x[2]), past);
    put_past(p + 64, _mm512_permutex2var_epi64(b, LANE_PAIRS(0, 1, 4 + 2, 3), x[0]), past);
    put_past(p + 128, _mm512_permutex2var_epi64(c, LANE_PAIRS(0, 1, 4 + 3, 3), x[1]), past);
#elif VB == 32
    put_past(p, _mm256_permute2x128_si256(x[0], x[1], 0x20), past);
    put_past(p + 32, _mm256_permute2x128_si256(x[2], x[0], 0x30), past);
    put_past(p + 64, _mm256_permute2x128_si256(x[1], x[2], 0x31), past);
#else
    for (int r = 0; r < 3; ++r) put_lane(p + 16 * r, x[r], past);
#endif
}
/* Pixels of 3 elements before the first one that begins at a vector's multiple: 3 divides 1 more than a power of four
 * times two. */
INLINE int64_t thirds_lead(const uint8_t *dst, int size) {
    enum { INVERSE = 43 }; /* 3 * 43 is 1 more than 128 */
    return (uintptr_t)dst % size == 0 ? (int64_t)(-(uintptr_t)dst % VB) / size * INVERSE % (VB / size) : 0;
}

/* `turn`: what 16 / size leaves when divided by 3. `inverse`: 3 * inverse leaves 1 when divided by 16 / size. */
#define SPLIT3(size, turn)                                                                                       \
    INLINE int64_t split3_##size(const uint8_t *src, uint8_t *dst, int64_t d, int64_t n, int past) {             \
        enum { STEP = LANES * 16 / size };                                                                       \
        if (n < STEP) return 0;                                                                                  \
        past = past && d % VB == 0;                                                                              \
        const int64_t lead = lead_of(d % VB == 0, dst, size);                                                    \
        const Thirds t = thirds(size, 0);                                                                        \
        AT_STEPS {                                                                                               \
            const uint8_t *s = src + 3 * size * i;                                                               \
            const V x[3] = {lanes(s, 48), lanes(s + 16, 48), lanes(s + 32, 48)};                                 \
            for (int c = 0; c < 3; ++c) {                                                                        \
                const V v = select3(x[0], x[1], x[2], t.at[(c + 2 * turn) % 3], t.at[(c + turn) % 3]);           \
                put_past(dst + c * d + i * size, shuffled(v, t.order[c]), past);                                 \
            }                                                                                                    \
            if (i + STEP >= n) return n;                                                                         \
        }                                                                                                        \
    }
#define MERGE3(size, turn, inverse)                                                                              \
    INLINE int64_t merge3_##size(const uint8_t *src, int64_t s, uint8_t *dst, int64_t n, int past) {             \
        enum { STEP = LANES * 16 / size };                                                                       \
        if (n < STEP) return 0;                                                                                  \
        const int64_t lead = 0;                                                                                  \
        const Thirds t = thirds(size, inverse);                                                                  \
        AT_STEPS {                                                                                               \
            V x[3];                                                                                              \
            for (int c = 0; c < 3; ++c) x[c] = shuffled(whole(src + c * s + i * size), t.order[c]);              \
            V y[3];                                                                                              \
            for (int r = 0; r < 3; ++r)                                                                          \
                y[r] = select3(x[0], x[1], x[2], t.at[(1 + (3 - turn) * r) % 3], t.at[(2 + (3 - turn) * r) % 3]); \
            put_thirds(dst + 3 * size * i, y, past);                                                             \
            if (i + STEP >= n) return n;                                                                         \
        }                                                                                                        \
    }
SPLIT3(1, 1)
SPLIT3(2, 2)
SPLIT3(4, 1)
MERGE3(1, 1, 11)
MERGE3(2, 2, 3)
MERGE3(4, 1, 3)
#else
/* Without byte shuffles: 3 registers are 6 halves, and interleaving each half with the third one after it is a perfect
 * shuffle of their 48 / size elements, which doubles an index modulo one less than that. Splitting takes as many rounds
 * as make 2**rounds the elements of one register, merging as many the other way round. */
#define SPLIT3(size, rounds)                                                                                     \
    INLINE int64_t split3_##size(const uint8_t *src, uint8_t *dst, int64_t d, int64_t n, int past) {             \
        enum { STEP = 16 / size };                                                                               \
        if (n < STEP) return 0;                                                                                  \
        const int64_t lead = 0;                                                                                  \
        (void)past;                                                                                              \
        AT_STEPS {                                                                                               \
            const uint8_t *s = src + 3 * size * i;                                                               \
            B1 x[3] = {load16(s), load16(s + 16), load16(s + 32)};                                               \
            for (int k = 0; k < rounds; ++k) {                                                                   \
                const B1 a = low##size(x[0], high8(x[1], x[1])), b = low##size(high8(x[0], x[0]), x[2]);         \
                x[2] = low##size(x[1], high8(x[2], x[2]));                                                       \
                x[0] = a, x[1] = b;                                                                              \
            }                                                                                                    \
            for (int c = 0; c < 3; ++c) store16(dst + c * d + i * size, x[c]);                                   \
            if (i + STEP >= n) return n;                                                                         \
        }                                                                                                        \
    }
#define MERGE3(size, rounds)                                                                                     \
    INLINE int64_t merge3_##size(const uint8_t *src, int64_t s, uint8_t *dst, int64_t n, int past) {             \
        enum { STEP = 16 / size };                                                                               \
        if (n < STEP) return 0;                                                                                  \
        const int64_t lead = 0;                                                                                  \
        (void)past;                                                                                              \
        AT_STEPS {                                                                                               \
            B1 x[3];                                                                                             \
            for (int c = 0; c < 3; ++c) x[c] = load16(src + c * s + i * size);                                   \
            for (int k = 0; k < rounds; ++k) {                                                                   \
                const B1 a = even##size(x[0], x[1]), b = low8(even##size(x[2], x[2]), odd##size(x[0], x[0]));    \
                x[2] = odd##size(x[1], x[2]);                                                                    \
                x[0] = a, x[1] = b;                                                                              \
            }                                                                                                    \
            for (int r = 0; r < 3; ++r) store16(dst + 3 * size * i + 16 * r, x[r]);                              \
            if (i + STEP >= n) return n;                                                                         \
        }                                                                                                        \
    }
INLINE B1 even1(B1 a, B1 b) { return SHUFFLE(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30); }
INLINE B1 odd1(B1 a, B1 b) { return SHUFFLE(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31); }
INLINE B1 even2(B1 a, B1 b) { return (B1)SHUFFLE((B2)a, (B2)b, 0, 2, 4, 6, 8, 10, 12, 14); }
INLINE B1 odd2(B1 a, B1 b) { return (B1)SHUFFLE((B2)a, (B2)b, 1, 3, 5, 7, 9, 11, 13, 15); }
INLINE B1 even4(B1 a, B1 b) { return (B1)SHUFFLE((B4)a, (B4)b, 0, 2, 4, 6); }
INLINE B1 odd4(B1 a, B1 b) { return (B1)SHUFFLE((B4)a, (B4)b, 1, 3, 5, 7); }
SPLIT3(1, 4)
SPLIT3(2, 3)
SPLIT3(4, 2)
MERGE3(1, 4)
MERGE3(2, 3)
MERGE3(4, 2)
#endif

/* 2, 4 and 8 channels by unpacking alone: each round turns the index (register, element) left by one bit. */
#define SPLIT_EVEN(count, size, rounds)                                                                          \
    INLINE int64_t split##count##_##size(const uint8_t *src, uint8_t *dst, int64_t d, int64_t n, int past) {     \
        enum { STEP = LANES * 16 / size };                                                                       \
        if (n < STEP) return 0;                                                                                  \
        past = past && d % VB == 0;                                                                              \
        const int64_t lead = lead_of(count > 2 && d % VB == 0, dst, size);                                                    \
        AT_STEPS {                                                                                               \
            V x[count], y[count];                                                                                \
            const uint8_t *s = src + count * size * i;                                                           \
            for (int r = 0; r < count; ++r) x[r] = SPLIT_TURNS(count, size) ? whole(s + VB * r) : lanes(s + 16 * r, 16 * count); \
            for (int k = 0; k < rounds; ++k) {                                                                   \
                ROUND(V, VLOW_##size, VHIGH_##size, x, y, count)                                                 \
                for (int r = 0; r < count; ++r) x[r] = y[r];                                                     \
            }                                                                                                    \
            for (int r = 0; r < count; ++r) put_past(dst + r * d + i * size, SPLIT_TURNS(count, size) ? TURN##count(x[r], SCATTERED) : x[r], past); \
            if (i + STEP >= n) return n;                                                                         \
        }                                                                                                        \
    }
#define MERGE_EVEN(count, size, rounds)                                                                          \
    INLINE int64_t merge##count##_##size(const uint8_t *src, int64_t s, uint8_t *dst, int64_t n, int past) {     \
        enum { STEP = LANES * 16 / size };                                                                       \
        if (n < STEP) return 0;                                                                                  \
        const int64_t lead = lead_of(1, dst, count * size);                                                      \
        AT_STEPS {                                                                                               \
            V x[count], y[count];                                                                                \
            for (int r = 0; r < count; ++r) x[r] = whole(src + r * s + i * size);                                \
            if (MERGE_TURNS(count, size))                                                                        \
                for (int r = 0; r < count; ++r) x[r] = TURN##count(x[r], GATHERED);                              \
            for (int k = 0; k < rounds; ++k) {                                                                   \
                ROUND(V, VLOW_##size, VHIGH_##size, x, y, count)                                                 \
                for (int r = 0; r < count; ++r) x[r] = y[r];                                                     \
            }                                                                                                    \
            uint8_t *to = dst + count * size * i;                                                                \
            for (int r = 0; r < count; ++r)                                                                      \
                if (MERGE_TURNS(count, size)) put_past(to + VB * r, x[r], past);                                             \
                else put_lanes(to + 16 * r, 16 * count, x[r], past);                                             \
            if (i + STEP >= n) return n;                                                                         \
        }                                                                                                        \
    }
SPLIT_EVEN(2, 1, 4)
SPLIT_EVEN(2, 2, 3)
SPLIT_EVEN(2, 4, 2)
SPLIT_EVEN(4, 1, 4)
SPLIT_EVEN(4, 2, 3)
SPLIT_EVEN(4, 4, 2)
SPLIT_EVEN(8, 1, 4)
SPLIT_EVEN(8, 2, 3)
SPLIT_EVEN(8, 4, 2)
MERGE_EVEN(2, 1, 1)
MERGE_EVEN(2, 2, 1)
MERGE_EVEN(2, 4, 1)
MERGE_EVEN(4, 1, 2)
MERGE_EVEN(4, 2, 2)
MERGE_EVEN(4, 4, 2)
MERGE_EVEN(8, 1, 3)
MERGE_EVEN(8, 2, 3)
MERGE_EVEN(8, 4, 3)

#define CHANNELS(count, size, CALL)                                              \
    switch (10 * (count) + (size)) {                                             \
        case 21: CALL(2, 1); break;                                              \
        case 22: CALL(2, 2); break;                                              \
        case 24: CALL(2, 4); break;                                              \
        case 31: CALL(3, 1); break;                                              \
        case 32: CALL(3, 2); break;                                              \
        case 34: CALL(3, 4); break;                                              \
        case 41: CALL(4, 1); break;                                              \
        case 42: CALL(4, 2); break;                                              \
        case 44: CALL(4, 4); break;                                              \
        case 81: CALL(8, 1); break;                                              \
        case 82: CALL(8, 2); break;                                              \
        case 84: CALL(8, 4); break;                                              \
    }

/* Pixels of 2, 3, 4 or 8 neighbouring channels into planes. */
static void HERE(move_split)(const Move *m, const uint8_t *src, uint8_t *dst) {
    const Loop channel = m->box.loops[m->box.count - 2], pixel = m->box.loops[m->box.count - 1];
    int64_t done = 0;
    if (m->past && channel.d % VB) { /* planes whose cache lines begin at different pixels */
        enum { SOME = 1024 };
        uint8_t planes[8][SOME] __attribute__((aligned(64)));
        const int64_t most = SOME / m->size;
        Move few = *m;
        few.past = 0;
        few.box.loops[m->box.count - 2].d = SOME;
        for (int64_t i = 0; i < pixel.n; i += most) {
            const int64_t n = pixel.n - i < most ? pixel.n - i : most;
            few.box.loops[m->box.count - 1].n = n;
            HERE(move_split)(&few, src + i * pixel.s, planes[0]);
            for (int64_t c = 0; c < channel.n; ++c) copy_past(planes[c], dst + c * channel.d + i * m->size, n * m->size);
        }
        return;
    }
#define CALL(count, size) done = split##count##_##size(src, dst, channel.d, pixel.n, m->past)
    CHANNELS(channel.n, m->size, CALL)
#undef CALL
    if (done < pixel.n)
        for (int64_t c = 0; c < channel.n; ++c) {
#define CALL(size) strided(size, src + c * channel.s, pixel.s, dst + c * channel.d, size, pixel.n)
            BY_SIZE(m->size, CALL)
#undef CALL
        }
}

/* Planes into pixels of 2, 3, 4 or 8 neighbouring channels. */
static void HERE(move_merge)(const Move *m, const uint8_t *src, uint8_t *dst) {
    const Loop pixel = m->box.loops[m->box.count - 2], channel = m->box.loops[m->box.count - 1];
    int64_t done = 0;
#define CALL(count, size) done = merge##count##_##size(src, channel.s, dst, pixel.n, m->past)
    CHANNELS(channel.n, m->size, CALL)
#undef CALL
    if (done < pixel.n)
        for (int64_t c = 0; c < channel.n; ++c) {
#define CALL(size) strided(size, src + c * channel.s, size, dst + c * channel.d, pixel.d, pixel.n)
            BY_SIZE(m->size, CALL)
#undef CALL
        }
}

/* Pixels of up to 4 single bytes into pixels of another order or length: one shuffle for each 16 bytes. */
static void HERE(move_pixels)(const Move *m, const uint8_t *src, uint8_t *dst) {
    const Loop pixel = m->box.loops[m->box.count - 2], channel = m->box.loops[m->box.count - 1];
    int64_t i = 0;
#if SHUFFLES
    const int64_t lowest = channel.s < 0 ? channel.s * (channel.n - 1) : 0;
    const int64_t longest = pixel.s > pixel.d ? pixel.s : pixel.d, each = 16 / longest;
    /* Of pixels one byte apart, a sliding window, the last ones have no 16 bytes. */
    if (pixel.d == channel.n && pixel.s > 1 && pixel.s <= 8 && pixel.n >= 2 * each + 6) {
        uint8_t order[16];
        for (int64_t k = 0; k < 16; ++k) {
            const int64_t p = k / pixel.d, at = p * pixel.s + (k % pixel.d) * channel.s - lowest;
            order[k] = p < each ? (uint8_t)at : 0x80;
        }
        const V to = broadcast(order);
        /* Each store spoils bytes that the next one writes; 16 bytes are read from `lowest` on, so stop early. */
        const int64_t last = pixel.n - each - 6;
        for (; i + (LANES - 1) * each <= last; i += LANES * each) {
            const V v = shuffled(lanes(src + i * pixel.s + lowest, each * pixel.s), to);
            put_lanes(dst + i * pixel.d, each * pixel.d, v, 0);
        }
    }
#endif
    for (; i < pixel.n; ++i)
        for (int64_t c = 0; c < channel.n; ++c) dst[i * pixel.d + c] = src[i * pixel.s + c * channel.s];
}

/* Arithmetic is done on WIDTH elements of 32 bits. What depends on the machine: to widen and to narrow integers (by
 * their low bits), float16, and of two floats the larger (smaller), the second one where the first is NaN. */
#define WIDTH (VB / 4)
typedef float F __attribute__((vector_size(4 * WIDTH)));
typedef int32_t S __attribute__((vector_size(4 * WIDTH)));
typedef uint32_t U __attribute__((vector_size(4 * WIDTH)));

INLINE F every(float x) { return (F){0} + x; }
INLINE S every_int(int32_t x) { return (S){0} + x; }

#if VB == 64
INLINE S widen_i8(const uint8_t *p) { return (S)_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)p)); }
INLINE S widen_u8(const uint8_t *p) { return (S)_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)p)); }
INLINE S widen_i16(const uint8_t *p) { return (S)_mm512_cvtepi16_epi32(_mm256_loadu_si256((const __m256i *)p)); }
INLINE S widen_u16(const uint8_t *p) { return (S)_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p)); }
INLINE void narrow_16(uint8_t *p, S v) { _mm256_storeu_si256((__m256i *)p, _mm512_cvtepi32_epi16((__m512i)v)); }
INLINE void narrow_8(uint8_t *p, S v) { _mm_storeu_si128((__m128i *)p, _mm512_cvtepi32_epi8((__m512i)v)); }
INLINE F larger(F a, F b) { return (F)_mm512_max_ps((__m512)a, (__m512)b); }
INLINE F smaller(F a, F b) { return (F)_mm512_min_ps((__m512)a, (__m512)b); }
INLINE F get_f16(const uint8_t *p) { return (F)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p)); }
INLINE void put_f16(uint8_t *p, F v) { _mm256_storeu_si256((__m256i *)p, _mm512_cvtps_ph((__m512)v, 0)); }
#elif VB == 32
INLINE S widen_i8(const uint8_t *p) { return (S)_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)p)); }
INLINE S widen_u8(const uint8_t *p) { return (S)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p)); }
INLINE S widen_i16(const uint8_t *p) { return (S)_mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)p)); }
INLINE S widen_u16(const uint8_t *p) { return (S)_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p)); }
INLINE __m128i halves(S v) {
    v &= 0xFFFF;
    return _mm_packus_epi32(_mm256_castsi256_si128((__m256i)v), _mm256_extracti128_si256((__m256i)v, 1));
}
INLINE void narrow_16(uint8_t *p, S v) { _mm_storeu_si128((__m128i *)p, halves(v)); }
INLINE void narrow_8(uint8_t *p, S v) {
    const __m128i h = halves(v & 0xFF);
    _mm_storel_epi64((__m128i *)p, _mm_packus_epi16(h, h));
}
INLINE F larger(F a, F b) { return (F)_mm256_max_ps((__m256)a, (__m256)b); }
INLINE F smaller(F a, F b) { return (F)_mm256_min_ps((__m256)a, (__m256)b); }
INLINE F get_f16(const uint8_t *p) { return (F)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p)); }
INLINE void put_f16(uint8_t *p, F v) { _mm_storeu_si128((__m128i *)p, _mm256_cvtps_ph((__m256)v, 0)); }
#else
INLINE B1 load4(const uint8_t *p) {
    uint32_t v;
    memcpy(&v, p, 4);
    return (B1)(B4){v, 0, 0, 0};
}
INLINE S widen_u8(const uint8_t *p) { return (S)low2(low1(load4(p), (B1){0}), (B1){0}); }
INLINE S widen_i8(const uint8_t *p) { return (S)low2((B1){0}, low1((B1){0}, load4(p))) >> 24; }
INLINE S widen_u16(const uint8_t *p) { return (S)low2(load8(p), (B1){0}); }
INLINE S widen_i16(const uint8_t *p) { return (S)low2((B1){0}, load8(p)) >> 16; }
#if defined(__SSE2__)
INLINE void narrow_16(uint8_t *p, S v) {
    const __m128i signs = (__m128i)(v << 16 >> 16);
    store8(p, (B1)_mm_packs_epi32(signs, signs), 0);
}
INLINE void narrow_8(uint8_t *p, S v) {
    const __m128i low = (__m128i)(v & 0xFF), h = _mm_packs_epi32(low, low), b = _mm_packus_epi16(h, h);
    memcpy(p, &b, 4);
}
#else
INLINE void narrow_16(uint8_t *p, S v) { store8(p, (B1)SHUFFLE((B2)v, (B2)v, 0, 2, 4, 6, 0, 2, 4, 6), 0); }
INLINE void narrow_8(uint8_t *p, S v) {
    const B2 h = SHUFFLE((B2)v, (B2)v, 0, 2, 4, 6, 0, 2, 4, 6);
    const B1 b = SHUFFLE((B1)h, (B1)h, 0, 2, 4, 6, 8, 10, 12, 14, 0, 2, 4, 6, 8, 10, 12, 14);
    memcpy(p, &b, 4);
}
#endif
INLINE F choose(U first, F a, F b) { return (F)((first & (U)a) | (~first & (U)b)); }
#if defined(__SSE2__)
INLINE F larger(F a, F b) { return (F)_mm_max_ps((__m128)a, (__m128)b); }
INLINE F smaller(F a, F b) { return (F)_mm_min_ps((__m128)a, (__m128)b); }
#else
INLINE F larger(F a, F b) { return choose((U)(a > b), a, b); }
INLINE F smaller(F a, F b) { return choose((U)(a < b), a, b); }
#endif

/* Shift exponent and fraction into place and scale by 2**112, which also makes subnormals normal. */
INLINE F get_f16(const uint8_t *p) {
    const U h = (U)widen_u16(p), sign = (h & 0x8000) << 16, rest = (h & 0x7FFF) << 13;
    const U special = (U)((S)rest >= (0x7C00 << 13)), scaled = (U)((F)rest * every(0x1p112f));
    return (F)(sign | (special & (rest | 0x7F800000)) | (~special & scaled));
}
/* Normal results: round half to even on the 13 bits that go. Subnormal ones: let a float addition round. */
INLINE void put_f16(uint8_t *p, F v) {
    const U bits = (U)v, sign = (bits >> 16) & 0x8000, rest = bits & 0x7FFFFFFF;
    const U normal = (rest - (112u << 23) + 0xFFF + ((rest >> 13) & 1)) >> 13;
    const U small = (U)((F)rest + every(0.5f)) - 0x3F000000u;
    const S signed_rest = (S)rest; /* never negative, and SSE2 compares signed integers alone */
    const U is_small = (U)(signed_rest < (113 << 23)), is_large = (U)(signed_rest >= 0x477FF000);
    const U is_nan = (U)(signed_rest > 0x7F800000);
    U h = (is_small & small) | (~is_small & normal);
    h = (is_large & 0x7C00) | (~is_large & h);
    h = (is_nan & (0x7E00 | ((rest >> 13) & 0x3FF))) | (~is_nan & h);
    narrow_16(p, (S)(h | sign));
}
#endif

INLINE F get_i8(const uint8_t *p) { return __builtin_convertvector(widen_i8(p), F); }
INLINE F get_u8(const uint8_t *p) { return __builtin_convertvector(widen_u8(p), F); }
INLINE F get_i16(const uint8_t *p) { return __builtin_convertvector(widen_i16(p), F); }
INLINE F get_u16(const uint8_t *p) { return __builtin_convertvector(widen_u16(p), F); }
INLINE F get_bf16(const uint8_t *p) { return (F)(widen_u16(p) << 16); }
INLINE F get_i32(const uint8_t *p) {
    S v;
    memcpy(&v, p, sizeof v);
    return __builtin_convertvector(v, F);
}
INLINE F get_f32(const uint8_t *p) {
    F v;
    memcpy(&v, p, sizeof v);
    return v;
}

INLINE void put_f32(uint8_t *p, F v) { memcpy(p, &v, sizeof v); }
INLINE void put_bf16(uint8_t *p, F v) {
    const U bits = (U)v, nan = (U)(v != v);
    const U rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
    narrow_16(p, (S)((nan & ((bits >> 16) | 0x40)) | (~nan & rounded)));
}

INLINE F floats(const float *p) {
    F v;
    memcpy(&v, p, sizeof v);
    return v;
}
INLINE S ints(const int32_t *p) {
    S v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* Rows have WIDTH elements or more; the last vector overlaps the one before, as does the second one where it begins at
 * a cache line of `wide`, the side of 4 bytes. */
#define WALK(wide, BODY)                                                                                    \
    int64_t at = (uintptr_t)(wide) % 4 == 0 ? (int64_t)(-(uintptr_t)(wide) % VB) / 4 : 0;                   \
    if (at) BODY(0);                                                                                        \
    for (; at + WIDTH <= n; at += WIDTH) BODY(at);                                                          \
    if (at < n) BODY(n - WIDTH);

#define LOAD_AT(i) LOAD_TO(dst + 4 * (i), i)
#define LOAD_TO(to, i)                                                                                            \
    do {                                                                                                          \
        F v = (get(from + (i) * bytes) - (each ? floats(shift + (i)) : shift0)) * (each ? floats(scale + (i)) : scale0); \
        if (divides) v = v / (each ? floats(divisor + (i)) : divisor0);                                           \
        put_f32(to, v);                                                                                           \
    } while (0)
#define LOAD_PAST(i)                                                                                              \
    STREAM(dst + 4 * (i),                                                                                         \
           (V)((get(from + (i) * bytes) - (each ? floats(shift + (i)) : shift0)) * (each ? floats(scale + (i)) : scale0)))
INLINE void load(F get(const uint8_t *), int bytes, int each, int divides, const uint8_t *from, uint8_t *dst, int64_t n,
                 const Row *row) {
    const float *shift = row->shift, *scale = row->scale, *divisor = row->divisor;
    const F shift0 = every(*shift), scale0 = every(*scale), divisor0 = every(*divisor);
    WALK(dst, LOAD_AT)
}
#ifdef STREAM
/* The same past the caches. Nothing else is written to a line that goes there. */
INLINE void load_past(F get(const uint8_t *), int bytes, int each, const uint8_t *from, uint8_t *dst, int64_t n,
                      const Row *row) {
    enum { divides = 0 };
    const float *shift = row->shift, *scale = row->scale, *divisor = row->divisor;
    const F shift0 = every(*shift), scale0 = every(*scale), divisor0 = every(*divisor);
    const int64_t lead = (int64_t)(-(uintptr_t)dst % 64) / 4, lines = (n - lead) / 16 * 16, rest = n - lead - lines;
    uint8_t ends[4 * WIDTH];
    for (int64_t i = lead; i < lead + lines; i += WIDTH) LOAD_PAST(i);
    for (int64_t done = 0; done < lead; done += WIDTH) {
        const int64_t some = lead - done < WIDTH ? lead - done : WIDTH;
        LOAD_TO(ends, done);
        memcpy(dst + 4 * done, ends, (size_t)(4 * some));
    }
    for (int64_t done = 0; done < rest; done += WIDTH) {
        const int64_t some = rest - done < WIDTH ? rest - done : WIDTH, at = n - rest + done;
        LOAD_TO(ends, at + WIDTH <= n ? at : n - WIDTH);
        memcpy(dst + 4 * at, ends + (at + WIDTH <= n ? 0 : 4 * (at + WIDTH - n)), (size_t)(4 * some));
    }
}
#endif

#ifdef STREAM
#define LOAD_PAST_ONE(name, bytes, suffix, each)                                                                  \
    __attribute__((noinline)) static void HERE(load_past_##name##suffix)(const uint8_t *src, uint8_t *dst, int64_t n, \
                                                                        const Row *row) {                         \
        load_past(get_##name, bytes, each, src, dst, n, row);                                                     \
    }
#define TRY_PAST(name, suffix) \
    if (row->past && n >= 4 * WIDTH && (uintptr_t)dst % 4 == 0) HERE(load_past_##name##suffix)(src, dst, n, row); else
#else
#define LOAD_PAST_ONE(name, bytes, suffix, each)
#define TRY_PAST(name, suffix)
#endif
#define LOAD_ONE(name, bytes, suffix, each, divides, FIRST)                                                       \
    static void HERE(load_##name##suffix)(const uint8_t *src, uint8_t *dst, int64_t n, const Row *row) {          \
        FIRST load(get_##name, bytes, each, divides, src, dst, n, row);                                           \
    }
#define LOAD(name, bytes)                                       \
    LOAD_PAST_ONE(name, bytes, , 0)                             \
    LOAD_PAST_ONE(name, bytes, _each, 1)                        \
    LOAD_ONE(name, bytes, , 0, 0, TRY_PAST(name, ))             \
    LOAD_ONE(name, bytes, _divided, 0, 1, )                     \
    LOAD_ONE(name, bytes, _each, 1, 0, TRY_PAST(name, _each))   \
    LOAD_ONE(name, bytes, _each_divided, 1, 1, )
LOAD(i8, 1)
LOAD(u8, 1)
LOAD(i16, 2)
LOAD(u16, 2)
LOAD(i32, 4)
LOAD(f16, 2)
LOAD(bf16, 2)
LOAD(f32, 4)

/* rint of what the clamp has brought below 2**22, in the low bits of a sum. NaN becomes the lowest value. */
#define STORE_AT(i)                                                                            \
    do {                                                                                       \
        F v = get_f32(src + 4 * (i)) + (each ? floats(before + (i)) : before0);                  \
        v = smaller(larger(v, each ? floats(low + (i)) : low0), each ? floats(high + (i)) : high0);                     \
        const S q = (S)(v + every(0x1.8p23f)) - every_int(0x4B400000);                         \
        put(to + (i) * bytes, q + (each ? ints(after + (i)) : after0));                                  \
    } while (0)
INLINE void store(void put(uint8_t *, S), int bytes, int each, const uint8_t *src, uint8_t *to, int64_t n, const Row *row) {
    const float *before = row->before, *low = row->low, *high = row->high;
    const int32_t *after = row->after;
    const F before0 = every(*before), low0 = every(*low), high0 = every(*high);
    const S after0 = every_int(*after);
    WALK(src, STORE_AT)
}
#define STORE(name, bytes, narrow)                                                                            \
    static void HERE(store_##name)(const uint8_t *src, uint8_t *dst, int64_t n, const Row *row) {               \
        store(narrow, bytes, 0, src, dst, n, row);                                                     \
    }                                                                                                      \
    static void HERE(store_##name##_each)(const uint8_t *src, uint8_t *dst, int64_t n, const Row *row) {        \
        store(narrow, bytes, 1, src, dst, n, row);                                                     \
    }
STORE(i8, 1, narrow_8)
STORE(u8, 1, narrow_8)
STORE(i16, 2, narrow_16)
STORE(u16, 2, narrow_16)

/* int32 reaches further than float32 counts: in double. */
INLINE void store_wide(int each, const uint8_t *src, uint8_t *dst, int64_t n, const Row *row) {
    for (int64_t i = 0; i < n; ++i) {
        const int64_t k = each ? i : 0;
        const double lowest = -2147483648.0, highest = 2147483647.0;
        float x;
        memcpy(&x, src + 4 * i, 4);
        double v = (double)__builtin_rintf(x + row->before[k]) + row->after[k];
        v = v > lowest ? v : lowest;
        v = v < highest ? v : highest;
        const int32_t q = (int32_t)v;
        memcpy(dst + 4 * i, &q, 4);
    }
}
static void HERE(store_i32)(const uint8_t *src, uint8_t *dst, int64_t n, const Row *row) { store_wide(0, src, dst, n, row); }
static void HERE(store_i32_each)(const uint8_t *src, uint8_t *dst, int64_t n, const Row *row) {
    store_wide(1, src, dst, n, row);
}

/* Unpacking and packing work within lanes: so that elements of 16 bits come out in order, and go back. */
#if VB == 64
INLINE V in_halves(const uint8_t *p) { return _mm512_permutexvar_epi64(_mm512_set_epi64(7, 3, 6, 2, 5, 1, 4, 0), whole(p)); }
INLINE V halves_in_order(V v) { return _mm512_permutexvar_epi64(_mm512_set_epi64(7, 5, 3, 1, 6, 4, 2, 0), v); }
#elif VB == 32
INLINE V in_halves(const uint8_t *p) { return _mm256_permute4x64_epi64(whole(p), 0xD8); }
INLINE V halves_in_order(V v) { return _mm256_permute4x64_epi64(v, 0xD8); }
#else
INLINE V in_halves(const uint8_t *p) { return whole(p); }
INLINE V halves_in_order(V v) { return v; }
#endif

/* Four vectors of integers into one of bytes, saturated. */
#if VB == 64
#define PACKS(name) _mm512_##name
#define IN_ORDER(v) \
    _mm512_permutexvar_epi32(_mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0), v)
typedef __m512i I;
typedef __m512 FI;
#elif VB == 32
#define PACKS(name) _mm256_##name
#define IN_ORDER(v) _mm256_permutevar8x32_epi32(v, _mm256_set_epi32(7, 3, 6, 2, 5, 1, 4, 0))
typedef __m256i I;
typedef __m256 FI;
#elif defined(__SSE2__)
#define PACKS(name) _mm_##name
#define IN_ORDER(v) (v)
typedef __m128i I;
typedef __m128 FI;
#endif
/* Less than 2**14 is added to what is rounded; NaN becomes the lowest value. `bounded`: less than 2**22, nothing to add. */
INLINE void saturate(int to_u8, int bounded, uint8_t *p, const F v[4], int16_t after) {
#ifdef PACKS
    I q[4];
    for (int k = 0; k < 4; ++k) q[k] = PACKS(cvtps_epi32)((FI)(bounded ? v[k] : smaller(every(0x1p22f), v[k])));
    const I more = PACKS(set1_epi16)(after);
    I low = PACKS(packs_epi32)(q[0], q[1]), high = PACKS(packs_epi32)(q[2], q[3]);
    if (!bounded) low = PACKS(adds_epi16)(low, more), high = PACKS(adds_epi16)(high, more);
    put(p, (V)IN_ORDER(to_u8 ? PACKS(packus_epi16)(low, high) : PACKS(packs_epi16)(low, high)));
#elif defined(__aarch64__)
    const float32x4_t lowest = vdupq_n_f32(-0x1p22f); /* and of a NaN and a number, vmaxnm takes the number */
    int32x4_t q[4];
    for (int k = 0; k < 4; ++k) q[k] = vcvtnq_s32_f32(bounded ? (float32x4_t)v[k] : vmaxnmq_f32((float32x4_t)v[k], lowest));
    int16x8_t low = vqmovn_high_s32(vqmovn_s32(q[0]), q[1]), high = vqmovn_high_s32(vqmovn_s32(q[2]), q[3]);
    if (!bounded) low = vqaddq_s16(low, vdupq_n_s16(after)), high = vqaddq_s16(high, vdupq_n_s16(after));
    put(p, to_u8 ? (V)vqmovun_high_s16(vqmovun_s16(low), high) : (V)vqmovn_high_s16(vqmovn_s16(low), high));
#else
    const S least = every_int(to_u8 ? 0 : -128), most = every_int(to_u8 ? 255 : 127);
    for (int k = 0; k < 4; ++k) {
        const F near = bounded ? v[k] : smaller(larger(v[k], every(-0x1p22f)), every(0x1p22f));
        S q = (S)(near + every(0x1.8p23f)) + every_int(after - 0x4B400000);
        q = (q & (q > least)) | (least & ~(q > least));
        q = (q & (q < most)) | (most & ~(q < most));
        narrow_8(p + k * WIDTH, q);
    }
#endif
}
INLINE void brief(int from_u8, int to_u8, int each, const uint8_t *src, uint8_t *dst, int64_t n, const Row *row) {
    const float *scale = row->scale, *before = row->before;
    const F scale0 = every(*scale), before0 = every(*before);
    for (int64_t i = 0;; i = i + 2 * VB < n ? i + VB : n - VB) {
        F v[4];
        for (int k = 0; k < 4; ++k) {
            const int64_t at = i + k * WIDTH;
            v[k] = (from_u8 ? get_u8(src + at) : get_i8(src + at)) * (each ? floats(scale + at) : scale0) +
                   (each ? floats(before + at) : before0);
        }
        saturate(to_u8, 1, dst + i, v, 0);
        if (i + VB >= n) return;
    }
}
/* The same in 16 bits, as far as that is exact. */
INLINE void short_brief(int from_u8, int to_u8, int each, const uint8_t *src, uint8_t *dst, int64_t n, const Row *row) {
    const uint16_t *factor = row->factor;
    const int16_t *summand = row->summand;
    const int bits = row->bits;
#ifdef PACKS
    const I top = PACKS(set1_epi8)((char)0x80), low = PACKS(set1_epi16)((int16_t)0x8000), zero = top ^ top;
    const I factor0 = PACKS(set1_epi16)((int16_t)*factor), summand0 = PACKS(set1_epi16)(*summand);
    const __m128i by = _mm_cvtsi32_si128(bits);
    for (int64_t i = 0;; i = i + 2 * VB < n ? i + VB : n - VB) {
        I x = (I)in_halves(src + i), y[2];
        if (!from_u8) x = x ^ top;
        y[0] = PACKS(unpacklo_epi8)(zero, x), y[1] = PACKS(unpackhi_epi8)(zero, x);
        for (int k = 0; k < 2; ++k) {
            const int64_t at = i + k * (VB / 2);
            const I times = each ? (I)whole((const uint8_t *)(factor + at)) : factor0;
            const I plus = each ? (I)whole((const uint8_t *)(summand + at)) : summand0;
            y[k] = PACKS(sra_epi16)(PACKS(adds_epi16)(PACKS(mulhi_epu16)(y[k], times) ^ low, plus), by);
        }
        x = (I)halves_in_order((V)PACKS(packs_epi16)(y[0], y[1]));
        if (to_u8) x = x ^ top;
        put(dst + i, (V)x);
        if (i + VB >= n) return;
    }
#else
    for (int64_t i = 0; i < n; ++i) {
        const int64_t k = each ? i : 0;
        const uint8_t u = from_u8 ? src[i] : src[i] ^ 0x80;
        int32_t y = (int32_t)((uint32_t)u * factor[k] >> 8) - 32768 + summand[k];
        y = (y < -32768 ? -32768 : y > 32767 ? 32767 : y) >> bits;
        y = y < -128 ? -128 : y > 127 ? 127 : y;
        dst[i] = (uint8_t)(to_u8 ? y + 128 : y);
    }
#endif
}
/* What load and store do one after the other, from a cache line of the source on. `plain`: only the division. */
INLINE void quantize(int to_u8, int plain, const uint8_t *src, uint8_t *dst, int64_t n, const Row *row) {
    enum { STEP = VB };
    const F shift = every(*row->shift), scale = every(*row->scale), divisor = every(*row->divisor);
    const F before = every(*row->before);
    const int64_t lead = lead_of(1, src, 4);
    AT_STEPS {
        F v[4];
        for (int k = 0; k < 4; ++k) {
            v[k] = get_f32(src + 4 * (i + k * WIDTH));
            v[k] = plain ? v[k] / divisor : (v[k] - shift) * scale / divisor + before;
        }
        saturate(to_u8, 0, dst + i, v, (int16_t)*row->after);
        if (i + VB >= n) return;
    }
}
#define QUANTIZE(name, to_u8)                                                                                  \
    static void HERE(quantize_##name)(const uint8_t *src, uint8_t *dst, int64_t n, const Row *row) {           \
        if (*row->shift == 0 && *row->scale == 1 && *row->before == 0)                                         \
            quantize(to_u8, 1, src, dst, n, row);                                                              \
        else                                                                                                   \
            quantize(to_u8, 0, src, dst, n, row);                                                              \
    }
QUANTIZE(i8, 0)
QUANTIZE(u8, 1)
#define BRIEF(from_u8, to_u8, each)                                                                                  \
    static void HERE(brief_##from_u8##to_u8##each)(const uint8_t *src, uint8_t *dst, int64_t n, const Row *row) {    \
        brief(from_u8, to_u8, each, src, dst, n, row);                                                               \
    }                                                                                                                \
    static void HERE(short_##from_u8##to_u8##each)(const uint8_t *src, uint8_t *dst, int64_t n, const Row *row) {    \
        short_brief(from_u8, to_u8, each, src, dst, n, row);                                                         \
    }
BRIEF(0, 0, 0)
BRIEF(0, 0, 1)
BRIEF(0, 1, 0)
BRIEF(0, 1, 1)
BRIEF(1, 0, 0)
BRIEF(1, 0, 1)
BRIEF(1, 1, 0)
BRIEF(1, 1, 1)

#define STORE_FLOAT(name)                                                                            \
    static void HERE(store_##name)(const uint8_t *src, uint8_t *dst, int64_t n, const Row *row) {         \
        (void)row;                                                                                   \
        WALK(src, STORE_FLOAT_AT_##name)                                                                  \
    }
#define STORE_FLOAT_AT_f16(i) put_f16(dst + 2 * (i), get_f32(src + 4 * (i)))
#define STORE_FLOAT_AT_bf16(i) put_bf16(dst + 2 * (i), get_f32(src + 4 * (i)))
#define STORE_FLOAT_AT_f32(i) put_f32(dst + 4 * (i), get_f32(src + 4 * (i)))
STORE_FLOAT(f16)
STORE_FLOAT(bf16)
STORE_FLOAT(f32)

/* Gray of 8-bit pixels: (3735 B + 19235 G + 9798 R + 2**14) >> 15, as OpenCV has it. */
INLINE uint8_t gray_pixel(uint8_t b, uint8_t g, uint8_t r) {
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
INLINE void gray_planes(const uint8_t *b, const uint8_t *g, const uint8_t *r, uint8_t *out, int64_t n) {
    if (n < VB) {
        for (int64_t i = 0; i < n; ++i) out[i] = gray_pixel(b[i], g[i], r[i]);
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
INLINE void gray_planes(const uint8_t *restrict b, const uint8_t *restrict g, const uint8_t *restrict r,
                        uint8_t *restrict out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) out[i] = gray_pixel(b[i], g[i], r[i]);
}
#endif

/* One row: pixels of step s, gray ones neighbours. Pixels of 3 and 4 channels are split into planes in L1. */
static void HERE(gray_u8)(const uint8_t *b, const uint8_t *g, const uint8_t *r, int64_t s, uint8_t *out, int64_t n) {
    if (s == 1) {
        gray_planes(b, g, r, out, n);
        return;
    }
    enum { SOME = 1024 };
    uint8_t planes[4][SOME];
    const uint8_t *first = b < r ? b : r;
    const int64_t ib = b - first, ir = r - first;
    const int pixels = g == first + 1 && ib + ir == 2;
    for (int64_t i = 0; i < n; i += SOME) {
        int64_t count = n - i < SOME ? n - i : SOME, done = 0;
        const uint8_t *p = first + i * s;
        if (pixels && s == 3) done = split3_1(p, planes[0], SOME, count, 0);
        /* The last pixel's fourth byte may lie outside. */
        if (pixels && s == 4) done = split4_1(p, planes[0], SOME, i + count < n ? count : count - 1, 0);
        if (done) {
            gray_planes(planes[ib], planes[1], planes[ir], out + i, done);
        }
        for (; done < count; ++done) {
            const int64_t at = (i + done) * s;
            out[i + done] = gray_pixel(b[at], g[at], r[at]);
        }
    }
}

static void HERE(gray_u16)(const uint8_t *b, const uint8_t *g, const uint8_t *r, int64_t s, uint8_t *out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
        uint16_t x[3];
        memcpy(x, b + i * s, 2), memcpy(x + 1, g + i * s, 2), memcpy(x + 2, r + i * s, 2);
        const uint16_t y = (uint16_t)((3735u * x[0] + 19235u * x[1] + 9798u * x[2] + (1u << 14)) >> 15);
        memcpy(out + 2 * i, &y, 2);
    }
}

static void HERE(gray_f32)(const uint8_t *b, const uint8_t *g, const uint8_t *r, int64_t s, uint8_t *out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
        float x[3];
        memcpy(x, b + i * s, 4), memcpy(x + 1, g + i * s, 4), memcpy(x + 2, r + i * s, 4);
        const float y = x[0] * 0.114f + x[1] * 0.587f + x[2] * 0.299f;
        memcpy(out + 4 * i, &y, 4);
    }
}

#ifdef STREAM
static void HERE(fence)(void) { _mm_sfence(); }
#else
static void HERE(fence)(void) {}
#endif

#define LOADS(name)                                                   \
    {                                                                 \
        {HERE(load_##name), HERE(load_##name##_divided)}, {           \
            HERE(load_##name##_each), HERE(load_##name##_each_divided) \
        }                                                             \
    }
const Level HERE(level) = {
    STRINGIFY(LEVEL),
    VB,
    {
        [PATH_COPY] = {HERE(move_copy), VB},
        [PATH_TRANSPOSE] = {HERE(move_transpose), VB},
        [PATH_SPLIT] = {HERE(move_split), VB},
        [PATH_MERGE] = {HERE(move_merge), VB},
        [PATH_PIXELS] = {HERE(move_pixels), SHUFFLES ? VB : 0},
        [PATH_STRIDED] = {HERE(move_strided), 0},
    },
    {LOADS(i8), LOADS(u8), LOADS(i16), LOADS(u16), LOADS(i32), LOADS(f16), LOADS(bf16), LOADS(f32)},
    {
        {HERE(store_i8), HERE(store_i8_each)},
        {HERE(store_u8), HERE(store_u8_each)},
        {HERE(store_i16), HERE(store_i16_each)},
        {HERE(store_u16), HERE(store_u16_each)},
        {HERE(store_i32), HERE(store_i32_each)},
        {HERE(store_f16), HERE(store_f16)},
        {HERE(store_bf16), HERE(store_bf16)},
        {HERE(store_f32), HERE(store_f32)},
    },
    {{{{HERE(brief_000), HERE(brief_001)}, {HERE(brief_010), HERE(brief_011)}},
      {{HERE(brief_100), HERE(brief_101)}, {HERE(brief_110), HERE(brief_111)}}},
     {{{HERE(short_000), HERE(short_001)}, {HERE(short_010), HERE(short_011)}},
      {{HERE(short_100), HERE(short_101)}, {HERE(short_110), HERE(short_111)}}}},
    {HERE(quantize_i8), HERE(quantize_u8)},
    {HERE(gray_u8), HERE(gray_u16), HERE(gray_f32)},
    HERE(fence),
};
