/* Conversions of rows to bytes in one step, from bytes and from float32. */

/* The range of floats: any; none above 2**22; all are numbers below it, to which nothing is added. */
enum { ANY, CAPPED, BOUNDED };
/* Four vectors of floats to one of bytes: each lane has the elements of the first one, then those of the second, and so on. What
 * is added after rounding is less than 2**14; NaN becomes the lowest value. */
INLINE V saturated(int to_u8, int known, const F v[4], int16_t after) {
#ifdef PACKS
    I q[4];
    for (int k = 0; k < 4; ++k) q[k] = PACKS(cvtps_epi32)((FI)(known ? v[k] : smaller(every(0x1p22f), v[k])));
    const I more = PACKS(set1_epi16)(after);
    I low = PACKS(packs_epi32)(q[0], q[1]), high = PACKS(packs_epi32)(q[2], q[3]);
    if (known != BOUNDED) low = PACKS(adds_epi16)(low, more), high = PACKS(adds_epi16)(high, more);
    return (V)(to_u8 ? PACKS(packus_epi16)(low, high) : PACKS(packs_epi16)(low, high));
#elif defined(__aarch64__)
    const float32x4_t lowest = vdupq_n_f32(-0x1p22f); /* and of a NaN and a number, vmaxnm returns the number */
    int32x4_t q[4];
    for (int k = 0; k < 4; ++k) q[k] = vcvtnq_s32_f32(known == BOUNDED ? (float32x4_t)v[k] : vmaxnmq_f32((float32x4_t)v[k], lowest));
    int16x8_t low = vqmovn_high_s32(vqmovn_s32(q[0]), q[1]), high = vqmovn_high_s32(vqmovn_s32(q[2]), q[3]);
    if (known != BOUNDED) low = vqaddq_s16(low, vdupq_n_s16(after)), high = vqaddq_s16(high, vdupq_n_s16(after));
    return to_u8 ? (V)vqmovun_high_s16(vqmovun_s16(low), high) : (V)vqmovn_high_s16(vqmovn_s16(low), high);
#else
    const S least = every_int(to_u8 ? 0 : -128), most = every_int(to_u8 ? 255 : 127);
    uint8_t bytes[VB];
    for (int k = 0; k < 4; ++k) {
        const F near = known == BOUNDED ? v[k] : smaller(larger(v[k], every(-0x1p22f)), every(0x1p22f));
        S q = (S)(near + every(0x1.8p23f)) + every_int(after - 0x4B400000);
        q = (q & (q > least)) | (least & ~(q > least));
        q = (q & (q < most)) | (most & ~(q < most));
        narrow_8(bytes + k * WIDTH, q);
    }
    return whole(bytes);
#endif
}
INLINE void saturate(int to_u8, int known, uint8_t *p, const F v[4], int16_t after) {
    put(p, (V)IN_ORDER(saturated(to_u8, known, v, after)));
}
INLINE void affine_bytes(int from_u8, int to_u8, int each, const uint8_t *src, uint8_t *dst, int64_t n, const Row *row) {
    const float *scale = row->scale, *before = row->before;
    const F scale0 = every(*scale), before0 = every(*before);
    for (int64_t i = 0;; i = i + 2 * VB < n ? i + VB : n - VB) {
        F v[4];
        if (from_u8) four_u8(src + i, v);
        else four_i8(src + i, v);
        for (int k = 0; k < 4; ++k) {
            const int64_t at = i + k * WIDTH;
            v[k] = v[k] * (each ? floats(scale + at) : scale0) + (each ? floats(before + at) : before0);
        }
        saturate(to_u8, BOUNDED, dst + i, v, 0);
        if (i + VB >= n) return;
    }
}
/* The quotients of a row, or CAPPED ones, for which rint and saturation return the same. */
typedef struct {
    F divisor, most, times, rest;
} HERE(Quotients);
INLINE int by_products(const Row *row) { return FUSED && row->products && row->products->times != 0 && *row->before == 0; }
INLINE HERE(Quotients) quotients_of(const Row *row, int by_products) {
    const Product none = {0, 0}, *p = by_products ? row->products : &none;
    return (HERE(Quotients)){every(*row->divisor), every(*row->divisor * 0x1p21f), every(p->times), every(p->rest)};
}
INLINE F quotient(F v, const HERE(Quotients) *q, int by_products) {
    if (!by_products) return v / q->divisor;
    v = capped(v, q->most);
    return fused(v, q->times, v * q->rest);
}
/* Load and store in one step, from the beginning of a cache line of the source. `plain`: only the division. */
INLINE void quantize(int to_u8, int plain, int by_products, const uint8_t *src, uint8_t *dst, int64_t n, const Row *row) {
    enum { STEP = VB };
    const F shift = every(*row->shift), scale = every(*row->scale), before = every(*row->before);
    const HERE(Quotients) quotients = quotients_of(row, by_products);
    const int64_t lead = lead_of(1, src, 4);
    AT_STEPS {
        F v[4];
        for (int k = 0; k < 4; ++k) {
            v[k] = get_f32(src + 4 * (i + k * WIDTH));
            v[k] = quotient(plain ? v[k] : (v[k] - shift) * scale, &quotients, by_products);
            if (!plain && !by_products) v[k] = v[k] + before;
        }
        saturate(to_u8, by_products ? CAPPED : ANY, dst + i, v, (int16_t)*row->after);
        if (i + VB >= n) return;
    }
}
#define QUANTIZE(name, to_u8)                                                                                  \
    ROW_AFTER_ROW(quantize_##name,                                                                             \
        const int plain = *row->shift == 0 && *row->scale == 1 && *row->before == 0;                           \
        if (by_products(row) && plain) quantize(to_u8, 1, FUSED, src, dst, n, row);                            \
        else if (by_products(row)) quantize(to_u8, 0, FUSED, src, dst, n, row);                                \
        else if (plain) quantize(to_u8, 1, 0, src, dst, n, row);                                               \
        else quantize(to_u8, 0, 0, src, dst, n, row))
QUANTIZE(i8, 0)
QUANTIZE(u8, 1)
#define BYTES_TO_BYTES(from, to, from_u8, to_u8)                                                                 \
    ROW_AFTER_ROW(affine_##from##_to_##to, affine_bytes(from_u8, to_u8, ONE_VALUE, src, dst, n, row))            \
    ROW_AFTER_ROW(fixed_##from##_to_##to, fixed_bytes(from_u8, to_u8, ONE_VALUE, src, dst, n, row))              \
    ROW_AFTER_ROW(affine_##from##_to_##to##_each, affine_bytes(from_u8, to_u8, EACH_VALUE, src, dst, n, row))    \
    ROW_AFTER_ROW(fixed_##from##_to_##to##_each, fixed_bytes(from_u8, to_u8, EACH_VALUE, src, dst, n, row))
BYTES_TO_BYTES(i8, i8, 0, 0)
BYTES_TO_BYTES(i8, u8, 0, 1)
BYTES_TO_BYTES(u8, i8, 1, 0)
BYTES_TO_BYTES(u8, u8, 1, 1)
