/* Means of whole boxes of pixels: rows are added up, then the sums of a box are. Plain loops, which every compiler vectorises. */
static void HERE(box_rows)(const uint8_t *row, int64_t n, int first, uint16_t *restrict sums) {
    if (first)
        for (int64_t i = 0; i < n; ++i) sums[i] = row[i];
    else
        for (int64_t i = 0; i < n; ++i) sums[i] = (uint16_t)(sums[i] + row[i]);
}
static void HERE(box_words)(const uint16_t *restrict words, int64_t n, uint16_t *restrict sums) {
    for (int64_t i = 0; i < n; ++i) sums[i] = (uint16_t)(sums[i] + words[i]);
}
/* rint(sum * scale), half to even: what is added leaves no bits for fractions. */
static void HERE(box_mean)(const uint16_t *restrict sums, float scale, int64_t n, uint8_t *restrict out) {
    for (int64_t i = 0; i < n; ++i) {
        const union {
            float value;
            uint32_t bits;
        } rounded = {(float)sums[i] * scale + 12582912.0f};
        out[i] = (uint8_t)rounded.bits;
    }
}
