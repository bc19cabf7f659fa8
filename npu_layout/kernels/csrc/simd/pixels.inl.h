/* Pixels of up to 8 bytes to pixels of 2 to 4 bytes with channels in another order or number, converted or unchanged. */
/* `kind`: MOVED, or converted in 16 bits from int8 or uint8 (1) to int8 or uint8 (2); n pixels; return how many were done.
 * Mirrored pixels (pixel.s < 0) are read up to their highest channel, others from their lowest one on. */
enum { MOVED = -1, SOME_PIXELS = 64 };
#if SHUFFLES
/* One shuffle for each 16 bytes, which are read from `start` on. */
INLINE int64_t pixels(int kind, Loop pixel, Loop channel, const uint8_t *src, uint8_t *dst, const Row *row, int how) {
    const int64_t lowest = channel.s < 0 ? channel.s * (channel.n - 1) : 0, step = llabs(pixel.s);
    const int64_t longest = step > pixel.d ? step : pixel.d, each = 16 / longest;
    const int64_t start = pixel.s < 0 ? lowest + channel.n - 16 : lowest;
    (void)how;
    uint8_t order[16], at[16]; /* indices for the pixels that are complete in a lane; for all pixels */
    uint16_t factors[16] = {0};
    int16_t summands[16] = {0};
    for (int64_t k = 0, p = 0; k < 16; ++p)
        for (int64_t c = 0; c < pixel.d && k < 16; ++c, ++k) {
            at[k] = (uint8_t)(p * pixel.s + c * channel.s - start);
            order[k] = p < each ? at[k] : 0x80;
            if (kind != MOVED) factors[k] = row->factor[c * channel.p], summands[k] = row->summand[c * channel.p];
        }
    const V to = broadcast(order);
    const V times[2] = {broadcast((const uint8_t *)factors), broadcast((const uint8_t *)(factors + 8))};
    const V plus[2] = {broadcast((const uint8_t *)summands), broadcast((const uint8_t *)(summands + 8))};
    int64_t i = 0;
    /* Bytes behind the pixels are read too, and written, and overwritten by the next store; so the loop stops early. */
#if VB == 64
    if (pixel.s >= 2 && pixel.s <= 4) { /* 4 pixels in each lane: as many dwords as a pixel has bytes. It is slower on AVX2. */
        uint32_t spread[16], close[16];
        for (int64_t k = 0; k < 16; ++k) {
            spread[k] = (uint32_t)(k / 4 * pixel.s + k % 4) % 16;
            close[k] = (uint32_t)(k / pixel.d * 4 + k % pixel.d) % 16;
        }
        const V in = whole((const uint8_t *)spread), out = whole((const uint8_t *)close), four = broadcast(at);
        const int64_t end = pixel.n - 1 - VB / (pixel.s < pixel.d ? pixel.s : pixel.d);
#define SIXTEEN(i)                                                                                           \
    ({                                                                                                       \
        const V v_ = shuffled(_mm512_permutexvar_epi32(in, whole(src + (i)*pixel.s + start)), four);         \
        kind == MOVED ? v_ : in_16_bits(kind & 1, kind >> 1, v_, times, plus, row->bits);                    \
    })
        if (how & PAST && pixel.d == 3 && 2 * SOME_PIXELS <= end) { /* whole lines; through the caches they take longer */
            const int64_t lead = lead_of_thirds(dst, 1);
            const int reach = reach_of_lines(pixel.n * pixel.s, how);
            V join[3];
            uint32_t from[3][16];
            for (int64_t k = 0; k < 48; ++k) from[k / 16][k % 16] = close[k % 12] + 16 * (uint32_t)(k / 12 - k / 16);
            for (int r = 0; r < 3; ++r) join[r] = whole((const uint8_t *)from[r]);
            for (; i < lead; i += 16) put(dst + 3 * i, _mm512_permutexvar_epi32(out, SIXTEEN(i)));
            for (i = lead; i + SOME_PIXELS - 16 <= end; i += SOME_PIXELS) {
                fetch_ahead(reach, src + i * pixel.s, (int)(SOME_PIXELS * pixel.s));
                const V x[4] = {SIXTEEN(i), SIXTEEN(i + 16), SIXTEEN(i + 32), SIXTEEN(i + 48)};
                for (int r = 0; r < 3; ++r) put_past(dst + 3 * i + VB * r, _mm512_permutex2var_epi32(x[r], join[r], x[r + 1]), 1);
            }
        }
        for (; how & COLD && i <= end; i += 16) {
            fetch_ahead(CLOSE, src + i * pixel.s, 1);
            put(dst + i * pixel.d, _mm512_permutexvar_epi32(out, SIXTEEN(i)));
        }
        for (; i <= end; i += 16) put(dst + i * pixel.d, _mm512_permutexvar_epi32(out, SIXTEEN(i)));
#undef SIXTEEN
    }
#endif
    const int64_t last = pixel.n - each - 6;
    for (; i + (LANES - 1) * each <= last; i += LANES * each) {
        V v = shuffled(lanes(src + i * pixel.s + start, each * pixel.s), to);
        if (kind != MOVED) v = in_16_bits(kind & 1, kind >> 1, v, times, plus, row->bits);
        put_lanes(dst + i * pixel.d, each * pixel.d, v, 0);
    }
    return i;
}
#else
/* Channels in the same order: as rows, with the parameters written out for some pixels. */
INLINE int64_t same_pixels(int kind, Loop pixel, Loop channel, const uint8_t *src, uint8_t *dst, const Row *row) {
    enum { SOME = 768 }; /* whole pixels */
    uint16_t factors[SOME];
    int16_t summands[SOME];
    for (int64_t k = 0; k < SOME; ++k) {
        factors[k] = row->factor[k % channel.n * channel.p];
        summands[k] = row->summand[k % channel.n * channel.p];
    }
    const Row here = {.factor = factors, .summand = summands, .bits = row->bits};
    const int64_t bytes = pixel.n * pixel.s;
    int64_t i = 0;
    for (; bytes - i >= VB; i += SOME)
        fixed_bytes(kind & 1, kind >> 1, 1, src + i, dst + i, bytes - i < SOME ? bytes - i : SOME, &here);
    return (i < bytes ? i : bytes) / pixel.s;
}

/* Channels in another order: through planes in L1. Functions, because each kind calls them for so many pixels. */
enum { PLANE = 1024 };
OUT_OF_LINE int64_t HERE(planes_of_pixels)(int64_t channels, const uint8_t *first, uint8_t *planes, int64_t n,
                                                                int mirrored) {
    switch (channels) {
        case 2: return EITHER_WAY(split2_1, first, planes, PLANE, n, 0);
        case 3: return EITHER_WAY(split3_1, first, planes, PLANE, n, 0);
        case 4: return EITHER_WAY(split4_1, first, planes, PLANE, n, 0);
        case 8: return EITHER_WAY(split8_1, first, planes, PLANE, n, 0);
        default: return 0;
    }
}
OUT_OF_LINE void HERE(pixels_of_planes)(int64_t channels, const uint8_t *planes, int64_t step, uint8_t *dst, int64_t n) {
    switch (channels) {
        case 2: merge2_1(planes, step, dst, n, 0, 0); break;
        case 3: merge3_1(planes, step, dst, n, 0, 0); break;
        case 4: merge4_1(planes, step, dst, n, 0, 0); break;
    }
}
INLINE int64_t pixels(int kind, Loop pixel, Loop channel, const uint8_t *src, uint8_t *dst, const Row *row, int how) {
    enum { LEAST_PIXELS = 16, MANY = 4096 };
    uint8_t planes[8][PLANE] __attribute__((aligned(64))), converted[8][PLANE] __attribute__((aligned(64)));
    const int mirrored = pixel.s < 0;
    (void)how;
    const int64_t lowest = channel.s < 0 ? channel.s * (channel.n - 1) : 0, from = llabs(pixel.s);
    const int64_t start = mirrored ? lowest + channel.n - from : lowest;
    const int64_t n = pixel.n - (from > channel.n); /* whole pixels are read */
    int64_t i = 0;
    if (kind != MOVED && channel.s == 1 && pixel.s == pixel.d && n >= MANY) return same_pixels(kind, pixel, channel, src, dst, row);
    while (n - i >= LEAST_PIXELS) {
        const int64_t some = n - i < PLANE ? n - i : PLANE;
        const uint8_t *first = src + (mirrored ? i + some - 1 : i) * pixel.s + start;
        if (!HERE(planes_of_pixels)(from, first, planes[0], some, mirrored)) break;
        for (int64_t c = 0; kind != MOVED && c < channel.n; ++c) {
            const Row here = {.factor = row->factor + c * channel.p, .summand = row->summand + c * channel.p, .bits = row->bits};
            fixed_bytes(kind & 1, kind >> 1, 0, planes[c * channel.s - start], converted[c], some, &here);
        }
        const uint8_t *plane = kind == MOVED ? planes[-start] : converted[0];
        const int64_t step = kind == MOVED ? channel.s * PLANE : PLANE;
        HERE(pixels_of_planes)(channel.n, plane, step, dst + i * pixel.d, some);
        i += some;
    }
    return i;
}
#endif
