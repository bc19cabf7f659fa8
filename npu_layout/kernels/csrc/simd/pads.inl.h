/* Pixels with zeros behind them: a small number of channels, padded to the block of a layout. */
/* n pixels of `bytes` neighbouring bytes, with a step of s bytes, each to the first bytes of a block of `block` bytes; the rest
 * of it becomes zeros. Return how many were done: the last ones are left if a vector would be read beyond the end. */
#if SHUFFLES
/* The shuffle of a lane that begins `begun` bytes behind the beginning of a pixel, from 16 bytes that are read `skipped` bytes
 * before the first one that it needs; 128 for a zero. */
INLINE B1 padded_order(int64_t s, int64_t bytes, int64_t block, int64_t begun, int64_t skipped) {
    const B1 at = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const B1 byte = block < 16 ? at & (uint8_t)(block - 1) : at;
    B1 from = byte + (uint8_t)skipped;
    for (int64_t next = block; next < 16; next += block) from += (B1)(at >= (uint8_t)next) & (uint8_t)s;
    return from | ((B1)(byte + (uint8_t)begun >= (uint8_t)bytes) & 0x80);
}

/* Where the pixels of a vector of blocks are in 16 bytes: one load of these for all lanes. The last pixels are written with those
 * before them, out of the last 16 bytes. Return n, or 0: they are not. */
#if VB > 16
INLINE int64_t padded_near(const uint8_t *src, int64_t s, uint8_t *dst, int64_t n, int64_t bytes, int64_t block, int how) {
    const int past = how & PAST, ahead = how & COLD && !past ? CLOSE : 0, shift = __builtin_ctzll((uint64_t)block);
    const int64_t each = block < 16 ? 16 >> shift : 1, reach = (each - 1) * s + (bytes < 16 ? bytes : 16);
    const int64_t step = VB >> shift, end = (n - 1) * s + bytes;
    uint8_t order[VB];
    int64_t i = 0;
    if (block > VB || n < step || end < 16) return 0;
    for (int64_t l = 0; l < LANES; ++l) {
        const int64_t pixel = (16 * l) >> shift, begun = 16 * l - pixel * block, from = begun < bytes ? pixel * s + begun : 0;
        if (from + reach > 16) return 0;
        store16(order + 16 * l, padded_order(s, bytes, block, begun, from));
    }
    const V to = whole(order);
    if (!past && (uintptr_t)dst % VB && (uintptr_t)dst % (uintptr_t)block == 0) { /* from then on stores are aligned */
        put(dst, shuffled(broadcast(src), to));
        i = (VB - (int64_t)((uintptr_t)dst % VB)) >> shift;
    }
    const uint8_t *from = src + i * s, *const last = src + end - 16;
    const int64_t bytes_of_step = step * s;
    uint8_t *at = dst + i * block;
    for (; !past && !ahead && from + 3 * bytes_of_step <= last; i += 4 * step, from += 4 * bytes_of_step, at += 4 * VB)
        for (int k = 0; k < 4; ++k) put(at + k * VB, shuffled(broadcast(from + k * bytes_of_step), to));
    for (; from <= last; i += step, from += bytes_of_step, at += VB) {
        fetch_ahead(ahead, from, 1);
        put_past(at, shuffled(broadcast(from), to), past);
    }
    for (; i < n; i += step) {
        const int64_t pixel = at_most(i, n - step), later = pixel * s - at_most(pixel * s, end - 16);
        put_past(dst + pixel * block, shuffled(broadcast(src + pixel * s - later), to + later * 0x0101010101010101), past);
    }
    return n;
}
#endif
INLINE int64_t padded_lanes(const uint8_t *src, int64_t s, uint8_t *dst, int64_t n, int64_t bytes, int64_t block, int how) {
    const int past = how & PAST, ahead = how & COLD && !past ? CLOSE : 0;
    const int64_t each = block < 16 ? 16 / block : 1, reach = (each - 1) * s + (bytes < 16 ? bytes : 16);
    const int64_t end = (n - 1) * s + bytes;
    int64_t i = 0;
    if (reach > 16) return 0;
#if VB == 64
    uint32_t dwords[16];
    uint8_t order[64];
    int64_t furthest = 0;
    /* One load: each lane receives the dwords that contain its pixels. From no cache loads that overlap take 1.5 times as long as
     * those of lanes, unless the result goes past the caches. */
    for (int64_t l = 0; l < 4; ++l) {
        const int64_t pixel = 16 * l / block, begun = 16 * l - pixel * block, from = begun < bytes ? pixel * s + begun : 0;
        if ((from & 3) + reach > 16) furthest = VB;
        if (from > furthest) furthest = from;
        for (int64_t k = 0; k < 4; ++k) dwords[4 * l + k] = (uint32_t)((from >> 2) + k);
        store16(order + 16 * l, padded_order(s, bytes, block, begun, from & 3));
    }
    if ((furthest & ~3) + 16 <= VB) {
        const V in = whole((const uint8_t *)dwords), to = whole(order);
        for (; !ahead && i * s + VB <= end; i += VB / block)
            put_past(dst + i * block, shuffled(_mm512_permutexvar_epi32(in, whole(src + i * s)), to), past);
    }
#endif
    if (block > 16) return i;
    const B1 first = padded_order(s, bytes, block, 0, 0);
    const V to = broadcast((const uint8_t *)&first);
    const int64_t until = end < 16 ? i : (end - 16) / s - (LANES - 1) * each + 1;
    for (; i < until; i += LANES * each) {
        fetch_ahead(ahead, src + i * s, 1);
        put_past(dst + i * block, shuffled(lanes(src + i * s, each * s), to), past);
    }
    return i;
}
#endif

/* Blocks of up to 8 bytes. */
INLINE int64_t padded_words(const uint8_t *src, int64_t s, uint8_t *dst, int64_t n, int64_t bytes, int64_t block) {
    const uint64_t kept = ~(uint64_t)0 >> (64 - 8 * bytes);
    int64_t i = 0;
#define WORDS(size)                                                   \
    for (; i * s + 8 <= (n - 1) * s + bytes; ++i) {                   \
        uint64_t x;                                                   \
        memcpy(&x, src + i * s, 8);                                   \
        x &= kept;                                                    \
        memcpy(dst + i * block, &x, size);                            \
    }
    if (block == 4) WORDS(4)
    else if (block == 8) WORDS(8)
    return i;
}

/* `width` bytes of a block, VB or 16. */
INLINE void put_piece(int width, uint8_t *to, V v, int past) {
    if (width == VB) put_past(to, v, past);
    else put_lane(to, LANE(v, 0), past);
}
INLINE void copy_piece(int width, const uint8_t *from, uint8_t *to, int past) {
    if (width == VB) put_past(to, whole(from), past);
    else put_lane(to, load16(from), past);
}
INLINE void copy_masked(int width, const uint8_t *from, uint8_t *to, V kept, int past) {
    if (width == VB) put_past(to, (V)(whole(from) & kept), past);
    else put_lane(to, load16(from) & LANE(kept, 0), past);
}
/* Blocks of `count` pieces, of which the first `loads` have bytes of a pixel. Return how many were done: the last ones are left
 * if a piece would be read beyond the end. */
INLINE int64_t padded_blocks_of(int width, int64_t count, int64_t loads, const uint8_t *src, int64_t s, uint8_t *dst, int64_t n,
                                int64_t bytes, int past) {
    const int64_t last = (loads - 1) * width, end = (n - 1) * s + bytes - last - width;
    uint8_t some[VB] = {0};
    for (int k = 0; k < width; ++k) some[k] = last + k < bytes ? 0xFF : 0;
    const V kept = whole(some), none = {0};
    int64_t i = 0;
    for (; i * s <= end; ++i) {
        const uint8_t *from = src + i * s;
        uint8_t *to = dst + i * count * width;
        for (int64_t k = 0; k < loads - 1; ++k) copy_piece(width, from + k * width, to + k * width, past);
        copy_masked(width, from + last, to + last, kept, past);
        for (int64_t k = loads; k < count; ++k) put_piece(width, to + k * width, none, past);
    }
    return i;
}
INLINE int64_t padded_blocks(int width, const uint8_t *src, int64_t s, uint8_t *dst, int64_t n, int64_t bytes, int64_t block,
                             int past) {
    const int64_t count = block / width, loads = (bytes - 1) / width + 1;
    switch (count <= 4 ? 8 * count + loads : 0) {
        case 8 + 1: return padded_blocks_of(width, 1, 1, src, s, dst, n, bytes, past);
        case 16 + 1: return padded_blocks_of(width, 2, 1, src, s, dst, n, bytes, past);
        case 16 + 2: return padded_blocks_of(width, 2, 2, src, s, dst, n, bytes, past);
        case 32 + 1: return padded_blocks_of(width, 4, 1, src, s, dst, n, bytes, past);
        case 32 + 2: return padded_blocks_of(width, 4, 2, src, s, dst, n, bytes, past);
        case 32 + 3: return padded_blocks_of(width, 4, 3, src, s, dst, n, bytes, past);
        case 32 + 4: return padded_blocks_of(width, 4, 4, src, s, dst, n, bytes, past);
        default: return padded_blocks_of(width, count, loads, src, s, dst, n, bytes, past);
    }
}

INLINE void padded_pixel(const uint8_t *src, uint8_t *dst, int64_t bytes, int64_t block) {
    memcpy(dst, src, (size_t)bytes);
    memset(dst + bytes, 0, (size_t)(block - bytes));
}

static void HERE(padded)(const uint8_t *src, int64_t s, uint8_t *dst, int64_t n, int64_t bytes, int64_t block, int how) {
    const int past = how & PAST;
    int64_t i = 0;
    if (past && (uintptr_t)dst % block == 0 && VB % block == 0) /* up to an aligned vector */
        for (; i < n && (uintptr_t)(dst + i * block) % VB; ++i) padded_pixel(src + i * s, dst + i * block, bytes, block);
    if (s >= bytes) {
#if SHUFFLES
#if VB > 16
        if (64 % block == 0) i += padded_near(src + i * s, s, dst + i * block, n - i, bytes, block, how);
        if (i == n) return;
#endif
        if (64 % block == 0) i += padded_lanes(src + i * s, s, dst + i * block, n - i, bytes, block, how);
#endif
        if (block <= 8) i += padded_words(src + i * s, s, dst + i * block, n - i, bytes, block);
        if (block % VB == 0) i += padded_blocks(VB, src + i * s, s, dst + i * block, n - i, bytes, block, past);
#if VB > 16
        if (block % 16 == 0) i += padded_blocks(16, src + i * s, s, dst + i * block, n - i, bytes, block, past);
#endif
    }
    for (; i < n; ++i) padded_pixel(src + i * s, dst + i * block, bytes, block);
}

enum { PIXELS = 8192, BLOCKS = MAX_TILE }; /* bytes of benches */
/* Pixels of planes, without gaps. */
INLINE void pixels_of_planes(const uint8_t *from, int64_t n, Loop pixel, Loop channel, int size, int cold, uint8_t *pixels) {
    const int64_t bytes = channel.n * size;
    const Move dense = {.size = size, .cold = cold, .box = {2, {{n, pixel.s, bytes, 0}, {channel.n, channel.s, size, 0}}, 0, 0, 0}};
    if (size == 1 && channel.s == -1 && channel.n <= 4)
        HERE(move_pixels)(&dense, from, pixels);
    else if (pixel.s == size && size <= 4 && channel.n > 1 && has_channel_loops(channel.n))
        HERE(move_merge)(&dense, from, pixels);
    else if (pixel.s == size && power_of_two(size) && size <= 16)
        HERE(transpose)(size, from, channel.s, channel.n, pixels, bytes, n, 0);
    else
        for (int64_t c = 0; c < channel.n; ++c) {
#define CALL(size) strided(size, from + c * channel.s, pixel.s, pixels + c * size, bytes, n)
            BY_SIZE(size, CALL)
#undef CALL
        }
}
/* The blocks of n pixels, of planes by way of pixels in L1. */
INLINE void blocks_of(const Move *m, const uint8_t *from, int64_t n, uint8_t *to, int past) {
    const Loop pixel = m->box.loops[m->box.count - 2], channel = m->box.loops[m->box.count - 1];
    const int64_t bytes = channel.n * m->size, block = bytes + m->pad;
    if (channel.s == m->size) {
        HERE(padded)(from, pixel.s, to, n, bytes, block, past | (m->cold ? COLD : 0));
        return;
    }
    uint8_t pixels[PIXELS] __attribute__((aligned(64)));
    pixels_of_planes(from, n, pixel, channel, m->size, m->cold, pixels);
    HERE(padded)(pixels, bytes, to, n, bytes, block, past);
}

static void HERE(padded_by_pixels)(const Move *m, const uint8_t *src, uint8_t *dst) {
    const Loop pixel = m->box.loops[m->box.count - 2], channel = m->box.loops[m->box.count - 1];
    const int64_t bytes = channel.n * m->size, block = bytes + m->pad, most = PIXELS / bytes;
    for (int64_t i = 0, n; i < pixel.n; i += n) {
        n = at_most(most, pixel.n - i);
        blocks_of(m, src + i * pixel.s, n, dst + i * block, m->past ? PAST : 0);
    }
}
/* Whole lines past the caches, because arrays begin at any lane of a line. What does not fill a line is written with what follows. */
OUT_OF_LINE void HERE(padded_by_lines)(const Move *m, const uint8_t *src, uint8_t *dst) {
    const Loop pixel = m->box.loops[m->box.count - 2], channel = m->box.loops[m->box.count - 1];
    const int64_t bytes = channel.n * m->size, block = bytes + m->pad, most = at_most(PIXELS / bytes, BLOCKS / block);
    uint8_t bench[BLOCKS + 64] __attribute__((aligned(64)));
    int64_t begun = (int64_t)((uintptr_t)dst % 64), others = begun;
    uint8_t *line = dst - begun;
    for (int64_t i = 0, n; i < pixel.n; i += n) {
        n = at_most(most, pixel.n - i);
        blocks_of(m, src + i * pixel.s, n, bench + begun, 0);
        const int64_t end = begun + n * block;
        int64_t at = 0;
        if (others) {
            at = at_most(end, 64);
            memcpy(line + others, bench + others, (size_t)(at - others));
            others = 0;
        }
        for (; at + 64 <= end; at += 64)
            for (int k = 0; k < 64; k += VB) put_past(line + at + k, whole(bench + at + k), 1);
        begun = end - at, line += at;
        memmove(bench, bench + at, (size_t)begun);
    }
    memcpy(line, bench, (size_t)begun);
}

static void HERE(move_padded)(const Move *m, const uint8_t *src, uint8_t *dst) {
    const Loop pixel = m->box.loops[m->box.count - 2], channel = m->box.loops[m->box.count - 1];
    const int64_t bytes = channel.n * m->size, block = bytes + m->pad;
    const int by_lines = m->past && block % 64 == 0 && block <= BLOCKS;
    if (channel.s == m->size && !(by_lines && (uintptr_t)dst % VB)) {
        HERE(padded)(src, pixel.s, dst, pixel.n, bytes, block, how_of(m));
        return;
    }
    const int64_t all = block / m->size;
    int64_t done = 0;
    if (channel.s != m->size && pixel.s == m->size && m->size <= 4 && (all == 4 || all == 8)) {
#define CALL(count, size) done = merge##count##_##size##_of(channel.n, src, channel.s, dst, pixel.n, how_of(m), 0)
        if (channel.n == 3 && all == 4 && m->size == 1) /* a number that the compiler knows: fewer branches */
            done = merge4_1_of(3, src, channel.s, dst, pixel.n, how_of(m), 0);
        else switch (10 * all + m->size) {
            case 41: CALL(4, 1); break;
            case 42: CALL(4, 2); break;
            case 44: CALL(4, 4); break;
            case 81: CALL(8, 1); break;
            case 82: CALL(8, 2); break;
            case 84: CALL(8, 4); break;
        }
#undef CALL
    }
    if (done == pixel.n) return;
    if (by_lines) HERE(padded_by_lines)(m, src, dst);
    else HERE(padded_by_pixels)(m, src, dst);
}
