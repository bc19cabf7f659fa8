/* Conversions of rows: every dtype to float32 and from it. */

/* Rows have WIDTH elements or more. The last vector overlaps the one before; so does the second one, which begins at the first
 * place at which `wide`, the side of 4 bytes, is aligned to vectors. */
#define WALK(wide, BODY)                                                                                    \
    int64_t at = lead_of(1, wide, 4);                                                                       \
    const int far = n >= FAR_FROM / 4;                                                                      \
    if (at) BODY(0);                                                                                        \
    for (; far && at + 4 * WIDTH <= n; at += 4 * WIDTH) {                                                   \
        fetch_ahead(CLOSE, (wide) + 4 * at, 4 * VB);                                                        \
        for (int k = 0; k < 4; ++k) BODY(at + k * WIDTH);                                                   \
    }                                                                                                       \
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
/* A loop of the table: row after row with the same parameters. */
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
    /* In shorter rows one vector more costs as much as aligned stores save. A store of 64 bytes
     * across two lines waits for both, so that these are fetched. */
    const int aligns = n >= 16 * WIDTH;
    int64_t at = lead_of(aligns, dst, 4);
    if (VB == 64 && !aligns && n >= 4 * WIDTH) fetch_ahead(CLOSE, dst, (int)(4 * n));
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
/* The same past the caches. Nothing else is written to a line that is stored there. */
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
#define LOAD_PAST_ONE(name, bytes, suffix, each)                                                                       \
    OUT_OF_LINE void HERE(load_past_##name##suffix)(const uint8_t *src, uint8_t *dst, int64_t n, const Row *row) {     \
        if (row->steps) load_past(get_##name, four_##name, bytes, 1, each, src, dst, n, row);                          \
        else HERE(load_past_plain_##name)(src, dst, n, row);                                                           \
    }
#define LOAD_PAST(name, bytes)                                                                                         \
    OUT_OF_LINE void HERE(load_past_plain_##name)(const uint8_t *src, uint8_t *dst, int64_t n, const Row *row) {       \
        load_past(get_##name, four_##name, bytes, 0, 0, src, dst, n, row);                                             \
    }                                                                                                                  \
    LOAD_PAST_ONE(name, bytes, , 0)                                                                                    \
    LOAD_PAST_ONE(name, bytes, _each, 1)
#define TRY_PAST(name, suffix) \
    if (row->past && n >= 4 * WIDTH && (uintptr_t)dst % 4 == 0) HERE(load_past_##name##suffix)(src, dst, n, row); else
#else
#define LOAD_PAST(name, bytes)
#define TRY_PAST(name, suffix)
#endif
#define LOAD_ONE(name, bytes, suffix, each, divides, FIRST)                                                       \
    ROW_AFTER_ROW(load_##name##suffix, FIRST load(get_##name, four_##name, bytes, 1, each, divides, src, dst, n, row))
#define PLAIN(name) \
    if (!row->steps) HERE(load_plain_##name)(src, dst, n, row); else
#define LOAD(name, bytes)                                                                                         \
    LOAD_PAST(name, bytes)                                                                                       \
    OUT_OF_LINE void HERE(load_plain_##name)(const uint8_t *src, uint8_t *dst, int64_t n, const Row *row) { \
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

/* rint of values that are clamped below 2**22, in the low bits of a sum. NaN becomes the lowest value. */
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

/* Round to int32; false if a value exceeds half of its range, or is NaN. */
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
/* int32 has values that float32 cannot represent: for those in double. `steps`: shift, scale and divisor too, one value of each. */
INLINE void store_wide(int each, int steps, const uint8_t *src, uint8_t *dst, int64_t n, const Row *row) {
    const F shift = every(*row->shift), scale = every(*row->scale), divisor = every(*row->divisor);
    int near = 1; /* so that no sum overflows */
    for (int64_t i = 0; i < (each ? n : 1); ++i) near &= row->after[i] < 1 << 30 && row->after[i] > -(1 << 30);
    const int far = n >= FAR_FROM / 4;
    for (int64_t i = 0; i < n; i = i + WIDTH < n && i + 2 * WIDTH > n ? n - WIDTH : i + WIDTH) {
        if (far) __builtin_prefetch(src + 4 * i + CLOSE);
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

#define STORE_FLOAT(name) ROW_AFTER_ROW(store_##name, WALK(src, STORE_FLOAT_AT_##name))
#define STORE_FLOAT_AT_f16(i) put_f16(dst + 2 * (i), get_f32(src + 4 * (i)))
#define STORE_FLOAT_AT_bf16(i) put_bf16(dst + 2 * (i), get_f32(src + 4 * (i)))
#define STORE_FLOAT_AT_f32(i) put_f32(dst + 4 * (i), get_f32(src + 4 * (i)))
STORE_FLOAT(f16)
STORE_FLOAT(bf16)
STORE_FLOAT(f32)
