/* Conversions that transpose while they convert, in blocks of 16 pixels by 16, 8, 4 or 3 channels, whose pixels have 16 bytes or
 * less. */

#if VB == 64
INLINE V joined(const B1 l[4]) {
    const __m256i low = _mm256_set_m128i((__m128i)l[1], (__m128i)l[0]), high = _mm256_set_m128i((__m128i)l[3], (__m128i)l[2]);
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}
#elif VB == 32
INLINE V joined(const B1 l[2]) { return _mm256_set_m128i((__m128i)l[1], (__m128i)l[0]); }
#else
INLINE V joined(const B1 l[1]) { return l[0]; }
#endif

/* 16, 8 or 4 bytes of each pixel, or 3 and one that does not matter; four pixels in a lane, and the lanes in as many vectors as
 * they need, one after the other. With 3 bytes some behind the last pixel are read. */
INLINE V pieces(int bytes, const uint8_t *p, int64_t s) {
    if (bytes == 16 || s == (bytes == 8 ? 8 : 4)) return lanes(p, 4 * s);
#if SHUFFLES
    if (bytes == 3 && s == 3) {
        const uint8_t spread[16] = {0, 1, 2, 2, 3, 4, 5, 5, 6, 7, 8, 8, 9, 10, 11, 11};
        return shuffled(lanes(p, 12), broadcast(spread));
    }
#endif
    B1 l[LANES];
    for (int i = 0; i < LANES; ++i, p += 4 * s)
        l[i] = bytes == 8 ? low8(load8(p), load8(p + s))
                          : low8(low4(load4(p), load4(p + s)), low4(load4(p + 2 * s), load4(p + 3 * s)));
    return joined(l);
}
/* So many bytes of each of WIDTH pixels, a vector for every four bytes. */
INLINE void quads(int bytes, const uint8_t *src, int64_t s, U x[]) {
    enum { MOST = 4 };
    const int count = (bytes + 3) / 4;
    V rows[MOST], turned[MOST];
    for (int r = 0; r < count; ++r, NEXT_OF(count, src, 4 / count * s)) rows[r] = pieces(bytes, src, s);
    for (int k = 0; k < 2 && count > 1; ++k) {
        ROUND(V, VLOW_4, VHIGH_4, rows, turned, count)
        for (int r = 0; r < count; ++r) rows[r] = turned[r];
    }
    for (int r = 0; r < count; ++r) x[r] = (U)rows[r];
}
/* Element k of each 32 bits; bytes are not shifted, so that they are 2**(8 * k) times as large. */
INLINE int stays(Dtype type, int k) { return type == I8 || (type == U8 && k < 3); }
INLINE F part_of(Dtype type, U x, int k) {
    if (stays(type, k)) return __builtin_convertvector((S)(x & 0xFFu << 8 * k), F);
    const int bits = type <= U8 ? 8 : 16, above = 32 - bits - bits * k;
    const U low = above ? x >> bits * k & ((1u << bits) - 1) : x >> bits * k;
    if (type == BF16) return (F)(above ? x << above : x & 0xFFFF0000);
    return __builtin_convertvector(type == I16 ? (above ? (S)(x << above) >> 16 : (S)x >> 16) : (S)low, F);
}

/* The float16 in the lower 16 bits, and those in the upper ones. */
INLINE void of_pairs(U x, F v[2]) {
#if VB == 64
    const __m512i order = _mm512_set_epi16(31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1, 30, 28, 26, 24, 22, 20, 18,
                                           16, 14, 12, 10, 8, 6, 4, 2, 0);
    const __m512i halves = _mm512_permutexvar_epi16(order, (__m512i)x);
    v[0] = (F)_mm512_cvtph_ps(_mm512_castsi512_si256(halves)), v[1] = (F)_mm512_cvtph_ps(_mm512_extracti64x4_epi64(halves, 1));
#elif VB == 32
    const uint8_t order[16] = {0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15};
    const __m256i pairs = _mm256_permute4x64_epi64(shuffled((V)x, broadcast(order)), 0xD8);
    v[0] = (F)_mm256_cvtph_ps(_mm256_castsi256_si128(pairs)), v[1] = (F)_mm256_cvtph_ps(_mm256_extracti128_si256(pairs, 1));
#else
    v[0] = of_halves(x & 0xFFFF), v[1] = of_halves(x >> 16);
#endif
}

enum { BLOCK_PIXELS = 16, MOST_CHANNELS = 16, STRETCH = 256, BEHIND = 2, NARROW_STRETCH = 64 };

/* Parameters of a block's channels. `in_quads`: for bytes that are not shifted within 32 bits; signed ones, except the topmost,
 * are counted from -128. Powers of two, and sums that the plan has found to be exact, change no rounding. */
typedef struct {
    F shift[MOST_CHANNELS], scale[MOST_CHANNELS], divisor[MOST_CHANNELS];
} HERE(Steps);
INLINE void steps_of(int channels, Dtype type, int in_quads, int divides, const Row *row, int64_t at, int64_t p, HERE(Steps) *to) {
    static const float times[] = {1, 0x1p8f, 0x1p16f, 0x1p24f}, part[] = {1, 0x1p-8f, 0x1p-16f, 0x1p-24f};
    for (int c = 0; c < channels; ++c, at += p) {
        const int k = in_quads && stays(type, c % 4) ? c % 4 : 0;
        const int from_128 = in_quads && type == I8 && c % 4 < 3; /* because -0.0 + 0 is +0.0, another shift */
        to->shift[c] = every((from_128 ? row->shift[at] + 128 : row->shift[at]) * times[k]), to->scale[c] = every(row->scale[at] * part[k]);
        to->divisor[c] = every(divides ? row->divisor[at] : 1);
    }
}
/* Whether pixels of bytes are loaded in quads, or by one instruction. */
INLINE int in_quads(int channels, Dtype type, int64_t s) {
#ifdef STRUCTURES
    if (channels <= 4 && s == channels) return 0;
#endif
    (void)channels, (void)s;
    return type <= U8;
}

INLINE void load_block(int channels, Dtype type, int steps, int divides, const uint8_t *src, int64_t s, uint8_t *dst, int64_t d,
                       const HERE(Steps) *a, int past) {
    enum { VECTORS = BLOCK_PIXELS / WIDTH };
    const int size = type <= U8 ? 1 : 2, each = 4 / size;
#ifdef STRUCTURES
    if (size == 1 && !in_quads(channels, type, s)) {
        V bytes[4];
        if (channels == 3) load_planes3_1(src, bytes);
        else load_planes4_1(src, bytes);
        for (int c = 0; c < channels; ++c) {
            F v[VECTORS];
            if (type == U8) floats_of_u8(bytes[c], v);
            else floats_of_i8(bytes[c], v);
            for (int h = 0; h < VECTORS; ++h)
                put_f32(dst + c * d + h * VB, scaled(v[h], a->shift[c], a->scale[c], divides, a->divisor[c]));
        }
        return;
    }
#endif
    U x[VECTORS][4];
    for (int h = 0; h < VECTORS; ++h) quads(channels * size, src + h * WIDTH * s, s, x[h]);
    for (int i = 0; type == I8 && i < VECTORS * ((channels + 3) / 4); ++i) x[i % VECTORS][i / VECTORS] ^= 0x00808080;
    for (int r = 0; r * each < channels; ++r) {
        F pairs[VECTORS][2];
        for (int h = 0; type == F16 && h < VECTORS; ++h) of_pairs(x[h][r], pairs[h]);
        for (int k = 0; k < each && r * each + k < channels; ++k)
            for (int h = 0; h < VECTORS; ++h) {
                const int c = r * each + k;
                F v = type == F16 ? pairs[h][k] : part_of(type, x[h][r], k);
                if (steps) v = scaled(v, a->shift[c], a->scale[c], divides, a->divisor[c]);
                put_past(dst + h * VB, (V)v, past);
                if (h == VECTORS - 1) NEXT_OF(channels, dst, d);
            }
    }
}

/* Whether lines begin at the same pixels in all rows of the result. */
INLINE int lines_alike(Loop channel, const uint8_t *dst) { return channel.d % 64 == 0 && (uintptr_t)dst % 4 == 0; }

/* The first 16 pixels or the last ones of a row: a function for each kind of block, because it is called from several places. `at`, `p`:
 * where the parameters of its channels begin, and their step. */
typedef void Ends(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, const Row *row, int64_t at, int64_t p);
INLINE void load_ends(int channels, Dtype type, int steps, int divides, const uint8_t *src, int64_t s, uint8_t *dst, int64_t d,
                      const Row *row, int64_t at, int64_t p) {
    HERE(Steps) here;
    uint8_t room[BLOCK_PIXELS * 8 + 16];
    steps_of(channels, type, in_quads(channels, type, s), divides, row, at, p, &here);
    if (channels == 3) src = memcpy(room, src, (size_t)((BLOCK_PIXELS - 1) * s + 3));
    load_block(channels, type, steps, divides, src, s, dst, d, &here, 0);
}

/* In stretches of pixels whose source lines stay in L1 until all channels are read. */
INLINE void load_channels(int channels, Dtype type, int steps, int divides, int past, Ends *ends, Loop pixel, Loop channel,
                          const uint8_t *src, uint8_t *dst, const Row *row) {
    const int64_t lead = lines_alike(channel, dst) ? (int64_t)(-(uintptr_t)dst % 64) / 4 : 0;
    const int size = type <= U8 ? 1 : 2;
    const int64_t stretch = pixel.s == channels * size || channels < 8 ? pixel.n : STRETCH;
    const int quads = in_quads(channels, type, pixel.s), share = 64 / (channels * size);
    const int far = stretch < pixel.n && pixel.n * channel.n * size >= FETCHED;
    HERE(Steps) now;
    steps_of(channels, type, quads, divides, row, 0, channel.p, &now);
    for (int64_t from = lead; from < pixel.n; from += stretch) {
        const int64_t to = at_most(pixel.n, from + stretch);
        for (int64_t c = 0; c < channel.n; c += channels) {
            const int64_t first = at_most(c, channel.n - channels);
            if (channel.p) steps_of(channels, type, quads, divides, row, first * channel.p, channel.p, &now);
            const uint8_t *s = src + first * size;
            /* Of the next stretch, a line of each pixel, in turns with the other blocks that read it. */
            const uint8_t *next = s + (stretch + c / channels % share) * pixel.s;
            uint8_t *d = dst + first * channel.d;
            int64_t i = from;
            for (; i + BLOCK_PIXELS <= to - (channels == 3 && to == pixel.n ? BEHIND : 0); i += BLOCK_PIXELS) {
                for (int k = 0; far && k < BLOCK_PIXELS / share; ++k) __builtin_prefetch(next + i * pixel.s + k * share * pixel.s);
                load_block(channels, type, steps, divides, s + i * pixel.s, pixel.s, d + 4 * i, channel.d, &now, past);
            }
            if (lead && from == lead) ends(s, pixel.s, d, channel.d, row, first * channel.p, channel.p);
            for (; to == pixel.n && i < to; i += BLOCK_PIXELS) {
                const int64_t at = at_most(i, pixel.n - BLOCK_PIXELS);
                ends(s + at * pixel.s, pixel.s, d + 4 * at, channel.d, row, first * channel.p, channel.p);
            }
        }
    }
}
/* The ends of blocks of so many channels; of floats also those without steps. */
typedef struct {
    Ends *of3, *of4, *of8, *of16, *plain;
} EndsOf;
INLINE void load_transposed(Dtype type, int divides, const EndsOf *ends, Loop pixel, Loop channel, const uint8_t *src, uint8_t *dst,
                            const Row *row) {
    const int past = VB > 16 && row->past && !divides && lines_alike(channel, dst);
#define CALL(channels)                                                                                                           \
    if (!row->steps && type > I32 && past) load_channels(channels, type, 0, 0, VB > 16, ends->plain, pixel, channel, src, dst, row); \
    else if (!row->steps && type > I32) load_channels(channels, type, 0, 0, 0, ends->plain, pixel, channel, src, dst, row);      \
    else if (past) load_channels(channels, type, 1, 0, VB > 16, ends->of##channels, pixel, channel, src, dst, row);              \
    else load_channels(channels, type, 1, divides, 0, ends->of##channels, pixel, channel, src, dst, row);
    if (channel.n >= 16 && type <= U8 && !divides) {
        CALL(16)
    } else if (channel.n >= 8 && !divides) {
        CALL(8)
    } else if (type <= U8 && channel.n >= 4) {
        CALL(4)
    } else if (type <= U8) {
        CALL(3)
    }
#undef CALL
}
#define ENDS(kind, type, channels, steps, divides)                                                                                 \
    OUT_OF_LINE void HERE(ends_##kind)(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, const Row *row, \
                                                            int64_t at, int64_t p) {                                               \
        load_ends(channels, type, steps, divides, src, s, dst, d, row, at, p);                                                     \
    }
#define LOAD_TRANSPOSED(name, type, divides, ...)                                                                     \
    static void HERE(transposed_##name)(Loop pixel, Loop channel, const uint8_t *src, uint8_t *dst, const Row *row) { \
        const EndsOf ends = {__VA_ARGS__};                                                                            \
        load_transposed(type, divides, &ends, pixel, channel, src, dst, row);                                         \
    }
#define LOAD_TRANSPOSED_BYTES(name, type)                                                                                        \
    ENDS(name##_3, type, 3, 1, 0)                                                                                                \
    ENDS(name##_4, type, 4, 1, 0)                                                                                                \
    ENDS(name##_8, type, 8, 1, 0)                                                                                                \
    ENDS(name##_16, type, 16, 1, 0)                                                                                              \
    ENDS(name##_3_divided, type, 3, 1, 1)                                                                                        \
    ENDS(name##_4_divided, type, 4, 1, 1)                                                                                        \
    LOAD_TRANSPOSED(name, type, 0, HERE(ends_##name##_3), HERE(ends_##name##_4), HERE(ends_##name##_8), HERE(ends_##name##_16))  \
    LOAD_TRANSPOSED(name##_divided, type, 1, HERE(ends_##name##_3_divided), HERE(ends_##name##_4_divided))
#define LOAD_TRANSPOSED_WORDS(name, type)    \
    ENDS(name##_8, type, 8, 1, 0)            \
    LOAD_TRANSPOSED(name, type, 0, .of8 = HERE(ends_##name##_8))
#define LOAD_TRANSPOSED_HALVES(name, type)   \
    ENDS(name##_8, type, 8, 1, 0)            \
    ENDS(name##_8_plain, type, 8, 0, 0)      \
    LOAD_TRANSPOSED(name, type, 0, .of8 = HERE(ends_##name##_8), .plain = HERE(ends_##name##_8_plain))
LOAD_TRANSPOSED_BYTES(i8, I8)
LOAD_TRANSPOSED_BYTES(u8, U8)
LOAD_TRANSPOSED_WORDS(i16, I16)
LOAD_TRANSPOSED_WORDS(u16, U16)
LOAD_TRANSPOSED_HALVES(f16, F16)
LOAD_TRANSPOSED_HALVES(bf16, BF16)

/* In each lane 16 bytes, four of each of four channels: bring those of a pixel together. */
INLINE V by_pixel(V v) {
#if SHUFFLES
    const uint8_t order[16] = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
    return shuffled(v, broadcast(order));
#else
    v = low1(v, high8(v, v));
    return low1(v, high8(v, v));
#endif
}
/* Planes of float32, with a pitch of s bytes, to 16 bytes of each of 16 pixels. */
INLINE void store_block(Dtype type, int steps, int by_products, const uint8_t *src, int64_t s, uint8_t *dst, int64_t d,
                        const HERE(Steps) *a, const HERE(Quotients) *quotients, const Row *row) {
    enum { VECTORS = BLOCK_PIXELS / WIDTH };
    const int each = type <= U8 ? 4 : 2;
    for (int h = 0; h < VECTORS; ++h) {
        V words[4], turned[4];
        for (int r = 0; r < 4; ++r) {
            F v[4];
            for (int k = 0; k < each; ++k) {
                const int c = r * each + k, at = type <= U8 ? 0 : c;
                v[k] = get_f32(src + c * s + h * VB);
                if (steps) v[k] = (v[k] - a->shift[at]) * a->scale[at];
                if (type <= U8) v[k] = quotient(v[k], quotients, by_products);
                if (steps && type <= U8 && !by_products) v[k] = v[k] + every(*row->before);
            }
            words[r] = type <= U8   ? by_pixel(saturated(type == U8, by_products ? CAPPED : ANY, v, (int16_t)*row->after))
                       : type == F16 ? (V)(to_halves(v[0]) | to_halves(v[1]) << 16)
                                     : (V)(to_bf16(v[0]) | to_bf16(v[1]) << 16);
        }
        ROUND(V, VLOW_4, VHIGH_4, words, turned, 4)
        ROUND(V, VLOW_4, VHIGH_4, turned, words, 4)
        for (int r = 0; r < 4; ++r) put_lanes(dst + (h * WIDTH + r) * d, 4 * d, words[r], 0);
    }
}
INLINE void store_channels(Dtype type, int steps, int by_products, Loop pixel, Loop channel, const uint8_t *src, uint8_t *dst, const Row *row) {
    const int size = type <= U8 ? 1 : 2, channels = 16 / size;
    const int64_t stretch = pixel.d == 16 ? pixel.n : NARROW_STRETCH;
    const HERE(Quotients) quotients = quotients_of(row, by_products);
    HERE(Steps) now;
    steps_of(type <= U8 ? 1 : channels, type, 0, 0, row, 0, channel.p, &now);
    for (int64_t from = 0; from < pixel.n; from += stretch) {
        const int64_t to = at_most(pixel.n, from + stretch);
        for (int64_t c = 0; c < channel.n; c += channels) {
            const int64_t first = at_most(c, channel.n - channels);
            if (channel.p) steps_of(channels, type, 0, 0, row, first * channel.p, channel.p, &now);
            for (int64_t i = from; i < to; i += BLOCK_PIXELS) {
                const int64_t at = at_most(i, pixel.n - BLOCK_PIXELS);
                const uint8_t *next = src + first * channel.s + 4 * (at + stretch); /* the same channels of the next stretch */
                for (int k = 0; row->cold && stretch < pixel.n && k < channels; ++k) __builtin_prefetch(next + k * channel.s, 0, 2);
                store_block(type, steps, by_products, src + first * channel.s + 4 * at, channel.s,
                            dst + first * size + at * pixel.d, pixel.d, &now, &quotients, row);
            }
        }
    }
}
#define STORE_TRANSPOSED(name, type, PLAIN)                                                                                 \
    static void HERE(planes_to_##name)(Loop pixel, Loop channel, const uint8_t *src, uint8_t *dst, const Row *row) {        \
        const int plain = PLAIN, products = type <= U8 && by_products(row);                                                 \
        if (products && plain) store_channels(type, 0, type <= U8 && FUSED, pixel, channel, src, dst, row);                 \
        else if (products) store_channels(type, 1, type <= U8 && FUSED, pixel, channel, src, dst, row);                     \
        else if (plain) store_channels(type, 0, 0, pixel, channel, src, dst, row);                                          \
        else store_channels(type, 1, 0, pixel, channel, src, dst, row);                                                     \
    }
STORE_TRANSPOSED(i8, I8, *row->shift == 0 && *row->scale == 1 && *row->before == 0)
STORE_TRANSPOSED(u8, U8, *row->shift == 0 && *row->scale == 1 && *row->before == 0)
STORE_TRANSPOSED(f16, F16, !row->steps)
STORE_TRANSPOSED(bf16, BF16, !row->steps)
