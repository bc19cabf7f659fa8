/* Colour of Y, U and V with 20 fractional bits exactly, in 16-bit elements.
 *
 * The sum s = y * luma + terms has up to 31 bits. Both summands are split at bit 16: the result is
 * ((high + high' + carry) >> 4), saturated, where `carry` is whether low + low' has 17 bits, which one comparison answers:
 * low' > 0xffff - low. The halves of the terms are shared by the pixels of one sample of chroma, those of y by R, G and B. */
#if defined(__SSE2__)
/* A factor of 32 bits: its upper half, and its lower one, signed or unsigned. */
typedef struct {
    W high, low;
} Factor;
INLINE Factor signed_factor(int32_t c) { return (Factor){word((c + 0x8000) >> 16), word(c)}; }
INLINE Factor unsigned_factor(int32_t c) { return (Factor){word(c >> 16), word(c)}; }

typedef struct {
    W high, limit; /* the largest low half of terms without a carry, its top bit flipped */
} Luma;
INLINE Luma luma_of(W y, Factor luma) {
    return (Luma){PLUS(TIMES_LOW(y, luma.high), Y(mulhi_epu16)(y, luma.low)), TIMES_LOW(y, luma.low) ^ word(0x7fff)};
}
INLINE W channel(Luma y, W high, W low) { return Y(srai_epi16)(carried(PLUS(y.high, high), low, y.limit), 4); }

typedef struct {
    W high[3], low[3];
} TermsOf;
typedef struct {
    Factor red_v, green_u, green_v, blue_u;
} Factors;
INLINE Factors factors_of(const Color *c) {
    return (Factors){signed_factor(c->red_v), signed_factor(c->green_u), signed_factor(c->green_v), signed_factor(c->blue_u)};
}
INLINE W upper(W x, Factor c) { return PLUS(TIMES_LOW(x, c.high), Y(mulhi_epi16)(x, c.low)); }
INLINE TermsOf terms_of(W u, W v, Factors c) {
    const W half = word(8), top = word(-0x8000), center = word(128); /* 2**19 is 8 above the point */
    u = Y(sub_epi16)(u, center), v = Y(sub_epi16)(v, center);
    const W green_u = TIMES_LOW(u, c.green_u.low), green_v = TIMES_LOW(v, c.green_v.low);
    const W green = PLUS(PLUS(upper(u, c.green_u), upper(v, c.green_v)), half);
    return (TermsOf){
        {PLUS(upper(v, c.red_v), half), carried(green, green_v ^ top, green_u ^ word(0x7fff)), PLUS(upper(u, c.blue_u), half)},
        {TIMES_LOW(v, c.red_v.low) ^ top, PLUS(green_u, green_v) ^ top, TIMES_LOW(u, c.blue_u.low) ^ top}};
}
INLINE TermsOf terms_at(const uint8_t *u, const uint8_t *v, int64_t i, Factors factors) {
    if (v) return terms_of(words(u + i), words(v + i), factors);
    const W both = (W)whole(u + 2 * i);
    return terms_of(both & word(255), Y(srli_epi16)(both, 8), factors);
}
INLINE void all_terms(const uint8_t *u, const uint8_t *v, const Color *color, int64_t n, const Terms *terms) {
    const Factors factors = factors_of(color);
    const Terms to = *terms; /* stores might change what pointers point to */
    for (int64_t i = 0; i < n; i += HALF) {
        const TermsOf t = terms_at(u, v, i, factors);
        for (int c = 0; c < 3; ++c) put_words(to.high[c] + i, t.high[c]), put_words((int16_t *)to.low[c] + i, t.low[c]);
    }
}
static void HERE(yuv_terms)(const uint8_t *u, const uint8_t *v, const Color *color, int64_t n, const Terms *terms) {
    if (v) all_terms(u, v, color, n, terms);
    else all_terms(u, NULL, color, n, terms);
}

INLINE W words_of_y(const uint8_t *y, W offset) { return Y(subs_epu16)(words(y), offset); }
static void HERE(yuv_luma)(const uint8_t *y, const Color *color, int64_t n, uint8_t *out) {
    const Factor luma = unsigned_factor(color->luma);
    const W offset = word(color->offset), half = word(8);
    for (int64_t i = 0; i < n; i += VB) {
        W x[2];
        for (int k = 0; k < 2; ++k) {
            const W at = words_of_y(y + i + k * HALF, offset);
            x[k] = Y(srai_epi16)(PLUS(PLUS(TIMES_LOW(at, luma.high), Y(mulhi_epu16)(at, luma.low)), half), 4);
        }
        put_some(out + i, in_order(Y(packus_epi16)(x[0], x[1])), n - i);
    }
}
INLINE void colors_once(const uint8_t *y, const uint8_t *u, const uint8_t *v, const Color *color, int64_t n,
                        uint8_t *const rgb[3]) {
    const Factor luma = unsigned_factor(color->luma);
    const Factors factors = factors_of(color);
    const W offset = word(color->offset);
    uint8_t *const out[3] = {rgb[0], rgb[1], rgb[2]};
    for (int64_t i = 0; i < n; i += VB) {
        W x[3][2];
        for (int k = 0; k < 2; ++k) {
            const Luma light = luma_of(words_of_y(y + i + k * HALF, offset), luma);
            const TermsOf t = terms_at(u, v, i + k * HALF, factors);
            for (int c = 0; c < 3; ++c) x[c][k] = channel(light, t.high[c], t.low[c]);
        }
        for (int c = 0; c < 3; ++c) put_some(out[c] + i, in_order(Y(packus_epi16)(x[c][0], x[c][1])), n - i);
    }
}
static void HERE(yuv_color_once)(const uint8_t *y, const uint8_t *u, const uint8_t *v, const Color *color, int64_t n,
                                 uint8_t *const rgb[3]) {
    if (v) colors_once(y, u, v, color, n, rgb);
    else colors_once(y, u, NULL, color, n, rgb);
}
static void HERE(yuv_color)(const uint8_t *y, const Terms *terms, const Color *color, int64_t n, uint8_t *const rgb[3]) {
    const Factor luma = unsigned_factor(color->luma);
    const W offset = word(color->offset);
    const Terms from = *terms;
    uint8_t *const out[3] = {rgb[0], rgb[1], rgb[2]};
    for (int64_t i = 0; i < n; i += VB) {
        const Luma a = luma_of(words_of_y(y + i, offset), luma), b = luma_of(words_of_y(y + i + HALF, offset), luma);
        for (int c = 0; c < 3; ++c) {
            const int16_t *high = from.high[c] + i, *low = (const int16_t *)from.low[c] + i;
            const W x = channel(a, words_at(high), words_at(low)), z = channel(b, words_at(high + HALF), words_at(low + HALF));
            put_some(out[c] + i, in_order(Y(packus_epi16)(x, z)), n - i);
        }
    }
}

/* VB pixels, whose even and odd ones are apart, as the terms that they share are neighbours; n of them are in memory. */
typedef struct {
    Luma even, odd;
} Pixels;
INLINE Pixels pixels_of(const uint8_t *y, int64_t n, W offset, Factor luma) {
    uint8_t room[VB];
    if (n < VB) memcpy(room, y, (size_t)n), memset(room + n, 0, (size_t)(VB - n));
    const W x = Y(subs_epu8)((W)whole(n < VB ? room : y), offset);
    return (Pixels){luma_of(x & word(255), luma), luma_of(Y(srli_epi16)(x, 8), luma)};
}
static void HERE(yuv_color_shared)(const uint8_t *y, const Terms *terms, const Color *color, int64_t n, uint8_t *const rgb[3]) {
    const Factor luma = unsigned_factor(color->luma);
    const W offset = Y(set1_epi8)((char)color->offset);
    const Terms from = *terms;
    uint8_t *const out[3] = {rgb[0], rgb[1], rgb[2]};
    for (int64_t i = 0; i < n; i += VB) {
        const Pixels p = pixels_of(y + i, n - i, offset, luma);
        for (int c = 0; c < 3; ++c) {
            const W high = words_at(from.high[c] + i / 2), low = words_at((const int16_t *)from.low[c] + i / 2);
            const W x = Y(packus_epi16)(channel(p.even, high, low), channel(p.odd, high, low));
            put_some(out[c] + i, interleaved(x), n - i);
        }
    }
}
INLINE void color_means(const uint8_t *const y[2], const uint8_t *u, const uint8_t *v, const Color *color, int64_t n,
                        uint8_t *const rgb[3]) {
    const Factor luma = unsigned_factor(color->luma);
    const Factors factors = factors_of(color);
    const W offset = Y(set1_epi8)((char)color->offset);
    uint8_t *const out[3] = {rgb[0], rgb[1], rgb[2]};
    const uint8_t *const above = y[0], *const below = y[1];
    for (int64_t i = 0; i < n; i += HALF) {
        const TermsOf t = terms_at(u, v, i, factors);
        const Pixels a = pixels_of(above + 2 * i, 2 * (n - i), offset, luma);
        const Pixels b = pixels_of(below + 2 * i, 2 * (n - i), offset, luma);
        for (int c = 0; c < 3; ++c) {
            const W x = Y(packus_epi16)(channel(a.even, t.high[c], t.low[c]), channel(a.odd, t.high[c], t.low[c]));
            const W z = Y(packus_epi16)(channel(b.even, t.high[c], t.low[c]), channel(b.odd, t.high[c], t.low[c]));
            put_half(out[c] + i, mean_of(interleaved(x), interleaved(z)), n - i);
        }
    }
}
static void HERE(yuv_color_mean)(const uint8_t *const y[2], const uint8_t *u, const uint8_t *v, const Color *color, int64_t n,
                                 uint8_t *const rgb[3]) {
    if (v) color_means(y, u, v, color, n, rgb);
    else color_means(y, u, NULL, color, n, rgb);
}
#endif
