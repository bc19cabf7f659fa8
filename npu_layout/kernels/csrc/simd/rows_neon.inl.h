/* Rows of pictures on NEON: pairs of neighbours, weighted, and colour of Y, U and V with 20 fractional bits exactly, in 32-bit
 * elements. A sum of colour has at most 31 bits, so that its upper half fits 16 bits, and four more bits go in the shift that
 * saturates. */
#if defined(__aarch64__)
/* A weight is 16 * high + low: with H and L the sums by these, the line is H + (L >> 4), all in 16 bits. */
INLINE int16x8x2_t line_at(const uint8_t *pairs, const Weights *weights, int64_t i) {
    const uint8_t *const high = (const uint8_t *)weights->high, *const low = (const uint8_t *)weights->low;
    const uint8x16x2_t p = vld2q_u8(pairs + 2 * i), h = vld2q_u8(high + 2 * i), l = vld2q_u8(low + 2 * i);
#define LINE(part, multiply, add) \
    vreinterpretq_s16_u16(vsraq_n_u16(add(multiply(part(p.val[0]), part(h.val[0])), part(p.val[1]), part(h.val[1])), \
                                      add(multiply(part(p.val[0]), part(l.val[0])), part(p.val[1]), part(l.val[1])), 4))
#define WHOLE(x) (x)
    return (int16x8x2_t){{LINE(vget_low_u8, vmull_u8, vmlal_u8), LINE(WHOLE, vmull_high_u8, vmlal_high_u8)}};
#undef WHOLE
#undef LINE
}
static void HERE(picture_line)(const uint8_t *pairs, const Weights *weights, int64_t n, int16_t *line) {
    for (int64_t i = 0; i < n; i += 16) {
        const int16x8x2_t x = line_at(pairs, weights, i);
        vst1q_s16(line + i, x.val[0]), vst1q_s16(line + i + 8, x.val[1]);
    }
}
/* The doubled product's upper half, halved, is that of the product. */
INLINE int16x8_t blended(int16x8_t a, int16x8_t b, int16_t above, int16_t below, int two) {
    const int16x8_t first = vshrq_n_s16(vqdmulhq_n_s16(a, above), 1);
    return two ? vsraq_n_s16(first, vqdmulhq_n_s16(b, below), 1) : first;
}
INLINE void put_blended(int16x8x2_t a, int16x8x2_t b, int16_t above, int16_t below, int two, int64_t n, uint8_t *out) {
    const uint8x8_t first = vqrshrun_n_s16(blended(a.val[0], b.val[0], above, below, two), 2);
    const uint8x16_t both = vqrshrun_high_n_s16(first, blended(a.val[1], b.val[1], above, below, two), 2);
    if (n >= 16) vst1q_u8(out, both);
    else memcpy(out, &both, (size_t)n);
}
INLINE int16x8x2_t line_of(const int16_t *line) { return (int16x8x2_t){{vld1q_s16(line), vld1q_s16(line + 8)}}; }
INLINE void blend(const int16_t *a, const int16_t *b, int16_t above, int16_t below, int two, int64_t n, uint8_t *out) {
    for (int64_t i = 0; i < n; i += 16) put_blended(line_of(a + i), line_of(b + i), above, below, two, n - i, out + i);
}
static void HERE(picture_blend)(const int16_t *a, const int16_t *b, int above, int below, int64_t n, uint8_t *out) {
    if (below) blend(a, b, (int16_t)above, (int16_t)below, 1, n, out);
    else blend(a, a, (int16_t)above, 0, 0, n, out);
}
INLINE void blend_lines(const uint8_t *a, const uint8_t *b, const Weights *weights, int16_t above, int16_t below, int two, int64_t n,
                        uint8_t *out) {
    const Weights w = *weights;
    for (int64_t i = 0; i < n; i += 16) {
        const int16x8x2_t first = line_at(a, &w, i);
        put_blended(first, two ? line_at(b, &w, i) : first, above, below, two, n - i, out + i);
    }
}
static void HERE(picture_blend_pairs)(const uint8_t *a, const uint8_t *b, const Weights *weights, int above, int below, int64_t n,
                                      uint8_t *out) {
    if (below) blend_lines(a, b, weights, (int16_t)above, (int16_t)below, 1, n, out);
    else blend_lines(a, a, weights, (int16_t)above, 0, 0, n, out);
}

/* What 8 samples of chroma add to R, G and B, with the 2**19. */
typedef struct {
    int32x4_t part[3][2];
} Chroma;
typedef struct {
    uint8x8_t u, v;
} Samples;
typedef struct {
    int32x4_t part[2];
} Lumas;

INLINE Samples samples_at(const uint8_t *u, const uint8_t *v, int64_t i) {
    if (v) return (Samples){vld1_u8(u + i), vld1_u8(v + i)};
    const uint8x8x2_t both = vld2_u8(u + 2 * i);
    return (Samples){both.val[0], both.val[1]};
}
INLINE Chroma chroma_of(Samples s, const Color *c) {
    const uint8x8_t center = vdup_n_u8(128);
    const int16x8_t u = vreinterpretq_s16_u16(vsubl_u8(s.u, center)), v = vreinterpretq_s16_u16(vsubl_u8(s.v, center));
    const int32x4_t us[2] = {vmovl_s16(vget_low_s16(u)), vmovl_high_s16(u)}, vs[2] = {vmovl_s16(vget_low_s16(v)), vmovl_high_s16(v)};
    const int32x4_t half = vdupq_n_s32(1 << 19);
    Chroma t;
    for (int k = 0; k < 2; ++k) {
        t.part[0][k] = vmlaq_n_s32(half, vs[k], c->red_v);
        t.part[1][k] = vmlaq_n_s32(vmlaq_n_s32(half, us[k], c->green_u), vs[k], c->green_v);
        t.part[2][k] = vmlaq_n_s32(half, us[k], c->blue_u);
    }
    return t;
}
INLINE Chroma chroma_at(const Terms *terms, int64_t i) {
    Chroma t;
    for (int c = 0; c < 3; ++c) {
        const int16x8_t high = vld1q_s16(terms->high[c] + i);
        const int16x8_t low = vreinterpretq_s16_u16(veorq_u16(vld1q_u16(terms->low[c] + i), vdupq_n_u16(0x8000)));
        t.part[c][0] = vreinterpretq_s32_s16(vzip1q_s16(low, high)), t.part[c][1] = vreinterpretq_s32_s16(vzip2q_s16(low, high));
    }
    return t;
}
INLINE Lumas lumas_of(uint16x8_t y, int32_t luma) {
    return (Lumas){{vmulq_n_s32(vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(y))), luma),
                    vmulq_n_s32(vreinterpretq_s32_u32(vmovl_high_u16(y)), luma)}};
}
INLINE uint8x8_t channel_of(Lumas y, const int32x4_t term[2]) {
    const int16x4_t low = vshrn_n_s32(vaddq_s32(y.part[0], term[0]), 16);
    return vqshrun_n_s16(vshrn_high_n_s32(low, vaddq_s32(y.part[1], term[1]), 16), 4);
}
/* 16 pixels of a row without room behind it: the even and the odd ones. */
INLINE void even_and_odd(const uint8_t *y, int64_t n, const Color *c, Lumas lumas[2]) {
    uint8_t room[16];
    if (n < 16) memcpy(room, y, (size_t)n), memset(room + n, 0, (size_t)(16 - n));
    const uint16x8_t x = vreinterpretq_u16_u8(vqsubq_u8(vld1q_u8(n < 16 ? room : y), vdupq_n_u8((uint8_t)c->offset)));
    lumas[0] = lumas_of(vandq_u16(x, vdupq_n_u16(255)), c->luma), lumas[1] = lumas_of(vshrq_n_u16(x, 8), c->luma);
}
INLINE void put_bytes8(uint8_t *out, uint8x8_t v, int64_t n) {
    if (n >= 8) vst1_u8(out, v);
    else memcpy(out, &v, (size_t)n);
}
INLINE uint8x8_t luma_bytes(const uint8_t *y, const Color *c) { return vqsub_u8(vld1_u8(y), vdup_n_u8((uint8_t)c->offset)); }

static void HERE(yuv_luma)(const uint8_t *y, const Color *color, int64_t n, uint8_t *out) {
    const Color c = *color;
    const int32x4_t half[2] = {vdupq_n_s32(1 << 19), vdupq_n_s32(1 << 19)};
    for (int64_t i = 0; i < n; i += 8) put_bytes8(out + i, channel_of(lumas_of(vmovl_u8(luma_bytes(y + i, &c)), c.luma), half), n - i);
}
static void HERE(yuv_terms)(const uint8_t *u, const uint8_t *v, const Color *color, int64_t n, const Terms *terms) {
    const Color c = *color;
    const Terms to = *terms;
    for (int64_t i = 0; i < n; i += 8) {
        const Chroma t = chroma_of(samples_at(u, v, i), &c);
        for (int k = 0; k < 3; ++k) {
            const uint16x8_t a = vreinterpretq_u16_s32(t.part[k][0]), b = vreinterpretq_u16_s32(t.part[k][1]);
            vst1q_s16(to.high[k] + i, vreinterpretq_s16_u16(vuzp2q_u16(a, b)));
            vst1q_u16(to.low[k] + i, veorq_u16(vuzp1q_u16(a, b), vdupq_n_u16(0x8000)));
        }
    }
}
static void HERE(yuv_color_once)(const uint8_t *y, const uint8_t *u, const uint8_t *v, const Color *color, int64_t n,
                                 uint8_t *const rgb[3]) {
    const Color c = *color;
    uint8_t *const out[3] = {rgb[0], rgb[1], rgb[2]};
    for (int64_t i = 0; i < n; i += 8) {
        const Lumas light = lumas_of(vmovl_u8(luma_bytes(y + i, &c)), c.luma);
        const Chroma t = chroma_of(samples_at(u, v, i), &c);
        for (int k = 0; k < 3; ++k) put_bytes8(out[k] + i, channel_of(light, t.part[k]), n - i);
    }
}
static void HERE(yuv_color)(const uint8_t *y, const Terms *terms, const Color *color, int64_t n, uint8_t *const rgb[3]) {
    const Color c = *color;
    const Terms from = *terms;
    uint8_t *const out[3] = {rgb[0], rgb[1], rgb[2]};
    for (int64_t i = 0; i < n; i += 8) {
        const Lumas light = lumas_of(vmovl_u8(luma_bytes(y + i, &c)), c.luma);
        const Chroma t = chroma_at(&from, i);
        for (int k = 0; k < 3; ++k) put_bytes8(out[k] + i, channel_of(light, t.part[k]), n - i);
    }
}
static void HERE(yuv_color_shared)(const uint8_t *y, const Terms *terms, const Color *color, int64_t n, uint8_t *const rgb[3]) {
    const Color c = *color;
    const Terms from = *terms;
    uint8_t *const out[3] = {rgb[0], rgb[1], rgb[2]};
    for (int64_t i = 0; i < n; i += 16) {
        Lumas light[2];
        even_and_odd(y + i, n - i, &c, light);
        const Chroma t = chroma_at(&from, i / 2);
        for (int k = 0; k < 3; ++k) {
            const uint8x8_t even = channel_of(light[0], t.part[k]), odd = channel_of(light[1], t.part[k]);
            const uint8x16_t both = vcombine_u8(vzip1_u8(even, odd), vzip2_u8(even, odd));
            if (n - i >= 16) vst1q_u8(out[k] + i, both);
            else memcpy(out[k] + i, &both, (size_t)(n - i));
        }
    }
}
static void HERE(yuv_color_mean)(const uint8_t *const y[2], const uint8_t *u, const uint8_t *v, const Color *color, int64_t n,
                                 uint8_t *const rgb[3]) {
    const Color c = *color;
    uint8_t *const out[3] = {rgb[0], rgb[1], rgb[2]};
    const uint8_t *const above = y[0], *const below = y[1];
    for (int64_t i = 0; i < n; i += 8) {
        Lumas light[4];
        even_and_odd(above + 2 * i, 2 * (n - i), &c, light), even_and_odd(below + 2 * i, 2 * (n - i), &c, light + 2);
        const Chroma t = chroma_of(samples_at(u, v, i), &c);
        for (int k = 0; k < 3; ++k) {
            const uint16x8_t first = vaddl_u8(channel_of(light[0], t.part[k]), channel_of(light[1], t.part[k]));
            const uint16x8_t second = vaddl_u8(channel_of(light[2], t.part[k]), channel_of(light[3], t.part[k]));
            put_bytes8(out[k] + i, vrshrn_n_u16(vaddq_u16(first, second), 2), n - i);
        }
    }
}
#endif
