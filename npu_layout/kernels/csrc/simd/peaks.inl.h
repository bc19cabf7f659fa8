/* The loop of peaks, after reduce.inl.h. Most elements are below the threshold: their neighbours are never read. */
#include "feature_map.h"

/* A Mask has one bit for each element, or all bits of the element; UNIT(size) is the number of BITS for each element. */
#if VB == 64
typedef uint64_t Mask;
/* In a general register: GCC 12 (seen at -O1) spills a widened mask as 32 bits, and loads 64. */
INLINE uint64_t BITS(Mask mask) {
    __asm__("" : "+r"(mask));
    return mask;
}
#define UNIT(size) 1
#define COMPARE(size, bits)                                                                                          \
    INLINE Mask more##size(V a, V b) { return _mm512_cmpgt_epi##bits##_mask(a, b); }                                 \
    INLINE Mask no_less##size(V a, V b) { return _mm512_cmpge_epi##bits##_mask(a, b); }                              \
    INLINE V some##size(const uint8_t *p, uint64_t live) {                                                           \
        return _mm512_maskz_loadu_epi##bits((__typeof__(_mm512_cmpgt_epi##bits##_mask((V){0}, (V){0})))live, p);     \
    }
INLINE Mask more_f32(V a, V b) { return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_GT_OQ); }
INLINE Mask no_less_f32(V a, V b) { return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_GE_OQ); }
#else
typedef V Mask;
#define UNIT(size) (size)
#define COMPARE(size, bits)                                                            \
    INLINE Mask more##size(V a, V b) { return (V)((E##size)a > (E##size)b); }          \
    INLINE Mask no_less##size(V a, V b) { return (V)~((E##size)b > (E##size)a); }      \
    INLINE V some##size(const uint8_t *p, uint64_t live) {                             \
        (void)live;                                                                    \
        return whole(p);                                                               \
    }
INLINE Mask more_f32(V a, V b) { return (V)((F)a > (F)b); }
INLINE Mask no_less_f32(V a, V b) { return (V)((F)a >= (F)b); }
#if VB == 32
#define BITS(mask) (uint32_t)_mm256_movemask_epi8(mask)
#elif defined(__SSE2__)
#define BITS(mask) (uint64_t)_mm_movemask_epi8((__m128i)(mask))
#else
INLINE uint64_t BITS(V mask) {
    const B8 halves = (B8)mask;
    uint64_t bits = 0;
    if (halves[0] | halves[1])
        for (int i = 0; i < 16; ++i) bits |= (uint64_t)(mask[i] & 1) << i;
    return bits;
}
#endif
#endif
COMPARE(1, 8)
COMPARE(2, 16)
COMPARE(4, 32)

/* The mask of the peaks in the vector at p; on AVX-512 only of the `live` elements, and no others are read. */
INLINE uint64_t peaks_at(Mask above(V, V), Mask more(V, V), Mask no_less(V, V), V some(const uint8_t *, uint64_t), V flip,
                         V limit, const uint8_t *p, uint64_t live, const Nearby *nearby) {
    const V v = some(p, live) ^ flip;
    Mask m = above(v, limit);
#if VB == 64
    m &= live;
#endif
    if (!BITS(m)) return 0;
    for (int k = 0; k < nearby->earliers; ++k) m &= more(v, some(p + nearby->earlier[k], live) ^ flip);
    for (int k = 0; k < nearby->laters; ++k) m &= no_less(v, some(p + nearby->later[k], live) ^ flip);
    return BITS(m);
}

INLINE int64_t peaks_of(Mask above(V, V), Mask more(V, V), Mask no_less(V, V), V some(const uint8_t *, uint64_t), int size,
                        V flip, V limit, const uint8_t *p, int64_t n, const Nearby *nearby, int32_t *found) {
    const int unit = UNIT(size);
    int64_t count = 0;
    for (int64_t i = 0; i < n; i += VB / size) {
        const int64_t left = n - i, from = VB == 64 || left >= VB / size ? i : n - VB / size;
        const uint64_t live = left < VB / size ? ((uint64_t)1 << left) - 1 : (uint64_t)-1;
        uint64_t bits = peaks_at(above, more, no_less, some, flip, limit, p + from * size, live, nearby);
        if (!bits) continue;
        bits = bits >> (i - from) * unit << (i - from) * unit;
        while (bits) {
            const int bit = __builtin_ctzll(bits);
            found[count++] = (int32_t)(from + bit / unit);
            bits &= ~((((uint64_t)1 << unit) - 1) << bit);
        }
    }
    return count;
}

/* Fewer elements than fit in a vector. */
#define PEAK_ONES(name, type, ABOVE, KEY)                                                                           \
    INLINE int64_t peak_ones_##name(const uint8_t *p, int64_t n, const Nearby *nearby, int32_t *found) {            \
        int64_t count = 0;                                                                                          \
        for (int64_t i = 0; i < n; ++i, p += sizeof(type)) {                                                        \
            type v, other;                                                                                          \
            memcpy(&v, p, sizeof v);                                                                                \
            v = (type)KEY(v);                                                                                       \
            int good = ABOVE;                                                                                       \
            for (int k = 0; good && k < nearby->earliers; ++k)                                                      \
                memcpy(&other, p + nearby->earlier[k], sizeof other), good = v > (type)KEY(other);                  \
            for (int k = 0; good && k < nearby->laters; ++k)                                                        \
                memcpy(&other, p + nearby->later[k], sizeof other), good = v >= (type)KEY(other);                   \
            if (good) found[count++] = (int32_t)i;                                                                  \
        }                                                                                                           \
        return count;                                                                                               \
    }
#define AS_IT_IS(v) (v)
#define PEAK_LOOP(name, type, ABOVE, KEY, above, more, no_less, some, flip, limit)                                   \
    PEAK_ONES(name, type, ABOVE, KEY)                                                                                    \
    static int64_t HERE(peak_##name)(const uint8_t *p, int64_t n, const Nearby *nearby, int32_t *found) {           \
        if (VB < 64 && n < VB / (int64_t)sizeof(type)) return peak_ones_##name(p, n, nearby, found);                \
        return peaks_of(above, more, no_less, some, sizeof(type), flip, limit, p, n, nearby, found);                \
    }
#define PEAK_INTEGERS(name, type, size, lowest)                                                                     \
    PEAK_LOOP(name, type, v >= nearby->least, AS_IT_IS, no_less##size, more##size, no_less##size, some##size,                 \
              number(size, lowest), number(size, nearby->least) ^ number(size, lowest))
PEAK_INTEGERS(i8, int8_t, 1, 0)
PEAK_INTEGERS(u8, uint8_t, 1, -128)
PEAK_INTEGERS(i16, int16_t, 2, 0)
PEAK_INTEGERS(u16, uint16_t, 2, -32768)
PEAK_INTEGERS(i32, int32_t, 4, 0)
PEAK_LOOP(f32, float, v > nearby->threshold, AS_IT_IS, more_f32, more_f32, no_less_f32, some4, number(4, 0),
          (V)every(nearby->threshold))
/* Floats of 16 bits by keys that sort; those above infinity are NaN. */
#define PEAK_HALVES(name, infinity)                                                                                     \
    INLINE V some_##name(const uint8_t *p, uint64_t live) {                                                             \
        const V v = some2(p, live);                                                                                     \
        return key_half((const uint8_t *)&v, infinity);                                                                 \
    }                                                                                                                   \
    INLINE Mask above_##name(V v, V limit) { return no_less2(v, limit) & no_less2(number(2, infinity), v); }            \
    INLINE int16_t key_of_##name(int16_t bits) { return (int16_t)sorted_half((uint16_t)bits, infinity); }               \
    PEAK_LOOP(name, int16_t, v >= nearby->least && v <= infinity, key_of_##name, above_##name, more2, no_less2, some_##name, number(2, 0), \
              number(2, nearby->least))
PEAK_HALVES(f16, 0x7C00)
PEAK_HALVES(bf16, 0x7F80)
