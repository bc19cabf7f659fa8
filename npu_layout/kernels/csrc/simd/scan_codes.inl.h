/* What the loops of scans have in common, after peaks.inl.h: codes that sort, a vector at a time, and hits. */

#include "largest.h"
#include "scan.h"

/* The greater one of each pair of codes: signed integers of 1, 2 and 4 bytes. */
#if VB == 64
#define GREATER(size, bits) \
    INLINE V greater##size(V a, V b) { return _mm512_max_epi##bits(a, b); }
#elif VB == 32
#define GREATER(size, bits) \
    INLINE V greater##size(V a, V b) { return _mm256_max_epi##bits(a, b); }
#elif defined(__SSE4_1__)
#define GREATER(size, bits) \
    INLINE V greater##size(V a, V b) { return (V)_mm_max_epi##bits((__m128i)a, (__m128i)b); }
#else
#define GREATER(size, bits) \
    INLINE V greater##size(V a, V b) { return pick((V)((E##size)a > (E##size)b), a, b); }
#endif
GREATER(1, 8)
GREATER(2, 16)
GREATER(4, 32)

INLINE V key_float(const uint8_t *p) {
    const E4 x = (E4)whole(p), sign = x >> 31, size = x & 0x7FFFFFFF, nan = (E4)(size > 0x7F800000);
    return (V)((((size ^ sign) - sign) & ~nan) | (nan & 0x7FFFFFFF));
}

typedef V Key(const uint8_t *);
typedef V Pair(V, V);
typedef Mask Compare(V, V);

/* What the loops of one dtype are made of; constants, which the compiler inlines, but for `maxima` and `best`, which would be two copies
 * each. The loops of hits are inlined: outlined, dense hits took up to a tenth longer. */
typedef struct {
    Dtype type;
    int size;
    int32_t low;
    Key *key;
    Pair *greater;
    Compare *more;
    void (*take)(V *, V *, V, V);
    void (*maxima)(const uint8_t *data, const int64_t *channel, int64_t count, int64_t bytes, uint8_t *top);
    void (*best)(const FeatureMap *map, const uint8_t *data, int64_t first, uint64_t bits, Hits *hits);
} Codes;

/* Whether vectors are compared with the bound one by one, and the masks joined: float32, whose codes need many steps, and SSE2, which has no
 * maximum of most integers. Otherwise the maximum of some vectors is compared. */
#if defined(__SSE2__) && !defined(__SSE4_1__)
INLINE int by_masks(const Codes *codes) { return codes->size > 0; }
#else
INLINE int by_masks(const Codes *codes) { return codes->type == F32; }
#endif
/* What `loud` compares with, for codes above least - 1. */
INLINE V bound_of(const Codes *codes, int32_t least) {
    return codes->type == F32 ? (V)every((float)float_of_code(least - 1)) : number(codes->size, least - 1);
}
/* The elements at p that are above the bound, or NaN. */
INLINE Mask loud(const Codes *codes, const uint8_t *p, V bound) {
    if (codes->type != F32) return codes->more(codes->key(p), bound);
#if VB == 64
    return _mm512_cmp_ps_mask((__m512)whole(p), (__m512)bound, _CMP_NLE_UQ);
#elif VB == 32
    return (V)_mm256_cmp_ps((__m256)whole(p), (__m256)bound, _CMP_NLE_UQ);
#elif defined(__SSE2__)
    return (V)_mm_cmpnle_ps((__m128)whole(p), (__m128)bound);
#else
    return (V) ~((F)whole(p) <= (F)bound);
#endif
}

INLINE void add_hit(const Codes *codes, int64_t cell, int64_t channel, const uint8_t *p, Hits *hits) {
    hits->items[hits->count++] = (Hit){(int32_t)cell, (int32_t)channel, sorted_code(codes->type, p)};
}

INLINE int32_t number_at(int size, const uint8_t *p) {
    int16_t half;
    int32_t word;
    if (size == 1) return (int8_t)*p;
    if (size == 2) return memcpy(&half, p, 2), half;
    return memcpy(&word, p, 4), word;
}

/* The largest of n numbers that sort. */
INLINE int32_t largest_number(int size, const uint8_t *p, int64_t n) {
    if (size == 1 && n >= 16) return (int32_t)largest_byte(p, n, 0x80) - 128;
    int32_t most = number_at(size, p);
    for (int64_t i = 1; i < n; ++i) {
        const int32_t v = number_at(size, p + i * size);
        most = v > most ? v : most;
    }
    return most;
}

/* Remove the lowest element of a mask of `unit` bits for each, and return its number. */
INLINE int next_of(uint64_t *bits, int unit) {
    const int bit = __builtin_ctzll(*bits);
    *bits &= ~((((uint64_t)1 << unit) - 1) << bit);
    return bit / unit;
}
