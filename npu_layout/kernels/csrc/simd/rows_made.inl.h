/* Rows of B, G and R that are made of rows of 16-bit words, or of a mosaic of colors. */
typedef uint8_t Bytes __attribute__((vector_size(VB)));
INLINE Bytes bytes_at(const uint8_t *p) {
    Bytes v;
    memcpy(&v, p, VB);
    return v;
}

/* Means of two and of four, half up; without a wider type: the sum of four is even where the means of pairs round up too often. */
INLINE Bytes mean_of_two(Bytes a, Bytes b) { return (a | b) - (((a ^ b) >> 1) & 0x7f); }
INLINE Bytes mean_of_four(Bytes a, Bytes b, Bytes c, Bytes d) {
    const Bytes p = mean_of_two(a, b), q = mean_of_two(c, d);
    return mean_of_two(p, q) - (((a ^ b) | (c ^ d)) & (p ^ q) & 1);
}

/* The top bits of 5, 6 and 5; the others are zeros, as in OpenCV's conversions of BGR565. */
static void HERE(rows_of_565)(const uint8_t *row, int64_t n, uint8_t *restrict b, uint8_t *restrict g, uint8_t *restrict r) {
    for (int64_t i = 0; i < n; ++i) {
        uint16_t word;
        memcpy(&word, row + 2 * i, 2);
        b[i] = (uint8_t)(word << 3 & 0xf8), g[i] = (uint8_t)(word >> 3 & 0xfc), r[i] = (uint8_t)(word >> 8 & 0xf8);
    }
}

/* A vector of a mosaic's row from x on. `here`: all bits where the row has its own color. */
INLINE void mosaic_at(const uint8_t *const rows[3], int64_t x, Bytes here, uint8_t *const out[3]) {
    const Bytes up = bytes_at(rows[0] + x), down = bytes_at(rows[2] + x), at = bytes_at(rows[1] + x);
    const Bytes left = bytes_at(rows[1] + x - 1), right = bytes_at(rows[1] + x + 1);
    const Bytes along = mean_of_two(left, right), across = mean_of_two(up, down);
    const Bytes corners = mean_of_four(bytes_at(rows[0] + x - 1), bytes_at(rows[0] + x + 1), bytes_at(rows[2] + x - 1),
                                       bytes_at(rows[2] + x + 1));
    const Bytes made[3] = {(at & here) | (along & ~here), (mean_of_four(left, right, up, down) & here) | (at & ~here),
                           (corners & here) | (across & ~here)};
    for (int c = 0; c < 3; ++c) memcpy(out[c] + x, made + c, VB);
}
static void mosaic_one(const uint8_t *const rows[3], int64_t x, int here, uint8_t *const out[3]) {
    const uint8_t *const u = rows[0] + x, *const m = rows[1] + x, *const d = rows[2] + x;
    const uint8_t along = (uint8_t)((m[-1] + m[1] + 1) >> 1), across = (uint8_t)((*u + *d + 1) >> 1);
    out[0][x] = here ? *m : along;
    out[1][x] = here ? (uint8_t)((m[-1] + m[1] + *u + *d + 2) >> 2) : *m;
    out[2][x] = here ? (uint8_t)((u[-1] + u[1] + d[-1] + d[1] + 2) >> 2) : across;
}
/* OpenCV's bilinear interpolation; the first and the last pixel are those beside them. `own`: 1 if the row's own color is at odd
 * pixels. out: the row's own color, green, and that of the rows above and below. */
static void HERE(rows_of_mosaic)(const uint8_t *const rows[3], int own, int64_t n, uint8_t *const out[3]) {
    Bytes even = {0};
    for (int k = 0; k < VB; k += 2) even[k] = 0xff;
    const int64_t last = n - 1;
    int64_t x = 1;
    for (; x + VB <= last; x += VB) mosaic_at(rows, x, (x & 1) == own ? even : ~even, out);
    if (x < last && last > VB) {
        x = last - VB;
        mosaic_at(rows, x, (x & 1) == own ? even : ~even, out);
        x = last;
    }
    for (; x < last; ++x) mosaic_one(rows, x, (x & 1) == own, out);
    for (int c = 0; c < 3; ++c) out[c][0] = out[c][1], out[c][last] = out[c][last - 1];
}
