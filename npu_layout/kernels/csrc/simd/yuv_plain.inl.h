/* Rows of YUV element by element, as the compiler makes vectors of them: for machines without the instructions of yuv.inl.h and
 * rows_neon.inl.h. */
#if !defined(__SSE2__)
static void HERE(picture_mean)(const uint8_t *a, const uint8_t *b, int64_t n, uint8_t *restrict out) {
    for (int64_t i = 0; i < n; ++i) out[i] = (uint8_t)((a[2 * i] + a[2 * i + 1] + b[2 * i] + b[2 * i + 1] + 2) >> 2);
}
#endif
#if !defined(__SSE2__) && !defined(__aarch64__)
static void HERE(picture_line)(const uint8_t *pairs, const Weights *weights, int64_t n, int16_t *restrict line) {
    const int16_t *restrict w = weights->whole;
    for (int64_t i = 0; i < n; ++i) line[i] = (int16_t)((pairs[2 * i] * w[2 * i] + pairs[2 * i + 1] * w[2 * i + 1]) >> 4);
}
static void HERE(picture_blend)(const int16_t *a, const int16_t *b, int above, int below, int64_t n, uint8_t *restrict out) {
    if (!below) b = a;
    for (int64_t i = 0; i < n; ++i) out[i] = (uint8_t)((((a[i] * above) >> 16) + ((b[i] * below) >> 16) + 2) >> 2);
}
static void HERE(picture_blend_pairs)(const uint8_t *a, const uint8_t *b, const Weights *weights, int above, int below, int64_t n,
                                      uint8_t *restrict out) {
    const int16_t *restrict w = weights->whole;
    if (!below) b = a;
    for (int64_t i = 0; i < n; ++i) {
        const int first = (a[2 * i] * w[2 * i] + a[2 * i + 1] * w[2 * i + 1]) >> 4;
        const int second = (b[2 * i] * w[2 * i] + b[2 * i + 1] * w[2 * i + 1]) >> 4;
        out[i] = (uint8_t)((((first * above) >> 16) + ((second * below) >> 16) + 2) >> 2);
    }
}
INLINE uint8_t clamped_to_byte(int32_t x) { return (uint8_t)(x < 0 ? 0 : x > 255 ? 255 : x); }
INLINE int32_t luma_at(const uint8_t *y, int64_t i, const Color *c) { return (y[i] > c->offset ? y[i] - c->offset : 0) * c->luma; }

static void HERE(yuv_luma)(const uint8_t *y, const Color *color, int64_t n, uint8_t *restrict out) {
    const Color c = *color;
    for (int64_t i = 0; i < n; ++i) out[i] = clamped_to_byte((luma_at(y, i, &c) + (1 << 19)) >> 20);
}

/* The terms are split at bit 16 only to be stored as other levels store them. */
static void HERE(yuv_terms)(const uint8_t *u, const uint8_t *v, const Color *color, int64_t n, const Terms *terms) {
    const Color c = *color;
    const int step = v ? 1 : 2;
    if (!v) v = u + 1;
    for (int channel = 0; channel < 3; ++channel) {
        const int32_t by_u = channel == 0 ? 0 : channel == 1 ? c.green_u : c.blue_u;
        const int32_t by_v = channel == 0 ? c.red_v : channel == 1 ? c.green_v : 0;
        int16_t *restrict high = terms->high[channel];
        uint16_t *restrict low = terms->low[channel];
        for (int64_t i = 0; i < n; ++i) {
            const int32_t sum = (u[step * i] - 128) * by_u + (v[step * i] - 128) * by_v + (1 << 19);
            high[i] = (int16_t)(sum >> 16), low[i] = (uint16_t)((uint32_t)sum ^ 0x8000u);
        }
    }
}
static void HERE(yuv_color_once)(const uint8_t *y, const uint8_t *u, const uint8_t *v, const Color *color, int64_t n,
                                 uint8_t *const rgb[3]) {
    const Color k = *color;
    const int step = v ? 1 : 2;
    if (!v) v = u + 1;
    const int32_t by[3][2] = {{0, k.red_v}, {k.green_u, k.green_v}, {k.blue_u, 0}};
    for (int c = 0; c < 3; ++c) {
        uint8_t *restrict out = rgb[c];
        for (int64_t i = 0; i < n; ++i) {
            const int32_t term = (u[step * i] - 128) * by[c][0] + (v[step * i] - 128) * by[c][1];
            out[i] = clamped_to_byte((luma_at(y, i, &k) + term + (1 << 19)) >> 20);
        }
    }
}
INLINE int32_t term_at(const Terms *terms, int c, int64_t i) { return terms->high[c][i] * 65536 + (terms->low[c][i] ^ 0x8000); }
static void HERE(yuv_color)(const uint8_t *y, const Terms *terms, const Color *color, int64_t n, uint8_t *const rgb[3]) {
    const Color k = *color;
    const Terms t = *terms;
    for (int c = 0; c < 3; ++c) {
        uint8_t *restrict out = rgb[c];
        for (int64_t i = 0; i < n; ++i) out[i] = clamped_to_byte((luma_at(y, i, &k) + term_at(&t, c, i)) >> 20);
    }
}
static void HERE(yuv_color_shared)(const uint8_t *y, const Terms *terms, const Color *color, int64_t n, uint8_t *const rgb[3]) {
    const Color k = *color;
    const Terms t = *terms;
    for (int c = 0; c < 3; ++c) {
        uint8_t *restrict out = rgb[c];
        for (int64_t i = 0; i < n / 2; ++i)
            for (int j = 0; j < 2; ++j) out[2 * i + j] = clamped_to_byte((luma_at(y, 2 * i + j, &k) + term_at(&t, c, i)) >> 20);
        if (n % 2) out[n - 1] = clamped_to_byte((luma_at(y, n - 1, &k) + term_at(&t, c, n / 2)) >> 20);
    }
}
static void HERE(yuv_color_mean)(const uint8_t *const y[2], const uint8_t *u, const uint8_t *v, const Color *color, int64_t n,
                                 uint8_t *const rgb[3]) {
    const Color k = *color;
    const int step = v ? 1 : 2;
    if (!v) v = u + 1;
    const int32_t by[3][2] = {{0, k.red_v}, {k.green_u, k.green_v}, {k.blue_u, 0}};
    for (int c = 0; c < 3; ++c) {
        uint8_t *restrict out = rgb[c];
        for (int64_t i = 0; i < n; ++i) {
            const int32_t term = (u[step * i] - 128) * by[c][0] + (v[step * i] - 128) * by[c][1] + (1 << 19);
            int32_t sum = 2;
            for (int j = 0; j < 4; ++j) sum += clamped_to_byte((luma_at(y[j / 2], 2 * i + j % 2, &k) + term) >> 20);
            out[i] = (uint8_t)(sum >> 2);
        }
    }
}
#endif

static void HERE(flip)(uint8_t *bytes, int64_t n) {
    const uint8_t top_bits[16] = {128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128};
    const V top = broadcast(top_bits);
    int64_t i = 0;
    for (; i + VB <= n; i += VB) put(bytes + i, whole(bytes + i) ^ top);
    for (; i < n; ++i) bytes[i] ^= 0x80;
}
#define PACKED_LOOPS(wide) \
    {HERE(packed_rows##wide), HERE(packed_means##wide), HERE(packed_line##wide), HERE(packed_points##wide), HERE(packed_halves##wide)}
#if SHUFFLES && defined(__SSE2__)
#define PACKED_WINDOWS PACKED_LOOPS()
#else
#define PACKED_WINDOWS {NULL, NULL, NULL, NULL, NULL}
#endif
#if VB == 64
#define PACKED_WIDE PACKED_LOOPS(_wide)
#else
#define PACKED_WIDE {NULL, NULL, NULL, NULL, NULL}
#endif
const PictureLoops HERE(picture_loops) = {
    SHUFFLES,
    HERE(gather), GATHER_WIDE,
    HERE(picture_line), HERE(picture_blend), HERE(picture_blend_pairs), HERE(mean_rows), HERE(picture_mean),
    HERE(yuv_luma), HERE(yuv_terms), HERE(yuv_color_once), HERE(yuv_color), HERE(yuv_color_shared), HERE(yuv_color_mean),
    PACKED_WINDOWS, PACKED_WIDE, PACKED_FAR,
    HERE(box_rows), HERE(box_words), HERE(box_mean),
    HERE(flip),
    HERE(gray_u8), HERE(rows_of_565), HERE(rows_of_mosaic),
    HERE(to_yuv), HERE(join_bytes),
};
