/* Argmax of blocks of 4 or 8 floats, of which a vector has those of several neighbouring positions, after reduce.inl.h. */
#if VB > 16
#if VB == 64
/* Element i with the one `apart` (1, 2 or 4) before or behind it. */
INLINE F swapped(F v, int apart) {
    return (F)(apart == 1   ? _mm512_permute_ps((__m512)v, 0xB1)
               : apart == 2 ? _mm512_permute_ps((__m512)v, 0x4E)
                            : _mm512_shuffle_f32x4((__m512)v, (__m512)v, 0xB1));
}
INLINE V least2(V a, V b) { return _mm512_min_epi32(a, b); }
INLINE V where_equal(F a, F b, V its, V other) {
    return _mm512_mask_mov_epi32(other, _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_EQ_OQ), its);
}
#else
INLINE F swapped(F v, int apart) { return (F)(apart == 1 ? _mm256_permute_ps((__m256)v, 0xB1) : _mm256_permute_ps((__m256)v, 0x4E)); }
INLINE V least2(V a, V b) { return _mm256_min_epi32(a, b); }
INLINE V where_equal(F a, F b, V its, V other) {
    return (V)_mm256_blendv_ps((__m256)other, (__m256)its, _mm256_cmp_ps((__m256)a, (__m256)b, _CMP_EQ_OQ));
}
#endif

/* The first channel with the largest number, or with NaN, of each of n positions. */
OUT_OF_LINE void HERE(first_of_any)(const V *v, int count, int run, int64_t n, Index *where) {
    for (int64_t i = 0; i < n; ++i) {
        float most = -__builtin_inff();
        where[i] = 0;
        for (int c = 0; c < count * run && most == most; ++c) {
            float x;
            memcpy(&x, (const uint8_t *)(v + c / run) + (i * run + c % run) * 4, 4);
            if (!(x <= most)) most = x, where[i] = c;
        }
    }
}

/* The same, if none is NaN: of each position the largest number, and then the lowest of the channels that have it. */
INLINE void first_of_vectors(const V *v, int count, int run, V lanes, int64_t n, Index *where) {
    int32_t channel[WIDTH];
    uint32_t nan = nan_bits((F)v[0], (F)v[count - 1]);
    for (int k = 1; k < count - 1; k += 2) nan |= nan_bits((F)v[k], (F)v[k + 1]);
    if (__builtin_expect(nan != 0, 0)) {
        HERE(first_of_any)(v, count, run, n, where);
        return;
    }
    F most = (F)v[0];
    for (int k = 1; k < count; ++k) most = largest2(most, (F)v[k]);
    for (int apart = 1; apart < run; apart *= 2) most = largest2(most, swapped(most, apart));
    V at = number(4, INT32_MAX);
    for (int k = count; k--;) at = where_equal((F)v[k], most, (V)((E4)lanes + (int32_t)(k * run)), at);
    for (int apart = 1; apart < run; apart *= 2) at = least2(at, (V)swapped((F)at, apart));
    memcpy(channel, &at, VB);
    for (int64_t i = 0; i < n; ++i) where[i] = channel[i * run];
}

/* `count` blocks of n positions, `far` bytes apart; nothing behind the last channel of the last position is read. The vectors AHEAD bytes further on are fetched: no processor foresees so many runs. */
INLINE void across_blocks(const uint8_t *p, int64_t n, int64_t channels, int run, int count, int64_t far, Index *where) {
    enum { AHEAD = 1024 };
    const int64_t each = WIDTH / run, rest = channels - (count - 1) * run;
    const int32_t count_up[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const V lanes = (V)((E4)whole((const uint8_t *)count_up) & (run - 1)), keep = (V)((E4)lanes < (int32_t)rest);
    const V low = ~keep & (V)every(-__builtin_inff());
    V v[ACROSS_BLOCKS];
    int64_t i = 0;
    for (; i + each <= n - (rest < run); i += each, p += VB) {
        for (int k = 0; k < count; ++k) v[k] = whole(p + k * far), __builtin_prefetch(p + k * far + AHEAD);
        v[count - 1] = (v[count - 1] & keep) | low;
        first_of_vectors(v, count, run, lanes, each, where + i);
    }
    if (i == n) return;
    for (int k = 0; k < count; ++k) v[k] = number(4, 0), memcpy(v + k, p + k * far, (size_t)((n - i) * run - (k < count - 1 ? 0 : run - rest)) * 4);
    v[count - 1] = (v[count - 1] & keep) | low;
    first_of_vectors(v, count, run, lanes, n - i, where + i);
}
#define BLOCKS(count) case count: across_blocks(p, n, channels, run, count, far, where); break;
INLINE void across_any_blocks(const uint8_t *p, int64_t n, int64_t channels, int run, int64_t far, Index *where) {
    switch ((channels + run - 1) / run) {
        BLOCKS(2) BLOCKS(3) BLOCKS(4) BLOCKS(5) BLOCKS(6) BLOCKS(7) BLOCKS(8) BLOCKS(9) BLOCKS(10)
    }
}
static void HERE(across_blocks)(const uint8_t *p, int64_t n, int64_t channels, int64_t run, int64_t far, Index *where) {
    if (VB == 32 || run == 4) across_any_blocks(p, n, channels, 4, far, where);
    else across_any_blocks(p, n, channels, 8, far, where);
}
#define ACROSS_BLOCKS_F32 HERE(across_blocks)
#else
#define ACROSS_BLOCKS_F32 NULL
#endif
