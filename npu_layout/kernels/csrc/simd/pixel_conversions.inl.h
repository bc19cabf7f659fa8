/* Pixels of bytes to pixels of bytes, converted in 16 bits. */
/* The last pixels through a buffer, if there are enough. */
typedef int64_t Pixels(Loop pixel, Loop channel, const uint8_t *src, uint8_t *dst, const Row *row);
INLINE void convert_pixels(Pixels *convert, Loop pixel, Loop channel, const uint8_t *src, uint8_t *dst, const Row *row) {
    enum { ROOM = 96, MOST = ROOM / 2 };
    const int64_t lowest = channel.s < 0 ? channel.s * (channel.n - 1) : 0, step = llabs(pixel.s);
    for (int64_t i = convert(pixel, channel, src, dst, row), n; i < pixel.n; i += n) {
        uint8_t from[8 * ROOM] = {0}, to[4 * ROOM];
        n = pixel.n - i < MOST ? pixel.n - i : MOST;
        const int64_t first = pixel.s < 0 ? n - 1 : 0, at = pixel.s < 0 ? ROOM - n : 0; /* lowest in memory; in the buffer */
        memcpy(from + at * step, src + (i + first) * pixel.s + lowest, (size_t)((n - 1) * step + channel.n));
        convert((Loop){ROOM, pixel.s, pixel.d, 0}, channel, from + (at + first) * step - lowest, to, row);
        memcpy(dst + i * pixel.d, to, (size_t)(n * pixel.d));
    }
}
#define CONVERT_PIXELS(from, to, from_u8, to_u8)                                                                             \
    OUT_OF_LINE int64_t HERE(whole_pixels_##from##_to_##to)(Loop pixel, Loop channel, const uint8_t *src, \
                                                                                 uint8_t *dst, const Row *row) {             \
        return pixels(from_u8 + 2 * to_u8, pixel, channel, src, dst, row, 0);                                                \
    }                                                                                                                        \
    static void HERE(pixels_##from##_to_##to)(Loop pixel, Loop channel, const uint8_t *src, uint8_t *dst, const Row *row) {  \
        convert_pixels(HERE(whole_pixels_##from##_to_##to), pixel, channel, src, dst, row);                                  \
    }
CONVERT_PIXELS(i8, i8, 0, 0)
CONVERT_PIXELS(i8, u8, 0, 1)
CONVERT_PIXELS(u8, i8, 1, 0)
CONVERT_PIXELS(u8, u8, 1, 1)
