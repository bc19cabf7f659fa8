/* Conversions of rows to bytes in one step, from bytes and from float32. */

/* Unpacking and packing work within lanes, so the lanes are ordered such that elements of 16 bits are in order, and restored. */
#if VB == 64
INLINE V in_halves(const uint8_t *p) { return _mm512_permutexvar_epi64(_mm512_set_epi64(7, 3, 6, 2, 5, 1, 4, 0), whole(p)); }
INLINE V halves_in_order(V v) { return _mm512_permutexvar_epi64(_mm512_set_epi64(7, 5, 3, 1, 6, 4, 2, 0), v); }
#elif VB == 32
INLINE V in_halves(const uint8_t *p) { return _mm256_permute4x64_epi64(whole(p), 0xD8); }
INLINE V halves_in_order(V v) { return _mm256_permute4x64_epi64(v, 0xD8); }
#else
INLINE V in_halves(const uint8_t *p) { return whole(p); }
INLINE V halves_in_order(V v) { return v; }
#endif

/* Four vectors of integers into one of bytes, saturated. */
#if VB == 64
#define PACKS(name) _mm512_##name
#define IN_ORDER(v) \
    _mm512_permutexvar_epi32(_mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0), v)
typedef __m512i I;
typedef __m512 FI;
#elif VB == 32
#define PACKS(name) _mm256_##name
#define IN_ORDER(v) _mm256_permutevar8x32_epi32(v, _mm256_set_epi32(7, 3, 6, 2, 5, 1, 4, 0))
typedef __m256i I;
typedef __m256 FI;
#elif defined(__SSE2__)
#define PACKS(name) _mm_##name
#define IN_ORDER(v) (v)
typedef __m128i I;
typedef __m128 FI;
#endif
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
#ifndef PACKS
#define IN_ORDER(v) (v) /* one lane */
#endif
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
/* The same in 16 bits, if that is exact: for bytes counted from their lowest value, (u * times / 256 - 32768 + plus)
 * >> bits. The first 8 bytes of each lane have the parameters times[0] and plus[0], the others times[1] and plus[1]. */
INLINE V in_16_bits(int from_u8, int to_u8, V x, const V times[2], const V plus[2], int bits) {
#ifdef PACKS
    const I top = PACKS(set1_epi8)((char)0x80), low = PACKS(set1_epi16)((int16_t)0x8000), zero = top ^ top;
    const __m128i by = _mm_cvtsi32_si128(bits);
    const I u = (I)x ^ (from_u8 ? zero : top);
    I y[2] = {PACKS(unpacklo_epi8)(zero, u), PACKS(unpackhi_epi8)(zero, u)};
    for (int k = 0; k < 2; ++k)
        y[k] = PACKS(sra_epi16)(PACKS(adds_epi16)(PACKS(mulhi_epu16)(y[k], (I)times[k]) ^ low, (I)plus[k]), by);
    const I q = PACKS(packs_epi16)(y[0], y[1]);
    return (V)(q ^ (to_u8 ? top : zero));
#elif defined(__aarch64__)
    const uint16x8_t low = vdupq_n_u16(0x8000);
    const int16x8_t by = vdupq_n_s16((int16_t)-bits);
    const uint8x16_t top = vdupq_n_u8(0x80), from = from_u8 ? (uint8x16_t)x : veorq_u8((uint8x16_t)x, top);
    const uint16x8_t u[2] = {vmovl_u8(vget_low_u8(from)), vmovl_high_u8(from)};
    int16x8_t y[2];
    for (int k = 0; k < 2; ++k) {
        const uint32x4_t first = vmull_u16(vget_low_u16(u[k]), vget_low_u16((uint16x8_t)times[k]));
        const uint16x8_t t = vshrn_high_n_u32(vshrn_n_u32(first, 8), vmull_high_u16(u[k], (uint16x8_t)times[k]), 8);
        y[k] = vshlq_s16(vqaddq_s16(vreinterpretq_s16_u16(veorq_u16(t, low)), (int16x8_t)plus[k]), by);
    }
    const uint8x16_t q = vreinterpretq_u8_s8(vqmovn_high_s16(vqmovn_s16(y[0]), y[1]));
    return (V)(to_u8 ? veorq_u8(q, top) : q);
#else
    for (int i = 0; i < VB; ++i) {
        const uint32_t u = from_u8 ? x[i] : x[i] ^ 0x80;
        int32_t y = (int32_t)(u * ((B2)times[i / 8])[i % 8] >> 8) - 32768 + (int16_t)((B2)plus[i / 8])[i % 8];
        y = (y < -32768 ? -32768 : y > 32767 ? 32767 : y) >> bits;
        y = y < -128 ? -128 : y > 127 ? 127 : y;
        x[i] = (uint8_t)(to_u8 ? y + 128 : y);
    }
    return x;
#endif
}
INLINE void fixed_bytes(int from_u8, int to_u8, int each, const uint8_t *src, uint8_t *dst, int64_t n, const Row *row) {
    const uint16_t *factor = row->factor;
    const int16_t *summand = row->summand;
    const int bits = row->bits;
    uint16_t factors[8];
    int16_t summands[8];
    for (int i = 0; i < 8; ++i) factors[i] = *factor, summands[i] = *summand;
    const V factor0 = broadcast((const uint8_t *)factors), summand0 = broadcast((const uint8_t *)summands);
    V times[2] = {factor0, factor0}, plus[2] = {summand0, summand0};
    for (int64_t i = 0;; i = i + 2 * VB < n ? i + VB : n - VB) {
        for (int k = 0; each && k < 2; ++k) {
            times[k] = whole((const uint8_t *)(factor + i + k * (VB / 2)));
            plus[k] = whole((const uint8_t *)(summand + i + k * (VB / 2)));
        }
        put(dst + i, halves_in_order(in_16_bits(from_u8, to_u8, in_halves(src + i), times, plus, bits)));
        if (i + VB >= n) return;
    }
}
/* a * b + c, rounded once. A NaN is not capped; it stays NaN. Without FUSED neither is called. */
#if VB == 64
#define FUSED 1
INLINE F fused(F a, F b, F c) { return (F)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c); }
INLINE F capped(F v, F most) { return smaller(most, v); }
#elif VB == 32
#define FUSED 1
INLINE F fused(F a, F b, F c) { return (F)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c); }
INLINE F capped(F v, F most) { return smaller(most, v); }
#elif defined(__aarch64__)
#define FUSED 1
INLINE F fused(F a, F b, F c) { return (F)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b); }
INLINE F capped(F v, F most) { return (F)vminq_f32((float32x4_t)v, (float32x4_t)most); }
#else
#define FUSED 0
INLINE F fused(F a, F b, F c) { return a * b + c; }
INLINE F capped(F v, F most) { return smaller(most, v); }
#endif
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
