/* Moves of pixels: to planes, from planes, to other pixels. */
/* Pixels of 2, 3, 4 or 8 neighbouring channels into planes; by way of planes in L1 if not all channels are used, or if
 * the planes are stored past the caches and their lines begin at different pixels. */
static void HERE(move_split)(const Move *m, const uint8_t *src, uint8_t *dst) {
    const Loop channel = m->box.loops[m->box.count - 2], pixel = m->box.loops[m->box.count - 1];
    const int64_t channels = llabs(pixel.s) / m->size;
    const int mirrored = pixel.s < 0, some = channel.n < channels;
    const uint8_t *first = mirrored ? src + (pixel.n - 1) * pixel.s : src;
    int64_t done = 0;
    if (some || (m->past && channel.d % VB)) {
        enum { SOME = 1024 };
        uint8_t planes[8][SOME] __attribute__((aligned(64)));
        /* Whole pixels are read, but unused channels behind the last used one may be outside the memory. */
        const int64_t begin = some && mirrored, end = pixel.n - (some && !mirrored), most = SOME / m->size;
        Move block = *m;
        block.past = 0;
        block.box.loops[m->box.count - 2].n = channels, block.box.loops[m->box.count - 2].d = SOME;
        for (int64_t i = begin, n; i < end; i += n) {
            n = end - i < most ? end - i : most;
            const int64_t at = mirrored ? begin + end - i - n : i;
            block.box.loops[m->box.count - 1].n = n;
            HERE(move_split)(&block, src + at * pixel.s, planes[0]);
            for (int64_t c = 0; c < channel.n; ++c) {
                uint8_t *to = dst + c * channel.d + at * m->size;
                if (m->past) copy_past(planes[c], to, n * m->size);
                else copy_row(planes[c], to, n * m->size);
            }
        }
        const int64_t left = begin ? 0 : end;
        for (int64_t c = 0; some && c < channel.n; ++c)
            memcpy(dst + c * channel.d + left * m->size, src + left * pixel.s + c * channel.s, (size_t)m->size);
        return;
    }
#define CALL(count, size) done = EITHER_WAY(split##count##_##size, first, dst, channel.d, pixel.n, how_of(m))
    CHANNELS(channel.n, m->size, CALL)
#undef CALL
    if (done < pixel.n)
        for (int64_t c = 0; c < channel.n; ++c) {
#define CALL(size) strided(size, src + c * channel.s, pixel.s, dst + c * channel.d, size, pixel.n)
            BY_SIZE(m->size, CALL)
#undef CALL
        }
}

/* Planes into pixels of 2, 3, 4 or 8 neighbouring channels. Many pixels of 8 times 4 bytes are transposed by lanes with vectors of 32 bytes:
 * on Zen 1 0.6 to 0.85 of the time. */
static void HERE(move_merge)(const Move *m, const uint8_t *src, uint8_t *dst) {
    enum { MANY_PIXELS = 4096 };
    const Loop pixel = m->box.loops[m->box.count - 2], channel = m->box.loops[m->box.count - 1];
    const int mirrored = pixel.d < 0, lanes = VB == 32 && channel.n == 8 && m->size == 4 && pixel.n > MANY_PIXELS;
    const Matrix planes = {src, channel.s, channel.n, dst, pixel.d, pixel.n};
    uint8_t *first = mirrored ? dst + (pixel.n - 1) * pixel.d : dst;
    int64_t done = 0;
    if (lanes && !mirrored && !m->past && !m->cold && HERE(transposed_by_lanes)(m->size, &planes, how_of(m))) return;
#define CALL(count, size) done = EITHER_WAY(merge##count##_##size, src, channel.s, first, pixel.n, how_of(m))
    CHANNELS(channel.n, m->size, CALL)
#undef CALL
    if (done < pixel.n)
        for (int64_t c = 0; c < channel.n; ++c) {
#define CALL(size) strided(size, src + c * channel.s, size, dst + c * channel.d, pixel.d, pixel.n)
            BY_SIZE(m->size, CALL)
#undef CALL
        }
}

/* Pixels to pixels. */
static void HERE(move_pixels)(const Move *m, const uint8_t *src, uint8_t *dst) {
    const Loop pixel = m->box.loops[m->box.count - 2], channel = m->box.loops[m->box.count - 1];
    int64_t i = 0;
    /* Without byte shuffles whole pixels are read, and pixels must not overlap. */
    const int64_t step = llabs(pixel.s);
    if (pixel.d == channel.n && step >= (SHUFFLES ? 2 : channel.n) && step <= 8)
        i = pixels(MOVED, pixel, channel, src, dst, NULL, how_of(m));
    for (; i < pixel.n; ++i)
        for (int64_t c = 0; c < channel.n; ++c) dst[i * pixel.d + c] = src[i * pixel.s + c * channel.s];
}
