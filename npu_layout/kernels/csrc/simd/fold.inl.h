/* Argmax of blocks of channels, after reduce.inl.h: `largest` compares whole blocks, lane by lane; here the lanes of each position
 * are compared, as planes. Of equal elements the one in the lower block comes first, then that in the lower lane. */
#if VB == 64
#define TAKE_LANE(size, bits)                                                                          \
    INLINE void take_lane##size(V *best, V *block, V *lane, V v, V its, V mine) {                      \
        const __auto_type equal = _mm512_cmpeq_epi##bits##_mask(v, *best);                             \
        const __auto_type first = _mm512_cmpgt_epi##bits##_mask(v, *best) |                            \
                                  _mm512_mask_cmpgt_epi##bits##_mask(equal, *block, its);              \
        *best = _mm512_max_epi##bits(v, *best);                                                        \
        *block = _mm512_mask_mov_epi##bits(*block, first, its);                                        \
        *lane = _mm512_mask_mov_epi##bits(*lane, first, mine);                                         \
    }
INLINE void take_lane_f32(V *best, V *block, V *lane, V v, V its, V mine) {
    const __m512 a = (__m512)v, b = (__m512)*best;
    const __mmask16 number = _mm512_cmp_ps_mask(b, b, _CMP_ORD_Q), larger = _mm512_mask_cmp_ps_mask(number, a, b, _CMP_NLE_UQ);
    const __mmask16 equal = _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ) | (~number & _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q));
    const __mmask16 first = larger | _mm512_mask_cmpgt_epi32_mask(equal, *block, its);
    *best = _mm512_mask_mov_epi32(*best, first, v);
    *block = _mm512_mask_mov_epi32(*block, first, its);
    *lane = _mm512_mask_mov_epi32(*lane, first, mine);
}
#else
#if VB == 32
INLINE V pick(V mask, V a, V b) { return _mm256_blendv_epi8(b, a, mask); }
#endif
INLINE void take_lane(V first, V *best, V *block, V *lane, V v, V its, V mine) {
    *best = pick(first, v, *best), *block = pick(first, its, *block), *lane = pick(first, mine, *lane);
}
#define TAKE_LANE(size, bits)                                                                          \
    INLINE void take_lane##size(V *best, V *block, V *lane, V v, V its, V mine) {                      \
        const E##size a = (E##size)v, b = (E##size)*best;                                              \
        take_lane((V)(a > b) | ((V)(a == b) & (V)((E##size)*block > (E##size)its)), best, block, lane, v, its, mine); \
    }
INLINE void take_lane_f32(V *best, V *block, V *lane, V v, V its, V mine) {
    const F a = (F)v, b = (F)*best;
    const V number = (V)(b == b), larger = (V)~(a <= b) & number, equal = (V)(a == b) | ((V)(a != a) & ~number);
    take_lane(larger | (equal & (V)((E4)*block > (E4)its)), best, block, lane, v, its, mine);
}
#endif
TAKE_LANE(1, 8)
TAKE_LANE(2, 16)
TAKE_LANE(4, 32)

#define WHERE_OF(type)                                                                                              \
    INLINE void where_of_##type(V block, V lane, int64_t lanes, int64_t n, Index *where) {                          \
        type b[VB / sizeof(type)], l[VB / sizeof(type)];                                                            \
        memcpy(b, &block, VB), memcpy(l, &lane, VB);                                                                \
        for (int64_t i = 0; i < n; ++i) where[i] = (int32_t)(b[i] - 1) * (int32_t)lanes + (int32_t)l[i];            \
    }
WHERE_OF(uint8_t)
WHERE_OF(uint16_t)
WHERE_OF(uint32_t)

/* `count` vectors at once, so that none waits for another. */
#define FOLD(name, type, size)                                                                                      \
    INLINE void fold_some##name(const uint8_t *keys, const uint8_t *blocks, int64_t pitch, int64_t lanes, int64_t n, \
                                 uint8_t *best, Index *where, int count) {                                          \
        V b[2], block[2], lane[2];                                                                                  \
        for (int k = 0; k < count; ++k) b[k] = whole(keys + k * VB), block[k] = whole(blocks + k * VB), lane[k] = number(size, 0); \
        for (int64_t l = 1; l < lanes; ++l) {                                                                       \
            const uint8_t *v = keys + l * pitch, *its = blocks + l * pitch;                                         \
            for (int k = 0; k < count; ++k) take_lane##name(b + k, block + k, lane + k, whole(v + k * VB), whole(its + k * VB), number(size, l)); \
        }                                                                                                           \
        for (int k = 0; k < count; ++k) {                                                                           \
            put(best + k * VB, b[k]);                                                                               \
            where_of_##type(block[k], lane[k], lanes, at_most(n - k * VB / size, VB / size), where + k * VB / size); \
        }                                                                                                           \
    }                                                                                                               \
    static void HERE(fold##name)(const uint8_t *keys, const uint8_t *blocks, int64_t pitch, int64_t lanes, int64_t n, \
                                 uint8_t *best, Index *where) {                                                     \
        enum { STEP = VB / size };                                                                                  \
        int64_t i = 0;                                                                                              \
        for (; i + STEP < n; i += 2 * STEP) fold_some##name(keys + i * size, blocks + i * size, pitch, lanes, n - i, best + i * size, where + i, 2); \
        if (i < n) fold_some##name(keys + i * size, blocks + i * size, pitch, lanes, n - i, best + i * size, where + i, 1); \
    }
FOLD(1, uint8_t, 1)
FOLD(2, uint16_t, 2)
FOLD(4, uint32_t, 4)
FOLD(_f32, uint32_t, 4)
