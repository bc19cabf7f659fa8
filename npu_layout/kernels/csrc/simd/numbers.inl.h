/* Vectors of 32-bit numbers: every dtype to them and from them. */
/* Arithmetic is done on WIDTH elements of 32 bits. These depend on the machine: widening and narrowing of integers (by their
 * low bits), float16, and the larger (smaller) of two floats, which is the second one if the first is NaN. */
#define WIDTH (VB / 4)
typedef float F __attribute__((vector_size(4 * WIDTH)));
typedef int32_t S __attribute__((vector_size(4 * WIDTH)));
typedef uint32_t U __attribute__((vector_size(4 * WIDTH)));

/* Not a sum with zeros, which loses the sign of a zero. */
#if VB == 64
INLINE F every(float x) { return (F)_mm512_set1_ps(x); }
#elif VB == 32
INLINE F every(float x) { return (F)_mm256_set1_ps(x); }
#else
INLINE F every(float x) { return (F){x, x, x, x}; }
#endif
INLINE S every_int(int32_t x) { return (S){0} + x; }

#if VB == 64
INLINE S widen_i8(const uint8_t *p) { return (S)_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)p)); }
INLINE S widen_u8(const uint8_t *p) { return (S)_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)p)); }
INLINE S widen_i16(const uint8_t *p) { return (S)_mm512_cvtepi16_epi32(_mm256_loadu_si256((const __m256i *)p)); }
INLINE S widen_u16(const uint8_t *p) { return (S)_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p)); }
INLINE void narrow_16(uint8_t *p, S v) { _mm256_storeu_si256((__m256i *)p, _mm512_cvtepi32_epi16((__m512i)v)); }
INLINE void narrow_8(uint8_t *p, S v) { _mm_storeu_si128((__m128i *)p, _mm512_cvtepi32_epi8((__m512i)v)); }
INLINE F larger(F a, F b) { return (F)_mm512_max_ps((__m512)a, (__m512)b); }
INLINE F smaller(F a, F b) { return (F)_mm512_min_ps((__m512)a, (__m512)b); }
INLINE F get_f16(const uint8_t *p) { return (F)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p)); }
INLINE F of_halves(U h) { return (F)_mm512_cvtph_ps(_mm512_cvtepi32_epi16((__m512i)h)); }
INLINE void put_f16(uint8_t *p, F v) { _mm256_storeu_si256((__m256i *)p, _mm512_cvtps_ph((__m512)v, 0)); }
INLINE U to_halves(F v) { return (U)_mm512_cvtepu16_epi32(_mm512_cvtps_ph((__m512)v, 0)); }
#elif VB == 32
INLINE S widen_i8(const uint8_t *p) { return (S)_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)p)); }
INLINE S widen_u8(const uint8_t *p) { return (S)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p)); }
INLINE S widen_i16(const uint8_t *p) { return (S)_mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)p)); }
INLINE S widen_u16(const uint8_t *p) { return (S)_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p)); }
INLINE __m128i halves(S v) {
    v &= 0xFFFF;
    return _mm_packus_epi32(_mm256_castsi256_si128((__m256i)v), _mm256_extracti128_si256((__m256i)v, 1));
}
INLINE void narrow_16(uint8_t *p, S v) { _mm_storeu_si128((__m128i *)p, halves(v)); }
INLINE void narrow_8(uint8_t *p, S v) {
    const __m128i h = halves(v & 0xFF);
    _mm_storel_epi64((__m128i *)p, _mm_packus_epi16(h, h));
}
INLINE F larger(F a, F b) { return (F)_mm256_max_ps((__m256)a, (__m256)b); }
INLINE F smaller(F a, F b) { return (F)_mm256_min_ps((__m256)a, (__m256)b); }
INLINE F get_f16(const uint8_t *p) { return (F)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p)); }
INLINE F of_halves(U h) { return (F)_mm256_cvtph_ps(halves((S)h)); }
INLINE void put_f16(uint8_t *p, F v) { _mm_storeu_si128((__m128i *)p, _mm256_cvtps_ph((__m256)v, 0)); }
INLINE U to_halves(F v) { return (U)_mm256_cvtepu16_epi32(_mm256_cvtps_ph((__m256)v, 0)); }
#else
#if defined(__SSE4_1__)
INLINE S widen_u8(const uint8_t *p) { return (S)_mm_cvtepu8_epi32((__m128i)load4(p)); }
INLINE S widen_i8(const uint8_t *p) { return (S)_mm_cvtepi8_epi32((__m128i)load4(p)); }
INLINE S widen_u16(const uint8_t *p) { return (S)_mm_cvtepu16_epi32((__m128i)load8(p)); }
INLINE S widen_i16(const uint8_t *p) { return (S)_mm_cvtepi16_epi32((__m128i)load8(p)); }
#elif defined(__aarch64__)
INLINE S widen_u8(const uint8_t *p) { return (S)vmovl_u16(vget_low_u16(vmovl_u8(vget_low_u8((uint8x16_t)load4(p))))); }
INLINE S widen_i8(const uint8_t *p) { return (S)vmovl_s16(vget_low_s16(vmovl_s8(vget_low_s8((int8x16_t)load4(p))))); }
INLINE S widen_u16(const uint8_t *p) { return (S)vmovl_u16((uint16x4_t)vld1_u8(p)); }
INLINE S widen_i16(const uint8_t *p) { return (S)vmovl_s16((int16x4_t)vld1_u8(p)); }
#else
INLINE S widen_u8(const uint8_t *p) { return (S)low2(low1(load4(p), (B1){0}), (B1){0}); }
INLINE S widen_i8(const uint8_t *p) { return (S)low2((B1){0}, low1((B1){0}, load4(p))) >> 24; }
INLINE S widen_u16(const uint8_t *p) { return (S)low2(load8(p), (B1){0}); }
INLINE S widen_i16(const uint8_t *p) { return (S)low2((B1){0}, load8(p)) >> 16; }
#endif
#if defined(__SSE2__)
INLINE void narrow_16(uint8_t *p, S v) {
    const __m128i signs = (__m128i)(v << 16 >> 16);
    store8(p, (B1)_mm_packs_epi32(signs, signs), 0);
}
INLINE void narrow_8(uint8_t *p, S v) {
    const __m128i low = (__m128i)(v & 0xFF), h = _mm_packs_epi32(low, low), b = _mm_packus_epi16(h, h);
    memcpy(p, &b, 4);
}
#else
INLINE void narrow_16(uint8_t *p, S v) { store8(p, (B1)SHUFFLE((B2)v, (B2)v, 0, 2, 4, 6, 0, 2, 4, 6), 0); }
INLINE void narrow_8(uint8_t *p, S v) {
    const B2 h = SHUFFLE((B2)v, (B2)v, 0, 2, 4, 6, 0, 2, 4, 6);
    const B1 b = SHUFFLE((B1)h, (B1)h, 0, 2, 4, 6, 8, 10, 12, 14, 0, 2, 4, 6, 8, 10, 12, 14);
    memcpy(p, &b, 4);
}
#endif
INLINE F choose(U first, F a, F b) { return (F)((first & (U)a) | (~first & (U)b)); }
#if defined(__SSE2__)
INLINE F larger(F a, F b) { return (F)_mm_max_ps((__m128)a, (__m128)b); }
INLINE F smaller(F a, F b) { return (F)_mm_min_ps((__m128)a, (__m128)b); }
#else
INLINE F larger(F a, F b) { return choose((U)(a > b), a, b); }
INLINE F smaller(F a, F b) { return choose((U)(a < b), a, b); }
#endif

#if defined(__aarch64__)
INLINE F get_f16(const uint8_t *p) { return (F)vcvt_f32_f16((float16x4_t)vld1_u8(p)); }
INLINE F of_halves(U h) { return (F)vcvt_f32_f16((float16x4_t)vmovn_u32((uint32x4_t)h)); }
INLINE void put_f16(uint8_t *p, F v) { vst1_u8(p, (uint8x8_t)vcvt_f16_f32((float32x4_t)v)); }
INLINE U to_halves(F v) { return (U)vmovl_u16((uint16x4_t)vcvt_f16_f32((float32x4_t)v)); }
#else
/* Shift exponent and fraction into place and scale by 2**112, which also makes subnormals normal. */
INLINE F of_halves(U h) {
    const U sign = (h & 0x8000) << 16, rest = (h & 0x7FFF) << 13;
    const U special = (U)((S)rest >= (0x7C00 << 13)), scaled = (U)((F)rest * every(0x1p112f));
    return (F)(sign | (special & (rest | 0x7F800000)) | (~special & scaled));
}
INLINE F get_f16(const uint8_t *p) { return of_halves((U)widen_u16(p)); }
/* Normal results: round half to even on the 13 bits that are dropped. Subnormal ones: a float addition rounds. */
INLINE U to_halves(F v) {
    const U bits = (U)v, sign = (bits >> 16) & 0x8000, rest = bits & 0x7FFFFFFF;
    const U normal = (rest - (112u << 23) + 0xFFF + ((rest >> 13) & 1)) >> 13;
    const U small = (U)((F)rest + every(0.5f)) - 0x3F000000u;
    const S signed_rest = (S)rest; /* never negative, and SSE2 compares only signed integers */
    const U is_small = (U)(signed_rest < (113 << 23)), is_large = (U)(signed_rest >= 0x477FF000);
    const U is_nan = (U)(signed_rest > 0x7F800000);
    U h = (is_small & small) | (~is_small & normal);
    h = (is_large & 0x7C00) | (~is_large & h);
    h = (is_nan & (0x7E00 | ((rest >> 13) & 0x3FF))) | (~is_nan & h);
    return h | sign;
}
INLINE void put_f16(uint8_t *p, F v) { narrow_16(p, (S)to_halves(v)); }
#endif
#endif

INLINE F get_i8(const uint8_t *p) { return __builtin_convertvector(widen_i8(p), F); }
INLINE F get_u8(const uint8_t *p) { return __builtin_convertvector(widen_u8(p), F); }
INLINE F get_i16(const uint8_t *p) { return __builtin_convertvector(widen_i16(p), F); }
INLINE F get_u16(const uint8_t *p) { return __builtin_convertvector(widen_u16(p), F); }
INLINE F get_bf16(const uint8_t *p) { return (F)(widen_u16(p) << 16); }
INLINE F get_i32(const uint8_t *p) {
    S v;
    memcpy(&v, p, sizeof v);
    return __builtin_convertvector(v, F);
}
INLINE F get_f32(const uint8_t *p) {
    F v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* Four vectors of neighbours. */
#define FOUR(name, bytes)                                                                 \
    INLINE void four_##name(const uint8_t *p, F v[4]) {                                   \
        for (int k = 0; k < 4; ++k) v[k] = get_##name(p + k * WIDTH * bytes);             \
    }
#if VB == 16 && !defined(__SSE4_1__)
#if defined(__aarch64__)
INLINE void floats_of_u8(B1 x, F v[4]) {
    const uint16x8_t half[2] = {vmovl_u8(vget_low_u8((uint8x16_t)x)), vmovl_high_u8((uint8x16_t)x)};
    for (int k = 0; k < 4; ++k)
        v[k] = (F)vcvtq_f32_u32(k % 2 ? vmovl_high_u16(half[k / 2]) : vmovl_u16(vget_low_u16(half[k / 2])));
}
INLINE void floats_of_i8(B1 x, F v[4]) {
    const int16x8_t half[2] = {vmovl_s8(vget_low_s8((int8x16_t)x)), vmovl_high_s8((int8x16_t)x)};
    for (int k = 0; k < 4; ++k)
        v[k] = (F)vcvtq_f32_s32(k % 2 ? vmovl_high_s16(half[k / 2]) : vmovl_s16(vget_low_s16(half[k / 2])));
}
#else
INLINE void floats_of_u8(B1 x, F v[4]) {
    const B1 none = {0}, half[2] = {low1(x, none), high1(x, none)};
    for (int k = 0; k < 4; ++k)
        v[k] = __builtin_convertvector((S)(k % 2 ? high2(half[k / 2], none) : low2(half[k / 2], none)), F);
}
INLINE void floats_of_i8(B1 x, F v[4]) {
    const B1 none = {0}, half[2] = {low1(none, x), high1(none, x)};
    for (int k = 0; k < 4; ++k)
        v[k] = __builtin_convertvector((S)(k % 2 ? high2(none, half[k / 2]) : low2(none, half[k / 2])) >> 24, F);
}
#endif
INLINE void four_u8(const uint8_t *p, F v[4]) { floats_of_u8(load16(p), v); }
INLINE void four_i8(const uint8_t *p, F v[4]) { floats_of_i8(load16(p), v); }
#else
FOUR(i8, 1)
FOUR(u8, 1)
#endif
FOUR(i16, 2)
FOUR(u16, 2)
FOUR(i32, 4)
FOUR(f16, 2)
FOUR(bf16, 2)
FOUR(f32, 4)

INLINE void put_f32(uint8_t *p, F v) { memcpy(p, &v, sizeof v); }
INLINE U to_bf16(F v) {
    const U bits = (U)v, nan = (U)(v != v);
    const U rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
    return (nan & ((bits >> 16) | 0x40)) | (~nan & rounded);
}
INLINE void put_bf16(uint8_t *p, F v) { narrow_16(p, (S)to_bf16(v)); }

INLINE F floats(const float *p) {
    F v;
    memcpy(&v, p, sizeof v);
    return v;
}
INLINE S ints(const int32_t *p) {
    S v;
    memcpy(&v, p, sizeof v);
    return v;
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
