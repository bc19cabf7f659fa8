/* Transposes of bytes and 16-bit elements of a matrix whose rows, or those of the result, have less than 16 bytes; and the tiles
 * for the rows that remain after larger ones. */

/* COUNT = 16 / size rows of each lane become columns, all of them or the first half. Arrays have the exact size, because the
 * compiler spills more of larger ones. */
#define TURN(size, rounds)                                      \
    INLINE void turn##size(V x[16 / size]) {                    \
        enum { COUNT = 16 / size };                             \
        V y[COUNT];                                             \
        for (int k = 0; k < rounds; ++k) {                      \
            ROUND(V, VLOW_##size, VHIGH_##size, x, y, COUNT)    \
            for (int r = 0; r < COUNT; ++r) x[r] = y[r];        \
        }                                                       \
    }                                                           \
    INLINE void turn_half##size(V x[8 / size]) {                \
        enum { COUNT = 8 / size };                              \
        V y[COUNT];                                             \
        for (int k = 0; k < rounds - 1; ++k) {                  \
            ROUND(V, VLOW_##size, VHIGH_##size, x, y, COUNT)    \
            for (int r = 0; r < COUNT; ++r) x[r] = y[r];        \
        }                                                       \
    }
TURN(1, 4)
TURN(2, 3)
TURN(4, 2)
INLINE void turn(int size, V *x) {
    if (size == 1) turn1(x);
    else if (size == 2) turn2(x);
    else turn4(x);
}
INLINE void turn_half(int size, V *x) {
    if (size == 1) turn_half1(x);
    else if (size == 2) turn_half2(x);
    else turn_half4(x);
}

/* From each lane of `x`, one lane after the other, store `count` rows of 16 bytes to `to`, with a pitch of d bytes, or twice as
 * many of 8; return the row after them. */
INLINE uint8_t *put_lane_rows16(const V *x, int lane, int count, uint8_t *to, int64_t d) {
    (void)lane;
    for (int r = 0; r < count; ++r, to += d) store16(to, lane_of(x[r], lane));
    return to;
}
INLINE uint8_t *put_lane_rows8(const V *x, int lane, int count, uint8_t *to, int64_t d) {
    (void)lane;
    for (int r = 0; r < count; ++r, to += 2 * d) {
        store8(to, lane_of(x[r], lane), 0);
        store8(to + d, lane_of(x[r], lane), 1);
    }
    return to;
}
INLINE uint8_t *put_rows16(const V *x, int count, uint8_t *to, int64_t d) {
    to = put_lane_rows16(x, 0, count, to, d);
    if (LANES > 1) to = put_lane_rows16(x, 1, count, to, d);
    if (LANES > 2) to = put_lane_rows16(x, 2, count, to, d);
    return LANES > 2 ? put_lane_rows16(x, 3, count, to, d) : to;
}
INLINE uint8_t *put_rows8(const V *x, int count, uint8_t *to, int64_t d) {
    to = put_lane_rows8(x, 0, count, to, d);
    if (LANES > 1) to = put_lane_rows8(x, 1, count, to, d);
    if (LANES > 2) to = put_lane_rows8(x, 2, count, to, d);
    return LANES > 2 ? put_lane_rows8(x, 3, count, to, d) : to;
}

/* A tile of 16 / size rows, with the columns of a cache line. */
INLINE void flat_tile(int size, const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int past) {
    const int count = 16 / size;
    (void)past;
    for (int c = 0; c < 64; c += VB) {
        V x[16];
        for (int r = 0; r < count; ++r) x[r] = whole(src + r * s + c);
        turn(size, x);
        dst = put_rows16(x, count, dst, d);
    }
}

#define FLAT(size)                                                                                                  \
    INLINE void flat##size(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int past) { flat_tile(size, src, s, dst, d, past); }
FLAT(1)
FLAT(2)
FLAT(4)

/* `a` rows of b columns, less than 16 bytes each; false if there are not enough. 16 bytes are read from the beginning of each
 * row, so the last rows, for which i * sa + 16 is beyond the end, are moved one by one. sa > 0. */
INLINE int narrow_columns(int size, const uint8_t *src, int64_t sa, int64_t a, uint8_t *dst, int64_t db, int64_t b) {
    const int count = 16 / size, half = 8 / size, rows = LANES * count;
    const int64_t safe = a - (16 - b * size + sa - 1) / sa;
    if (safe < rows) return 0;
    for (int64_t i = 0; i < safe; i += rows) {
        const int64_t at = i < safe - rows ? i : safe - rows;
        const uint8_t *from = src + at * sa;
        uint8_t *to = dst + at * size;
        V x[16];
        if (b > half) {
            for (int r = 0; r < count; ++r) x[r] = lanes(from + r * sa, count * sa);
            turn(size, x);
            for (int c = 0; c < count; ++c)
                if (c < b) put(to + c * db, x[c]);
        } else {
            for (int r = 0; r < half; ++r)
                x[r] = interleave_low(size, lanes(from + r * sa, count * sa), lanes(from + (r + half) * sa, count * sa));
            turn_half(size, x);
            for (int c = 0; c < half; ++c)
                if (c < b) put(to + c * db, x[c]);
        }
    }
    for (int64_t c = 0; c < b; ++c) strided(size, src + safe * sa + c * size, sa, dst + c * db + safe * size, size, a - safe);
    return 1;
}

/* `a` rows, which are less than 16 bytes in each row of the result, which is contiguous: its rows are written from the first to
 * the last, 8 or 16 bytes each, and the next row overwrites the excess. Behind the last rows there might be no memory, so they are
 * written one by one. */
INLINE int narrow_rows(int size, const uint8_t *src, int64_t sa, int64_t a, uint8_t *dst, int64_t b) {
    const int count = 16 / size, half = 8 / size, columns = LANES * count;
    const int64_t d = a * size, wide = a > half ? 16 : 8, safe = b - (wide - 1) / d;
    if (safe < columns) return 0;
    for (int64_t j = 0; j < safe; j += columns) {
        const int64_t at = j < safe - columns ? j : safe - columns;
        const uint8_t *from = src + at * size;
        uint8_t *to = dst + at * d;
        V x[16];
        if (a > half) {
            for (int r = 0; r < count; ++r) x[r] = whole(r < a ? from + r * sa : from);
            turn(size, x);
            put_rows16(x, count, to, d);
        } else {
            for (int r = 0; r < half; ++r) x[r] = whole(r < a ? from + r * sa : from);
            turn_half(size, x);
            put_rows8(x, half, to, d);
        }
    }
    for (int64_t r = 0; r < a; ++r) strided(size, src + r * sa + safe * size, size, dst + r * size + safe * d, d, b - safe);
    return 1;
}

/* Separate functions: inlined into one they would share its registers. */
#define NARROW(size)                                                                                                     \
    OUT_OF_LINE int HERE(narrow_columns##size)(const uint8_t *src, int64_t sa, int64_t a, uint8_t *dst, \
                                                                    int64_t db, int64_t b) {                             \
        return narrow_columns(size, src, sa, a, dst, db, b);                                                             \
    }                                                                                                                    \
    OUT_OF_LINE int HERE(narrow_rows##size)(const uint8_t *src, int64_t sa, int64_t a, uint8_t *dst, \
                                                                 int64_t b) {                                            \
        return narrow_rows(size, src, sa, a, dst, b);                                                                    \
    }
NARROW(1)
NARROW(2)

/* Return whether the matrix was transposed; elements of 4 and 8 bytes have tiles that are narrow enough. */
INLINE int transposed_narrow(int size, const uint8_t *src, int64_t sa, int64_t a, uint8_t *dst, int64_t db, int64_t b) {
    if (b * size < 16 && sa >= b * size)
        return size == 1   ? HERE(narrow_columns1)(src, sa, a, dst, db, b)
               : size == 2 ? HERE(narrow_columns2)(src, sa, a, dst, db, b)
                           : 0;
    if (a * size < 16 && db == a * size)
        return size == 1   ? HERE(narrow_rows1)(src, sa, a, dst, b)
               : size == 2 ? HERE(narrow_rows2)(src, sa, a, dst, b)
                           : 0;
    return 0;
}
