/* Conversions of rows: every dtype to float32 and from it, bytes to bytes, float32 to bytes. */
/* Arithmetic is done on WIDTH elements of 32 bits. What depends on the machine: to widen and to narrow integers (by
 * their low bits), float16, and of two floats the larger (smaller), the second one where the first is NaN. */
#define WIDTH (VB / 4)
typedef float F __attribute__((vector_size(4 * WIDTH)));
typedef int32_t S __attribute__((vector_size(4 * WIDTH)));
typedef uint32_t U __attribute__((vector_size(4 * WIDTH)));

/* Not a sum with zeros, in which the sign of a zero is lost. */
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
/* Normal results: round half to even on the 13 bits that go. Subnormal ones: let a float addition round. */
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

/* Rows have WIDTH elements or more; the last vector overlaps the one before, as does the second one, which begins where
 * `wide`, the side of 4 bytes, is aligned to vectors. */
#define WALK(wide, BODY)                                                                                    \
    int64_t at = lead_of(1, wide, 4);                                                                       \
    if (at) BODY(0);                                                                                        \
    for (; at + WIDTH <= n; at += WIDTH) BODY(at);                                                          \
    if (at < n) BODY(n - WIDTH);

#define LOADED(v, i)                                                                                                      \
    (steps ? scaled(v, each ? floats(shift + (i)) : shift0, each ? floats(scale + (i)) : scale0, divides,                \
                    divides && each ? floats(divisor + (i)) : divisor0)                                                   \
           : (v))
#define LOAD_TO(to, i) put_f32(to, LOADED(get(from + (i) * bytes), i))
#define LOAD_AT(i) LOAD_TO(dst + 4 * (i), i)
INLINE F scaled(F v, F shift, F scale, int divides, F divisor) {
    v = (v - shift) * scale;
    return divides ? v / divisor : v;
}
typedef F Get(const uint8_t *);
/* A loop of the table: row after row of the same parameters. */
#define ROW_AFTER_ROW(name, BODY)                                                                                 \
    static void HERE(name)(const uint8_t *src, uint8_t *dst, int64_t n, const Row *row) {                         \
        for (int64_t left = row->more;; --left, src += row->src_step, dst += row->dst_step) {                     \
            BODY;                                                                                                 \
            if (!left) return;                                                                                    \
        }                                                                                                         \
    }
typedef void Four(const uint8_t *, F[4]);
INLINE void load(Get get, Four four, int bytes, int steps, int each, int divides, const uint8_t *from, uint8_t *dst, int64_t n,
                 const Row *row) {
    const float *shift = row->shift, *scale = row->scale, *divisor = row->divisor;
    const F shift0 = every(*shift), scale0 = every(*scale), divisor0 = every(*divisor);
    int64_t at = lead_of(n >= 16 * WIDTH, dst, 4); /* in shorter rows one vector more costs what aligned stores save */
    if (at) LOAD_AT(0);
    for (; at + 4 * WIDTH <= n; at += 4 * WIDTH) {
        F v[4];
        four(from + at * bytes, v);
        for (int k = 0; k < 4; ++k) put_f32(dst + 4 * (at + k * WIDTH), LOADED(v[k], at + k * WIDTH));
    }
    for (; at + WIDTH <= n; at += WIDTH) LOAD_AT(at);
    if (at < n) LOAD_AT(n - WIDTH);
}
#ifdef STREAM
/* The same past the caches. Nothing else is written to a line that goes there. */
INLINE void load_past(Get get, Four four, int bytes, int steps, int each, const uint8_t *from, uint8_t *dst, int64_t n,
                      const Row *row) {
    enum { divides = 0 };
    const float *shift = row->shift, *scale = row->scale, *divisor = row->divisor;
    const F shift0 = every(*shift), scale0 = every(*scale), divisor0 = every(*divisor);
    const int64_t lead = (int64_t)(-(uintptr_t)dst % 64) / 4, lines = (n - lead) / 16 * 16, rest = n - lead - lines;
    uint8_t ends[4 * WIDTH];
    int64_t i = lead;
    for (; i + 4 * WIDTH <= lead + lines; i += 4 * WIDTH) {
        F v[4];
        four(from + i * bytes, v);
        for (int k = 0; k < 4; ++k) STREAM(dst + 4 * (i + k * WIDTH), (V)LOADED(v[k], i + k * WIDTH));
    }
    for (; i < lead + lines; i += WIDTH) STREAM(dst + 4 * i, (V)LOADED(get(from + i * bytes), i));
    for (int64_t done = 0; done < lead; done += WIDTH) {
        const int64_t some = lead - done < WIDTH ? lead - done : WIDTH;
        LOAD_TO(ends, done);
        memcpy(dst + 4 * done, ends, (size_t)(4 * some));
    }
    for (int64_t done = 0; done < rest; done += WIDTH) {
        const int64_t some = rest - done < WIDTH ? rest - done : WIDTH, at = n - rest + done;
        LOAD_TO(ends, at + WIDTH <= n ? at : n - WIDTH);
        memcpy(dst + 4 * at, ends + (at + WIDTH <= n ? 0 : 4 * (at + WIDTH - n)), (size_t)(4 * some));
    }
}
#endif

#ifdef STREAM
#define LOAD_PAST_ONE(name, bytes, suffix, each)                                                                  \
    __attribute__((noinline)) static void HERE(load_past_##name##suffix)(const uint8_t *src, uint8_t *dst, int64_t n, \
                                                                        const Row *row) {                         \
        if (row->steps) load_past(get_##name, four_##name, bytes, 1, each, src, dst, n, row);                     \
        else load_past(get_##name, four_##name, bytes, 0, each, src, dst, n, row);                                \
    }
#define TRY_PAST(name, suffix) \
    if (row->past && n >= 4 * WIDTH && (uintptr_t)dst % 4 == 0) HERE(load_past_##name##suffix)(src, dst, n, row); else
#else
#define LOAD_PAST_ONE(name, bytes, suffix, each)
#define TRY_PAST(name, suffix)
#endif
#define LOAD_ONE(name, bytes, suffix, each, divides, FIRST)                                                       \
    ROW_AFTER_ROW(load_##name##suffix, FIRST load(get_##name, four_##name, bytes, 1, each, divides, src, dst, n, row))
#define PLAIN(name) \
    if (!row->steps) HERE(load_plain_##name)(src, dst, n, row); else
#define LOAD(name, bytes)                                                                                         \
    LOAD_PAST_ONE(name, bytes, , 0)                                                                               \
    LOAD_PAST_ONE(name, bytes, _each, 1)                                                                          \
    __attribute__((noinline)) static void HERE(load_plain_##name)(const uint8_t *src, uint8_t *dst, int64_t n, const Row *row) { \
        load(get_##name, four_##name, bytes, 0, 0, 0, src, dst, n, row);                                          \
    }                                                                                                             \
    LOAD_ONE(name, bytes, , 0, 0, TRY_PAST(name, ) PLAIN(name))                                                   \
    LOAD_ONE(name, bytes, _divided, 0, 1, )                                                                       \
    LOAD_ONE(name, bytes, _each, 1, 0, TRY_PAST(name, _each))                                                     \
    LOAD_ONE(name, bytes, _each_divided, 1, 1, )
LOAD(i8, 1)
LOAD(u8, 1)
LOAD(i16, 2)
LOAD(u16, 2)
LOAD(i32, 4)
LOAD(f16, 2)
LOAD(bf16, 2)
LOAD(f32, 4)

/* rint of what the clamp has brought below 2**22, in the low bits of a sum. NaN becomes the lowest value. */
#define STORE_AT(i)                                                                            \
    do {                                                                                       \
        F v = get_f32(src + 4 * (i)) + (each ? floats(before + (i)) : before0);                  \
        v = smaller(larger(v, each ? floats(low + (i)) : low0), each ? floats(high + (i)) : high0);                     \
        const S q = (S)(v + every(0x1.8p23f)) - every_int(0x4B400000);                         \
        put(to + (i) * bytes, q + (each ? ints(after + (i)) : after0));                                  \
    } while (0)
INLINE void store(void put(uint8_t *, S), int bytes, int each, const uint8_t *src, uint8_t *to, int64_t n, const Row *row) {
    const float *before = row->before, *low = row->low, *high = row->high;
    const int32_t *after = row->after;
    const F before0 = every(*before), low0 = every(*low), high0 = every(*high);
    const S after0 = every_int(*after);
    WALK(src, STORE_AT)
}
#define STORE(name, bytes, narrow)                                                                            \
    ROW_AFTER_ROW(store_##name, store(narrow, bytes, 0, src, dst, n, row))                                    \
    ROW_AFTER_ROW(store_##name##_each, store(narrow, bytes, 1, src, dst, n, row))
STORE(i8, 1, narrow_8)
STORE(u8, 1, narrow_8)
STORE(i16, 2, narrow_16)
STORE(u16, 2, narrow_16)

/* Rounded to int32: false where a value is beyond half of its range, or none. */
INLINE int rounded(F v, S *q) {
    const S inside = (F)((S)v & 0x7FFFFFFF) < every(0x1p30f);
#if VB == 64
    *q = (S)_mm512_cvtps_epi32((__m512)v);
    return _mm512_movepi32_mask((__m512i)inside) == 0xFFFF;
#elif VB == 32
    *q = (S)_mm256_cvtps_epi32((__m256)v);
    return _mm256_movemask_ps((__m256)inside) == 0xFF;
#elif defined(__SSE2__)
    *q = (S)_mm_cvtps_epi32((__m128)v);
    return _mm_movemask_ps((__m128)inside) == 0xF;
#elif defined(__aarch64__)
    *q = (S)vcvtnq_s32_f32((float32x4_t)v);
    return vminvq_u32((uint32x4_t)inside) != 0;
#else
    *q = inside;
    return 0;
#endif
}
/* int32 reaches further than float32 counts: there in double. `steps`: shift, scale and divisor too, one value of each. */
INLINE void store_wide(int each, int steps, const uint8_t *src, uint8_t *dst, int64_t n, const Row *row) {
    const F shift = every(*row->shift), scale = every(*row->scale), divisor = every(*row->divisor);
    int near = 1; /* so that no sum is beyond */
    for (int64_t i = 0; i < (each ? n : 1); ++i) near &= row->after[i] < 1 << 30 && row->after[i] > -(1 << 30);
    for (int64_t i = 0; i < n; i = i + WIDTH < n && i + 2 * WIDTH > n ? n - WIDTH : i + WIDTH) {
        const F x = get_f32(src + 4 * i), y = steps ? (x - shift) * scale / divisor : x;
        S q;
        if (near && rounded(y + (each ? floats(row->before + i) : every(*row->before)), &q)) {
            q += each ? ints(row->after + i) : every_int(*row->after);
            memcpy(dst + 4 * i, &q, sizeof q);
            continue;
        }
        float some[WIDTH];
        memcpy(some, &y, sizeof some);
        for (int64_t k = i; k < i + WIDTH; ++k) {
            const int64_t p = each ? k : 0;
            const double lowest = -2147483648.0, highest = 2147483647.0;
            double v = (double)__builtin_rintf(some[k - i] + row->before[p]) + row->after[p];
            v = v > lowest ? v : lowest;
            v = v < highest ? v : highest;
            const int32_t one = (int32_t)v;
            memcpy(dst + 4 * k, &one, 4);
        }
    }
}
#define STORE_WIDE(name, each, steps) ROW_AFTER_ROW(name, store_wide(each, steps, src, dst, n, row))
STORE_WIDE(store_i32, 0, 0)
STORE_WIDE(store_i32_each, 1, 0)
STORE_WIDE(quantize_i32, 0, 1)

/* Unpacking and packing work within lanes: so that elements of 16 bits come out in order, and go back. */
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
/* What is known of floats: nothing; that none is above 2**22; that all are numbers below it, to which nothing is added. */
enum { ANY, CAPPED, BOUNDED };
/* Four vectors of floats to one of bytes: each lane has those of the first one, then those of the second, and so on. Less
 * than 2**14 is added to what is rounded; NaN becomes the lowest value. */
INLINE V saturated(int to_u8, int known, const F v[4], int16_t after) {
#ifdef PACKS
    I q[4];
    for (int k = 0; k < 4; ++k) q[k] = PACKS(cvtps_epi32)((FI)(known ? v[k] : smaller(every(0x1p22f), v[k])));
    const I more = PACKS(set1_epi16)(after);
    I low = PACKS(packs_epi32)(q[0], q[1]), high = PACKS(packs_epi32)(q[2], q[3]);
    if (known != BOUNDED) low = PACKS(adds_epi16)(low, more), high = PACKS(adds_epi16)(high, more);
    return (V)(to_u8 ? PACKS(packus_epi16)(low, high) : PACKS(packs_epi16)(low, high));
#elif defined(__aarch64__)
    const float32x4_t lowest = vdupq_n_f32(-0x1p22f); /* and of a NaN and a number, vmaxnm takes the number */
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
/* The same in 16 bits, as far as that is exact: of bytes counted from their lowest value, (u * times / 256 - 32768 + plus)
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
/* a * b + c, rounded once. A NaN is not capped: it stays one. Without FUSED neither is called. */
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
/* The quotients of a row, or CAPPED ones that rint and saturation make the same of. */
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
/* What load and store do one after the other, from a cache line of the source on. `plain`: only the division. */
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

#define STORE_FLOAT(name) ROW_AFTER_ROW(store_##name, WALK(src, STORE_FLOAT_AT_##name))
#define STORE_FLOAT_AT_f16(i) put_f16(dst + 2 * (i), get_f32(src + 4 * (i)))
#define STORE_FLOAT_AT_bf16(i) put_bf16(dst + 2 * (i), get_f32(src + 4 * (i)))
#define STORE_FLOAT_AT_f32(i) put_f32(dst + 4 * (i), get_f32(src + 4 * (i)))
STORE_FLOAT(f16)
STORE_FLOAT(bf16)
STORE_FLOAT(f32)
