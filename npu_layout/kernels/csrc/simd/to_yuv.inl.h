/* Samples of Y, U or V of pixels in planes, and pairs of both. A plain loop, of which every compiler makes vectors; but that of x86
 * multiplies 32 bits, which takes two to five times as long as sums of two products of 16. */
INLINE void samples_from(int64_t i, const uint8_t *const bgr[3], YuvWeights w, int64_t every, int64_t n, uint8_t *restrict out) {
    const uint8_t *const b = bgr[0], *const g = bgr[1], *const r = bgr[2];
    for (; i < n; ++i) {
        const int32_t x = (b[every * i] * w.blue + g[every * i] * w.green + r[every * i] * w.red + w.add) >> 20;
        out[i] = (uint8_t)(x < 0 ? 0 : x > 255 ? 255 : x);
    }
}
#if defined(__SSE2__)
/* Weights of pairs of 16 bits, B with G and R with 1: what is above their lower 6 bits, and these. */
typedef struct {
    W bg_high, r_high, high, bg_low, r_low;
} PairWeights;
INLINE W pair_of(int32_t a, int32_t b) { return Y(set1_epi32)((int)(((uint32_t)a & 0xffff) | (uint32_t)b << 16)); }
INLINE PairWeights pair_weights(YuvWeights w) {
    return (PairWeights){pair_of(w.blue >> 6, w.green >> 6), pair_of(w.red >> 6, 0), Y(set1_epi32)(w.add >> 6),
                         pair_of(w.blue & 63, w.green & 63), pair_of(w.red & 63, w.add & 63)};
}
INLINE W sum_of_three(W bg, W r, const PairWeights *w) {
    const W high = Y(add_epi32)(Y(add_epi32)(Y(madd_epi16)(bg, w->bg_high), Y(madd_epi16)(r, w->r_high)), w->high);
    const W low = Y(add_epi32)(Y(madd_epi16)(bg, w->bg_low), Y(madd_epi16)(r, w->r_low));
    return Y(srai_epi32)(Y(add_epi32)(high, Y(srli_epi32)(low, 6)), 14);
}
INLINE W samples_of(W b, W g, W r, const PairWeights *w) {
    const W one = word(1);
    return Y(packs_epi32)(sum_of_three(Y(unpacklo_epi16)(b, g), Y(unpacklo_epi16)(r, one), w),
                          sum_of_three(Y(unpackhi_epi16)(b, g), Y(unpackhi_epi16)(r, one), w));
}
INLINE void vectors_of_samples(const uint8_t *const bgr[3], YuvWeights given, int every, int64_t n, uint8_t *out) {
    const PairWeights w = pair_weights(given);
    const uint8_t *const from[3] = {bgr[0], bgr[1], bgr[2]};
    const int64_t whole_ones = n - (every - 1); /* behind the last pixel of two there may be none */
    int64_t i = 0, next;
    for (; i + VB <= whole_ones; i = next) {
        W x[3][2];
        for (int c = 0; c < 3; ++c) {
            const uint8_t *const p = from[c] + every * i;
            const W first = (W)whole(p), none = word(0), low = word(255);
            x[c][0] = every == 1 ? Y(unpacklo_epi8)(first, none) : (W)(first & low);
            x[c][1] = every == 1 ? Y(unpackhi_epi8)(first, none) : (W)((W)whole(p + VB) & low);
        }
        const W made = Y(packus_epi16)(samples_of(x[0][0], x[1][0], x[2][0], &w), samples_of(x[0][1], x[1][1], x[2][1], &w));
        put(out + i, (V)(every == 1 ? made : in_order(made)));
        next = i + VB;
        if (next < whole_ones && next + VB > whole_ones) next = whole_ones - VB;
    }
    samples_from(i, bgr, given, every, n, out);
}
#else
#define vectors_of_samples(bgr, weights, every, n, out) samples_from(0, bgr, weights, every, n, out)
#endif
static void HERE(to_yuv)(const uint8_t *const bgr[3], const YuvWeights *weights, int64_t every, int64_t n, uint8_t *out) {
    if (every == 1) vectors_of_samples(bgr, *weights, 1, n, out);
    else vectors_of_samples(bgr, *weights, 2, n, out);
}
static void HERE(mean_rows)(const uint8_t *a, const uint8_t *b, int64_t n, uint8_t *restrict out) {
    for (int64_t i = 0; i < n; ++i) out[i] = (uint8_t)((a[i] + b[i] + 1) >> 1);
}
static void HERE(join_bytes)(const uint8_t *a, const uint8_t *b, int64_t n, uint8_t *restrict out) {
    for (int64_t i = 0; i < n; ++i) out[2 * i] = a[i], out[2 * i + 1] = b[i];
}
