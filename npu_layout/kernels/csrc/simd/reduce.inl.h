/* The loops of argmax and softmax, after arithmetic.inl.h. Positions are neighbours: one vector holds one channel of many. */
#include "reduce.h"

typedef int8_t E1 __attribute__((vector_size(VB)));
typedef int16_t E2 __attribute__((vector_size(VB)));
typedef int32_t E4 __attribute__((vector_size(VB)));

/* best = max(best, v), and at = c for elements of which v is larger; signed elements of 1, 2 and 4 bytes. A NaN counts as larger
 * than any number, and as no larger than another NaN. */
#if VB == 64
#define TAKE(size, bits)                                                        \
    INLINE void take##size(V *best, V *at, V v, V c) {                          \
        const __auto_type larger = _mm512_cmpgt_epi##bits##_mask(v, *best);     \
        *best = _mm512_max_epi##bits(v, *best);                                 \
        *at = _mm512_mask_mov_epi##bits(*at, larger, c);                        \
    }
INLINE void take_f32(V *best, V *at, V v, V c) {
    const __m512 b = (__m512)*best;
    const __mmask16 larger = _mm512_mask_cmp_ps_mask(_mm512_cmp_ps_mask(b, b, _CMP_ORD_Q), (__m512)v, b, _CMP_NLE_UQ);
    *best = _mm512_mask_mov_epi32(*best, larger, v);
    *at = _mm512_mask_mov_epi32(*at, larger, c);
}
#elif VB == 32
#define TAKE(size, bits)                                                \
    INLINE void take##size(V *best, V *at, V v, V c) {                  \
        const V larger = _mm256_cmpgt_epi##bits(v, *best);              \
        *best = _mm256_max_epi##bits(v, *best);                         \
        *at = _mm256_blendv_epi8(*at, c, larger);                       \
    }
INLINE void take_f32(V *best, V *at, V v, V c) {
    const __m256 b = (__m256)*best;
    const __m256 larger = _mm256_and_ps(_mm256_cmp_ps((__m256)v, b, _CMP_NLE_UQ), _mm256_cmp_ps(b, b, _CMP_ORD_Q));
    *best = (V)_mm256_blendv_ps(b, (__m256)v, larger);
    *at = (V)_mm256_blendv_ps((__m256)*at, (__m256)c, larger);
}
#else
#if defined(__SSE4_1__)
INLINE V pick(V mask, V a, V b) { return (V)_mm_blendv_epi8((__m128i)b, (__m128i)a, (__m128i)mask); }
#else
INLINE V pick(V mask, V a, V b) { return (mask & a) | (~mask & b); }
#endif
#define TAKE(size, bits)                                                \
    INLINE void take##size(V *best, V *at, V v, V c) {                  \
        const V larger = (V)((E##size)v > (E##size)*best);              \
        *best = pick(larger, v, *best);                                 \
        *at = pick(larger, c, *at);                                     \
    }
INLINE void take_f32(V *best, V *at, V v, V c) {
    const F b = (F)*best;
    const V larger = (V)(~((F)v <= b) & (b == b));
    *best = pick(larger, v, *best);
    *at = pick(larger, c, *at);
}
#endif
TAKE(1, 8)
TAKE(2, 16)
TAKE(4, 32)

/* Elements as signed integers that sort in the same order. Floats of 16 bits: magnitude and sign, every NaN the largest. */
INLINE V key_plain(const uint8_t *p) { return whole(p); }
INLINE V key_u8(const uint8_t *p) { return (V)((E1)whole(p) ^ (int8_t)-128); }
INLINE V key_u16(const uint8_t *p) { return (V)((E2)whole(p) ^ (int16_t)-32768); }
INLINE V key_half(const uint8_t *p, int16_t infinity) {
    const E2 x = (E2)whole(p), sign = x >> 15, size = x & 0x7FFF, nan = (E2)(size > infinity);
    return (V)((((size ^ sign) - sign) & ~nan) | (nan & 0x7FFF));
}
INLINE V key_f16(const uint8_t *p) { return key_half(p, 0x7C00); }
INLINE V key_bf16(const uint8_t *p) { return key_half(p, 0x7F80); }

INLINE V number(int size, int64_t x) {
    return size == 1 ? (V)((E1){0} + (int8_t)x) : size == 2 ? (V)((E2){0} + (int16_t)x) : (V)((E4){0} + (int32_t)x);
}

/* TOGETHER: planes that are read in turns if they have LEAD bytes or more. Lines LEAD bytes ahead are prefetched. */
enum { TOGETHER = 8, LEAD = 1024 };

/* `count` vectors from byte i on, of the channels from `c` to `end`. */
INLINE void largest_of(V key(const uint8_t *), void take(V *, V *, V, V), int size, int count, const uint8_t *planes,
                       int64_t step, int64_t c, int64_t end, int64_t i, uint8_t *best, uint8_t *at, int first) {
    enum { MOST = 4 };
    V b[MOST], a[MOST];
    for (int k = 0; k < count; ++k) {
        b[k] = first ? key(planes + i + k * VB) : whole(best + i + k * VB);
        a[k] = first ? number(size, 1) : whole(at + i + k * VB);
    }
    for (c += first; c < end; ++c) {
        const uint8_t *p = planes + c * step + i;
        const V mine = number(size, c + 1);
        for (int k = 0; k < count; ++k) {
            if (count == MOST && k * VB % 64 == 0) __builtin_prefetch(p + k * VB + LEAD);
            take(b + k, a + k, key(p + k * VB), mine);
        }
    }
    for (int k = 0; k < count; ++k) {
        put(best + i + k * VB, b[k]);
        put(at + i + k * VB, a[k]);
    }
}
/* The last vector raises some of what the one before has: nothing is larger than itself. */
INLINE void largest(V key(const uint8_t *), void take(V *, V *, V, V), int size, const uint8_t *planes, int64_t step,
                    int64_t c, int64_t end, int64_t n, uint8_t *best, uint8_t *at, int first) {
    int64_t i = 0;
    for (; i + 4 * VB <= n; i += 4 * VB) largest_of(key, take, size, 4, planes, step, c, end, i, best, at, first);
    for (; i + VB <= n; i += VB) largest_of(key, take, size, 1, planes, step, c, end, i, best, at, first);
    if (i < n) largest_of(key, take, size, 1, planes, step, c, end, n - VB, best, at, first);
}
#define LARGEST(name, key, take, size)                                                                          \
    static void HERE(largest_##name)(const uint8_t *planes, int64_t step, int64_t channels, int64_t n,          \
                                     uint8_t *best, uint8_t *at, int first) {                                   \
        const int64_t together = n < LEAD ? channels : TOGETHER;                                                \
        int64_t c = 0;                                                                                          \
        if (first) {                                                                                            \
            c = at_most(channels, together);                                                                    \
            largest(key, take, size, planes, step, 0, c, n, best, at, 1);                                       \
        }                                                                                                       \
        for (int64_t end; c < channels; c = end) {                                                              \
            end = at_most(channels, c + together);                                                              \
            largest(key, take, size, planes, step, c, end, n, best, at, 0);                                     \
        }                                                                                                       \
    }
LARGEST(i8, key_plain, take1, 1)
LARGEST(u8, key_u8, take1, 1)
LARGEST(i16, key_plain, take2, 2)
LARGEST(u16, key_u16, take2, 2)
LARGEST(i32, key_plain, take4, 4)
LARGEST(f16, key_f16, take2, 2)
LARGEST(bf16, key_bf16, take2, 2)
LARGEST(f32, key_plain, take_f32, 4)

#define WIDEN(name, type)                                                                                       \
    static void HERE(widen_##name)(const uint8_t *restrict from, int64_t n, int64_t before, int first,          \
                                   Index *restrict where) {                                                     \
        const type *at = (const type *)(const void *)from;                                                      \
        if (first)                                                                                              \
            for (int64_t i = 0; i < n; ++i) where[i] = before + at[i];                                          \
        else                                                                                                    \
            for (int64_t i = 0; i < n; ++i) where[i] = at[i] ? before + at[i] : where[i];                       \
    }
WIDEN(1, uint8_t)
WIDEN(2, uint16_t)
WIDEN(4, uint32_t)

/* Channels that are neighbours, up to 64, or 32 if vectors have 16 bytes: they are in `count` vectors, and the last one overlaps
 * the one before. */
#if VB >= 32 || defined(__SSE2__) || defined(__aarch64__)
#if VB == 64
INLINE uint32_t equal_bits(F a, F b) { return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_EQ_OQ); }
INLINE uint32_t nan_bits(F a, F b) { return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_UNORD_Q); }
INLINE F largest2(F a, F b) { return (F)_mm512_max_ps((__m512)a, (__m512)b); }
INLINE F largest_lane(F v) {
    __m512 x = (__m512)v;
    x = _mm512_max_ps(x, _mm512_shuffle_f32x4(x, x, 0x4E));
    x = _mm512_max_ps(x, _mm512_shuffle_f32x4(x, x, 0xB1));
    x = _mm512_max_ps(x, _mm512_permute_ps(x, 0x4E));
    return (F)_mm512_max_ps(x, _mm512_permute_ps(x, 0xB1));
}
/* The first n floats, and -inf in the remaining elements. */
INLINE F some_floats(const uint8_t *p, int64_t n) {
    return (F)_mm512_mask_loadu_ps((__m512)every(-__builtin_inff()), (__mmask16)((1u << n) - 1), p);
}
#elif VB == 32
INLINE uint32_t equal_bits(F a, F b) { return (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps((__m256)a, (__m256)b, _CMP_EQ_OQ)); }
INLINE uint32_t nan_bits(F a, F b) { return (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps((__m256)a, (__m256)b, _CMP_UNORD_Q)); }
INLINE F largest2(F a, F b) { return (F)_mm256_max_ps((__m256)a, (__m256)b); }
INLINE F some_floats(const uint8_t *p, int64_t n) {
    const __m256i present = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0));
    return (F)_mm256_blendv_ps((__m256)every(-__builtin_inff()), _mm256_maskload_ps((const float *)(const void *)p, present), (__m256)present);
}
INLINE F largest_lane(F v) {
    __m256 x = (__m256)v;
    x = _mm256_max_ps(x, _mm256_permute2f128_ps(x, x, 1));
    x = _mm256_max_ps(x, _mm256_permute_ps(x, 0x4E));
    return (F)_mm256_max_ps(x, _mm256_permute_ps(x, 0xB1));
}
#elif defined(__SSE2__)
INLINE uint32_t equal_bits(F a, F b) { return (uint32_t)_mm_movemask_ps(_mm_cmpeq_ps((__m128)a, (__m128)b)); }
INLINE uint32_t nan_bits(F a, F b) { return (uint32_t)_mm_movemask_ps(_mm_cmpunord_ps((__m128)a, (__m128)b)); }
INLINE F largest2(F a, F b) { return (F)_mm_max_ps((__m128)a, (__m128)b); }
INLINE F largest_lane(F v) {
    __m128 x = (__m128)v;
    x = _mm_max_ps(x, _mm_shuffle_ps(x, x, 0x4E));
    return (F)_mm_max_ps(x, _mm_shuffle_ps(x, x, 0xB1));
}
#else
INLINE uint32_t bits_of(U lanes) { return vaddvq_u32((uint32x4_t)(lanes & (U){1, 2, 4, 8})); }
INLINE uint32_t equal_bits(F a, F b) { return bits_of((U)(a == b)); }
INLINE uint32_t nan_bits(F a, F b) { return bits_of((U)(a != a) | (U)(b != b)); }
INLINE F largest2(F a, F b) { return (F)vmaxq_f32((float32x4_t)a, (float32x4_t)b); }
INLINE F largest_lane(F v) { return every(vmaxvq_f32((float32x4_t)v)); }
#endif
#if VB == 16
INLINE F some_floats(const uint8_t *p, int64_t n) {
    float v[4];
    for (int k = 0; k < 4; ++k) {
        v[k] = -__builtin_inff();
        if (k < n) memcpy(v + k, p + 4 * k, 4);
    }
    return floats(v);
}
#endif
#if defined(__aarch64__)
/* The lowest index among the lanes with the largest value, or with NaN if there is one, which the maximum here propagates. */
INLINE void across(const uint8_t *p, int64_t step, int64_t n, int64_t channels, int count, Index *where) {
    enum { MOST = 32 / WIDTH };
    for (int64_t i = 0; i < n; ++i, p += step) {
        F v[MOST], most;
        for (int k = 0; k < count; ++k) v[k] = get_f32(p + 4 * (k < count - 1 ? k * WIDTH : channels - WIDTH));
        most = v[0];
        for (int k = 1; k < count; ++k) most = largest2(most, v[k]);
        most = largest_lane(most);
        const int nan = most[0] != most[0];
        U least = {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX};
        for (int k = 0; k < count; ++k) {
            const U number = (U){0, 1, 2, 3} + (uint32_t)(k < count - 1 ? k * WIDTH : channels - WIDTH);
            const U others = nan ? (U)(v[k] == v[k]) : ~(U)(v[k] == most);
            least = (U)vminq_u32((uint32x4_t)least, (uint32x4_t)(number | others));
        }
        where[i] = vminvq_u32((uint32x4_t)least);
    }
}
#else
INLINE void across(const uint8_t *p, int64_t step, int64_t n, int64_t channels, int count, Index *where) {
    enum { MOST = 64 / WIDTH };
    const int64_t last = channels < WIDTH ? 0 : channels - WIDTH, again = (count - 1) * WIDTH - last;
    for (int64_t i = 0; i < n; ++i, p += step) {
        const float *row = (const float *)(const void *)p;
        F v[MOST], most;
        for (int k = 0; k < count - 1; ++k) v[k] = floats(row + k * WIDTH);
        v[count - 1] = channels < WIDTH ? some_floats(p, channels) : floats(row + last);
        most = v[0];
        /* 16 bits: with 32, GCC 12 at -O1 with UBSan writes two bytes to the stack and reads four. */
        uint16_t nans = (uint16_t)nan_bits(v[0], v[count - 1]);
        uint64_t bits = 0;
        for (int k = 1; k < count; ++k) most = largest2(most, v[k]);
        for (int k = 1; k < count - 1; ++k) nans |= (uint16_t)nan_bits(v[k], v[k]);
        most = largest_lane(most);
        for (int k = 0; k < count; ++k)
            bits |= (uint64_t)(nans ? nan_bits(v[k], v[k]) : equal_bits(v[k], most)) << k * WIDTH;
        const int64_t at = __builtin_ctzll(bits);
        where[i] = at - (again & -(int64_t)(at >= (count - 1) * WIDTH));
    }
}
#endif
/* Each lane has its first largest, of the channel `at` and its lane; among equal lanes, choose the one with the lowest channel. */
INLINE Index first_of_lanes(V best, V at) {
    uint32_t bits = nan_bits((F)best, (F)best);
    if (!bits) bits = equal_bits((F)best, largest_lane((F)best));
    int32_t first[WIDTH], least = INT32_MAX;
    memcpy(first, &at, sizeof first);
    for (; bits; bits &= bits - 1) {
        const int lane = __builtin_ctz(bits);
        least = first[lane] + lane < least ? first[lane] + lane : least;
    }
    return least;
}
static void HERE(across_many)(const uint8_t *p, int64_t step, int64_t n, int64_t channels, Index *where) {
    for (int64_t i = 0; i < n; ++i, p += step) {
        V best = whole(p), at = number(4, 0);
        int64_t c = WIDTH;
        for (; c + WIDTH <= channels; c += WIDTH) take_f32(&best, &at, whole(p + 4 * c), number(4, c));
        if (c < channels) take_f32(&best, &at, whole(p + 4 * (channels - WIDTH)), number(4, channels - WIDTH));
        where[i] = first_of_lanes(best, at);
    }
}

/* The first channel that is NaN, of blocks `place[k]` bytes behind the first one. */
OUT_OF_LINE Index HERE(first_nan)(const uint8_t *p, const int64_t *place, int64_t channels) {
    for (int64_t c = 0; c < channels; ++c) {
        float v;
        memcpy(&v, p + place[c / WIDTH] + c % WIDTH * 4, 4);
        if (v != v) return c;
    }
    return 0;
}
/* Blocks of whole vectors, `place[k]` bytes behind the first one: the largest element, then the first vector that has it. The
 * positions AHEAD bytes further on are fetched: no processor foresees so many runs. */
INLINE void across_runs(const uint8_t *p, int64_t step, int64_t n, int64_t channels, const int64_t *place, int64_t count, Index *where) {
    enum { AHEAD = 1024 };
    const int64_t last = count - 1, rest = channels - last * WIDTH;
    for (int64_t i = 0; i < n; ++i, p += step) {
        const F end = rest == WIDTH ? get_f32(p + place[last]) : some_floats(p + place[last], rest);
        F most = end;
        uint32_t nan = nan_bits(end, end);
        for (int64_t k = 0; k < last; ++k) {
            const F v = get_f32(p + place[k]);
            __builtin_prefetch(p + place[k] + AHEAD);
            most = largest2(v, most), nan |= nan_bits(v, v);
        }
        if (__builtin_expect(nan != 0, 0)) {
            where[i] = HERE(first_nan)(p, place, channels);
            continue;
        }
        most = largest_lane(most);
        uint64_t bits[ACROSS_RUNS * WIDTH / 64 + 1] = {0};
        for (int64_t k = 0; k < last; ++k) bits[k * WIDTH / 64] |= (uint64_t)equal_bits(get_f32(p + place[k]), most) << k * WIDTH % 64;
        bits[last * WIDTH / 64] |= (uint64_t)equal_bits(end, most) << last * WIDTH % 64;
        int64_t w = 0;
        while (!bits[w]) ++w;
        where[i] = 64 * w + __builtin_ctzll(bits[w]);
    }
}
#define ACROSS_COUNT(n_) case n_: across_runs(p, step, n, channels, place, n_, where); break;
/* Where it begins 128 bytes behind a multiple of 256, six vectors take 1.4 times as long (Zen 5). */
__attribute__((aligned(256))) static void HERE(across_runs)(const uint8_t *p, int64_t step, int64_t n, int64_t channels, int64_t run, int64_t far, Index *where) {
    int64_t place[ACROSS_RUNS];
    const int64_t count = (channels + WIDTH - 1) / WIDTH;
    for (int64_t k = 0; k < count; ++k) place[k] = k * WIDTH / run * far + k * WIDTH % run * 4;
    switch (count) {
        ACROSS_COUNT(2) ACROSS_COUNT(3) ACROSS_COUNT(4) ACROSS_COUNT(5) ACROSS_COUNT(6) ACROSS_COUNT(8) ACROSS_COUNT(10)
        default: across_runs(p, step, n, channels, place, count, where);
    }
}
static void HERE(across_f32)(const uint8_t *p, int64_t step, int64_t n, int64_t channels, Index *where) {
    switch ((channels + WIDTH - 1) / WIDTH) {
        case 1: across(p, step, n, channels, 1, where); break;
        case 2: across(p, step, n, channels, 2, where); break;
        case 3: across(p, step, n, channels, 3, where); break;
        case 4: across(p, step, n, channels, 4, where); break;
#if VB == 64
        default: HERE(across_many)(p, step, n, channels, where);
#else
        case 5: across(p, step, n, channels, 5, where); break;
        case 6: across(p, step, n, channels, 6, where); break;
        case 7: across(p, step, n, channels, 7, where); break;
        case 8: across(p, step, n, channels, 8, where); break;
        default: HERE(across_many)(p, step, n, channels, where);
#endif
    }
}
#define ACROSS_F32 HERE(across_f32)
#define ACROSS_RUNS_F32 HERE(across_runs)
#define ACROSS_STEP VB
#else
#define ACROSS_F32 NULL
#define ACROSS_RUNS_F32 NULL
#define ACROSS_STEP 0
#endif
