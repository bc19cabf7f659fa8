/* The vectors of one instruction set, VB bytes long, and the operations that the loops need.
 * Sizes are passed by value, and every load and store may be unaligned. */
#include <stdlib.h>
#include <string.h>

#include "levels.h"
#include "move.h"

#define PASTE_(a, b) a##_##b
#define PASTE(a, b) PASTE_(a, b)
#define HERE(name) PASTE(name, LEVEL)
#define STRINGIFY_(a) #a
#define STRINGIFY(a) STRINGIFY_(a)
#define INLINE static inline __attribute__((always_inline))
#define OUT_OF_LINE static __attribute__((noinline))
/* The same, in one copy also where an argument is a constant. */
#if defined(__clang__)
#define ONE_COPY OUT_OF_LINE
#else
#define ONE_COPY static __attribute__((noinline, noclone))
#endif

INLINE int how_of(const Move *m) { return (m->past ? PAST : 0) | (m->cold ? COLD : 0) | (m->cold_result ? COLD_RESULT : 0); }

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
INLINE B1 load4(const uint8_t *p) {
    uint32_t v;
    memcpy(&v, p, 4);
    return (B1)(B4){v, 0, 0, 0};
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

/* Advance a pointer. The compiler does not see by how much, so that it does not compute the addresses of all rows at once, for
 * which there are not enough registers: with AVX2 16-bit tiles need 0.65 to 0.85 of the time, 32-bit ones 0.87 to 0.97. Rows are
 * read in order: 0, 4, 8, 12, 1, ... needed a tenth longer if their pitch is a page or more. */
#define ADVANCED(pointer, by)                     \
    ({                                        \
        (pointer) += (by);                    \
        __asm__("" : "+r"(pointer));          \
        pointer;                              \
    })
/* ADDRESSES: rows for which there are enough registers. */
#if defined(__aarch64__)
#define ADDRESSES 4
#else
#define ADDRESSES 0
#endif
#define NEXT_OF(count, pointer, by) ((void)((count) > ADDRESSES ? ADVANCED(pointer, by) : ((pointer) += (by))))
/* Row after row of the source, with a pitch of s bytes. */
#define EACH_ROW(count) for (int r = 0; r < (count); ++r, NEXT_OF(count, src, s))
/* Rows in two places: those before `from` at `src`, the rest at `later`. AT: the row that is so many behind r. */
#define EACH_ROW_OF_TWO(count) for (int r = 0; r < (count); ++r, NEXT_OF(count, src, s), NEXT_OF(count, later, s))
#define AT(behind) ((first + r + (behind) < from ? src : later) + (behind)*s)
#define PUT_ROWS(count, ...) \
    for (int r = 0; r < (count); ++r, NEXT_OF(count, dst, d)) __VA_ARGS__

/* One round of a transpose of `count` registers: the top bit of the register's index becomes the bottom bit of the element's
 * index, whose top bit becomes the bottom bit of the register's. After log2(count) rounds rows have become columns. */
#define ROUND(type, low, high, from, to, count)            \
    for (int r = 0; r < (count) / 2; ++r) {                \
        (to)[2 * r] = low((from)[r], (from)[r + (count) / 2]);      \
        (to)[2 * r + 1] = high((from)[r], (from)[r + (count) / 2]); \
    }

#if VB >= 32
#include <immintrin.h>
#elif defined(__SSE4_1__)
#include <smmintrin.h>
#elif defined(__SSSE3__)
#include <tmmintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

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
#endif

#if VB == 64
/* Rows with a pitch of s bytes, one in each lane. */
INLINE __m512i quad(const uint8_t *p, int64_t s) {
    return _mm512_inserti64x4(_mm512_castsi256_si512(pair(p, p + s)), pair(p + 2 * s, p + 3 * s), 1);
}

INLINE void put512(uint8_t *p, __m512i v, int past) {
    if (past && !((uintptr_t)p % 64))
        _mm512_stream_si512((void *)p, v);
    else
        _mm512_storeu_si512(p, v);
}
#endif

/* A vector of VB bytes is VB / 16 lanes, which never mix here: lane l of a group has its own 16 / size pixels. */
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
#define VLOW_8 _mm512_unpacklo_epi64
#define VHIGH_8 _mm512_unpackhi_epi64
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
#define VLOW_8 _mm256_unpacklo_epi64
#define VHIGH_8 _mm256_unpackhi_epi64
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
#if defined(__SSE4_1__)
INLINE V blend(V a, V b, V at) { return (V)_mm_blendv_epi8((__m128i)a, (__m128i)b, (__m128i)at); }
INLINE V select3(V a, V b, V c, V at_b, V at_c) { return blend(blend(a, b, at_b), c, at_c); }
#else
INLINE V select3(V a, V b, V c, V at_b, V at_c) { return (a & ~(at_b | at_c)) | (b & at_b) | (c & at_c); }
#endif
INLINE V broadcast(const uint8_t *p) { return load16(p); }
#define VLOW_1 low1
#define VHIGH_1 high1
#define VLOW_2 low2
#define VHIGH_2 high2
#define VLOW_4 low4
#define VHIGH_4 high4
#define VLOW_8 low8
#define VHIGH_8 high8
#if defined(__SSSE3__)
INLINE V shuffled(V v, V order) { return (V)_mm_shuffle_epi8((__m128i)v, (__m128i)order); }
#define SHUFFLES 1
#elif defined(__aarch64__)
#include <arm_neon.h>
INLINE V shuffled(V v, V order) { return (V)vqtbl1q_u8((uint8x16_t)v, (uint8x16_t)order); }
#define SHUFFLES 1
/* 16 / size pixels of `count` channels, a vector for each channel, by one instruction: LD2 to LD4, ST2 to ST4. */
#define STRUCTURES 1
#define STRUCTURE(count, size, type, name)                                         \
    INLINE void load_planes##count##_##size(const uint8_t *p, V x[count]) {          \
        const type##x##count##_t v = vld##count##q_##name((const void *)p);        \
        for (int c = 0; c < count; ++c) x[c] = (V)v.val[c];                        \
    }                                                                              \
    INLINE void store_pixels##count##_##size(uint8_t *p, const V x[count]) {       \
        type##x##count##_t v;                                                      \
        for (int c = 0; c < count; ++c) v.val[c] = (type##_t)x[c];                 \
        vst##count##q_##name((void *)p, v);                                        \
    }
STRUCTURE(2, 1, uint8x16, u8)
STRUCTURE(2, 2, uint16x8, u16)
STRUCTURE(2, 4, uint32x4, u32)
STRUCTURE(3, 1, uint8x16, u8)
STRUCTURE(3, 2, uint16x8, u16)
STRUCTURE(3, 4, uint32x4, u32)
STRUCTURE(4, 1, uint8x16, u8)
STRUCTURE(4, 2, uint16x8, u16)
STRUCTURE(4, 4, uint32x4, u32)
#else
#define SHUFFLES 0
#endif
#endif

/* One lane; the instruction needs an immediate, which a parameter is not without optimization. */
INLINE B1 lane_of(V v, int lane) {
#if LANES == 4
    return lane == 0 ? LANE(v, 0) : lane == 1 ? LANE(v, 1) : lane == 2 ? LANE(v, 2) : LANE(v, 3);
#elif LANES == 2
    return lane == 0 ? LANE(v, 0) : LANE(v, 1);
#else
    (void)lane;
    return LANE(v, 0);
#endif
}

/* Interleave the lower halves of each lane, by elements of 1, 2, 4 and 8 bytes. */
INLINE V interleave_low(int size, V a, V b) {
    return size == 1 ? (V)VLOW_1(a, b) : size == 2 ? (V)VLOW_2(a, b) : size == 4 ? (V)VLOW_4(a, b) : (V)VLOW_8(a, b);
}

/* Pieces of 16 / count bytes: piece r of lane l is what piece l of the r-th LANES of them was (GATHERED), or the other
 * way round (SCATTERED). A level without an instruction for it works lane by lane, and so do merges of 32-byte vectors, unless they are
 * stored past the caches: processors whose halves of such a vector are apart need three operations to permute them (Zen 1: 0.7 to 0.8 of
 * the time of merges through the caches). */
#if VB == 64
#define MERGE_TURNS(count, size, past) ((count) * (size) <= 16)
#define SPLIT_TURNS(count, size) ((count) * (size) <= 16)
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
#define MERGE_TURNS(count, size, past) ((past) && (count) < 8)
#define SPLIT_TURNS(count, size) ((count) == 4)
#define TURN2(v, order) _mm256_permute4x64_epi64(v, order(3, 2) << 6 | order(2, 2) << 4 | order(1, 2) << 2 | order(0, 2))
#define TURN4(v, order)                                                                                              \
    _mm256_permutevar8x32_epi32(v, _mm256_set_epi32(order(7, 4), order(6, 4), order(5, 4), order(4, 4), order(3, 4), \
                                                    order(2, 4), order(1, 4), order(0, 4)))
#define TURN8(v, order) (v)
#else
#define MERGE_TURNS(count, size, past) ((count) * (size) <= 16)
#define SPLIT_TURNS(count, size) ((count) * (size) <= 16)
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
/* The same of a vector that may begin at any lane of a line, as rows of a picture do. */
INLINE void put_past_lanes(uint8_t *p, V v, int past) {
    if (VB > 16 && past && (uintptr_t)p % VB && (uintptr_t)p % 16 == 0) put_lanes(p, 16, v, 1);
    else put_past(p, v, past);
}

INLINE void copy32(const uint8_t *src, uint8_t *dst) {
#if VB >= 32
    put256(dst, _mm256_loadu_si256((const __m256i *)(const void *)src), 0);
#else
    put(dst, whole(src));
    put(dst + 16, whole(src + 16));
#endif
}
INLINE void copy64(const uint8_t *src, uint8_t *dst) {
    for (int k = 0; k < 64; k += VB) put(dst + k, whole(src + k));
}
INLINE void element(int size, const uint8_t *src, uint8_t *dst) {
    switch (size) {
        case 1: *dst = *src; break;
        case 2: memcpy(dst, src, 2); break;
        case 4: memcpy(dst, src, 4); break;
        case 8: memcpy(dst, src, 8); break;
        case 16: memcpy(dst, src, 16); break;
        case 32: copy32(src, dst); break;
        case 64: copy64(src, dst); break;
        default: memcpy(dst, src, (size_t)size);
    }
}

INLINE void strided(int size, const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int64_t n) {
    for (int64_t i = 0; i < n; ++i) element(size, src + i * s, dst + i * d);
}
