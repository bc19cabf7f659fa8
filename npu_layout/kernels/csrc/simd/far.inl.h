/* Rows of packed pixels that are so far from each other that no window of 16 bytes has two of them: each pair of pixels is a load
 * of 8 bytes. */
#if SHUFFLES && defined(__SSE2__)
INLINE __m128i two_loads(const uint8_t *row, const int32_t *at) {
    const __m128i low = _mm_loadl_epi64((const void *)(row + at[0]));
    return _mm_unpacklo_epi64(low, _mm_loadl_epi64((const void *)(row + at[1])));
}
INLINE W loads_at(const uint8_t *row, const int32_t *at) {
#if VB == 64
    const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(two_loads(row, at)), two_loads(row, at + 2), 1);
    const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(two_loads(row, at + 4)), two_loads(row, at + 6), 1);
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
#elif VB == 32
    return _mm256_inserti128_si256(_mm256_castsi128_si256(two_loads(row, at)), two_loads(row, at + 2), 1);
#else
    return two_loads(row, at);
#endif
}
enum { FAR_PIXELS = VB / 8 }; /* of one vector of pairs, 8 bytes each */
INLINE W far_blended(const uint8_t *const rows[2], const int32_t *at, V order, const Weights *w, int64_t i, W above, W below, int two) {
    W x = Y(mulhi_epi16)(weighted(shuffled((V)loads_at(rows[0], at), order), w, i), above);
    if (two) x = PLUS(x, Y(mulhi_epi16)(weighted(shuffled((V)loads_at(rows[1], at), order), w, i), below));
    return Y(srli_epi16)(PLUS(x, word(2)), 2);
}
/* Lanes of four pixels of four bytes each, of which `channels` are stored; n pixels are left. */
INLINE void put_pixels(uint8_t *out, W v, int channels, int64_t n) {
    const uint8_t dense[16] = {0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 128, 128, 128, 128};
    uint8_t room[VB + 16];
    if (channels == 4) {
        put_some(out, v, 4 * n);
        return;
    }
    const V x = shuffled((V)v, broadcast(dense));
    uint8_t *const to = n * 3 >= VB ? out : room; /* the last store is 4 bytes longer than its pixels */
    for (int lane = 0; lane < LANES; ++lane) store16(to + 12 * lane, lane_of(x, lane));
    if (to == room) memcpy(out, room, (size_t)at_most(3 * n, VB / 4 * 3));
}
INLINE void far_rows_of(const uint8_t *const given[2], const uint8_t *const next[2], const Gather *g, const Weights *weights, int above,
                        int below, int64_t n, int channels, uint8_t *out, int two) {
    const uint8_t *const rows[2] = {given[0], given[1]}, *const orders = g->order;
    const Weights w = *weights;
    const W first = word(above), second = word(below);
    const int32_t *at = g->at;
    RowFetch ahead = {{next[0], next[1]}, at[0]};
    for (int64_t i = 0; i < n; i += 2 * FAR_PIXELS, at += 2 * FAR_PIXELS) {
        fetch_up_to(&ahead, at[2 * FAR_PIXELS - 1]);
        const W a = far_blended(rows, at, whole(orders + 8 * i), &w, 8 * i, first, second, two);
        const W b = far_blended(rows, at + FAR_PIXELS, whole(orders + 8 * i + VB), &w, 8 * i + VB, first, second, two);
        put_pixels(out + channels * i, in_order(Y(packus_epi16)(a, b)), channels, n - i);
    }
}
static void HERE(packed_far)(const uint8_t *const rows[2], const uint8_t *const next[2], const Gather *g, const Weights *weights,
                             int above, int below, int64_t n, int channels, uint8_t *out) {
    if (channels == 3) {
        if (below) far_rows_of(rows, next, g, weights, above, below, n, 3, out, 1);
        else far_rows_of(rows, next, g, weights, above, 0, n, 3, out, 0);
    } else if (below) far_rows_of(rows, next, g, weights, above, below, n, 4, out, 1);
    else far_rows_of(rows, next, g, weights, above, 0, n, 4, out, 0);
}
#define PACKED_FAR HERE(packed_far)
#else
#define PACKED_FAR NULL
#endif
