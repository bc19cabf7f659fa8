/* Bytes to bytes in 16 bits. */

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
#ifndef PACKS
#define IN_ORDER(v) (v) /* one lane */
#endif

/* Bytes to bytes in 16 bits, if that is exact: for bytes counted from their lowest value, (u * times / 256 - 32768 + plus)
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
