/* Copy bytes of a row from positions that are known: every 16 bytes out of one, two or four windows of 16, each by a shuffle,
 * or out of eight of 2. */
#include "picture_loops.h"

INLINE void gather_each(const uint8_t *row, const Gather *g, uint8_t *out) {
    for (int64_t i = 0; i < g->bytes; ++i) out[i] = row[g->at[i]];
}

#if SHUFFLES
/* The first windows of the lanes' 16 bytes, where each lane has `count` windows. */
INLINE V windows_at(const uint8_t *row, const int32_t *at, int count) {
#if VB == 64
    return _mm512_inserti64x4(_mm512_castsi256_si512(pair(row + at[0], row + at[count])),
                              pair(row + at[2 * count], row + at[3 * count]), 1);
#elif VB == 32
    return pair(row + at[0], row + at[count]);
#else
    (void)count;
    return load16(row + at[0]);
#endif
}
/* In each lane the first half of a and the second of b; and the same of their halves. */
INLINE V joined_halves(V a, V b) {
#if VB == 64
    return _mm512_mask_blend_epi64(0xAA, a, b);
#elif VB == 32
    return _mm256_blend_epi32(a, b, 0xCC);
#else
    return (V)SHUFFLE((B8)a, (B8)b, 0, 3);
#endif
}
INLINE V joined_quarters(V a, V b) {
#if VB == 64
    return _mm512_mask_blend_epi32(0xAAAA, a, b);
#elif VB == 32
    return _mm256_blend_epi32(a, b, 0xAA);
#else
    return (V)SHUFFLE((B4)a, (B4)b, 0, 5, 2, 7);
#endif
}
/* VB bytes of a gather, each 16 of them out of `count` windows of 16. */
INLINE V picked_windows(int count, const uint8_t *row, const int32_t *at, V order) {
    V x = shuffled(windows_at(row, at, count), order);
    if (count == 2) x = joined_halves(x, shuffled(windows_at(row, at + 1, count), order));
    if (count == 4) {
        const V y = shuffled(windows_at(row, at + 2, count), order);
        x = joined_halves(joined_quarters(x, shuffled(windows_at(row, at + 1, count), order)),
                          joined_quarters(y, shuffled(windows_at(row, at + 3, count), order)));
    }
    return x;
}
INLINE void gather_windows(int count, const uint8_t *row, const Gather *g, uint8_t *out) {
    const int32_t *at = g->at;
    const uint8_t *const orders = g->order; /* which stores of bytes might change */
    for (int64_t i = 0, n = g->bytes; i < n; i += VB, at += count * LANES)
        put(out + i, picked_windows(count, row, at, whole(orders + i)));
}
/* Eight windows of 2 bytes. */
INLINE B1 words_from(const uint8_t *row, const int32_t *at) {
    uint16_t w[8];
    for (int k = 0; k < 8; ++k) memcpy(w + k, row + at[k], 2);
    return (B1)(B2){w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7]};
}
INLINE void gather_words(const uint8_t *row, const Gather *g, uint8_t *out) {
    const int32_t *at = g->at;
    const uint8_t *const orders = g->order;
    for (int64_t i = 0, n = g->bytes; i < n; i += 16, at += 8)
#if VB > 16
        store16(out + i, (B1)_mm_shuffle_epi8((__m128i)words_from(row, at), (__m128i)load16(orders + i)));
#else
        store16(out + i, shuffled(words_from(row, at), load16(orders + i)));
#endif
}
#endif

static void HERE(gather)(const uint8_t *row, const Gather *g, uint8_t *out) {
    switch (g->kind) {
        case COPY: memcpy(out, row + g->at[0], (size_t)g->bytes); break;
#if SHUFFLES
        case LOADS_2: gather_words(row, g, out); break;
        case WINDOWS_1: gather_windows(1, row, g, out); break;
        case WINDOWS_2: gather_windows(2, row, g, out); break;
        case WINDOWS_4: gather_windows(4, row, g, out); break;
#endif
        default: gather_each(row, g, out);
    }
}

#if VB == 64
/* AVX-512 VBMI picks bytes out of 64 or 128. The plan uses it if the machine has it. */
#define WIDE static __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi")))
#define PICKED_128(p, order) _mm512_permutex2var_epi8(whole(p), order, whole((p) + 64))
WIDE void HERE(gather_wide)(const uint8_t *row, const Gather *g, uint8_t *out) {
    const int32_t *at = g->at;
    const uint8_t *const orders = g->order;
    const int64_t n = g->bytes;
    if (g->kind == WIDE_64)
        for (int64_t i = 0; i < n; i += 64, at += 1)
            put(out + i, _mm512_permutexvar_epi8(whole(orders + i), whole(row + at[0])));
    else if (g->kind == WIDE_128)
        for (int64_t i = 0; i < n; i += 64, at += 1) {
            const V order = whole(orders + i);
            put(out + i, PICKED_128(row + at[0], order));
        }
    else
        for (int64_t i = 0; i < n; i += 64, at += 2) {
            const V order = whole(orders + i);
            put(out + i, _mm512_mask_blend_epi8(~0ull << 32, PICKED_128(row + at[0], order), PICKED_128(row + at[1], order)));
        }
}
#define GATHER_WIDE HERE(gather_wide)
#else
#define GATHER_WIDE NULL
#endif
