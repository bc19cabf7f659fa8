/* Transposes of bytes and 16-bit elements with so few columns, or rows, that all of one row of the matrix that is read, or
 * written, are less than 16 bytes; and the tiles for the few rows that larger ones leave. */

/* COUNT = 16 / size rows of each lane become columns, all of them or the first half. */
#define TURN(size, rounds)                                                                                   \
    INLINE void turn##size(V x[16 / size]) {                                                                 \
        enum { COUNT = 16 / size };                                                                          \
        V y[COUNT];                                                                                          \
        for (int k = 0; k < rounds; ++k) {                                                                   \
            ROUND(V, VLOW_##size, VHIGH_##size, x, y, COUNT)                                                 \
            for (int r = 0; r < COUNT; ++r) x[r] = y[r];                                                     \
        }                                                                                                    \
    }                                                                                                        \
    INLINE void turn_half##size(V x[8 / size]) {                                                             \
        enum { COUNT = 8 / size };                                                                           \
        V y[COUNT];                                                                                          \
        for (int k = 0; k < rounds - 1; ++k) {                                                               \
            ROUND(V, VLOW_##size, VHIGH_##size, x, y, COUNT)                                                 \
            for (int r = 0; r < COUNT; ++r) x[r] = y[r];                                                     \
        }                                                                                                    \
    }
TURN(1, 4)
TURN(2, 3)
TURN(4, 2)

#define ROWS_OF_16(lane, count) \
    for (int r = 0; r < count; ++r, to += d) store16(to, LANE(x[r], lane));
#define ROWS_OF_8(lane, count)                       \
    for (int r = 0; r < count; ++r, to += 2 * d) {   \
        store8(to, LANE(x[r], lane), 0);             \
        store8(to + d, LANE(x[r], lane), 1);         \
    }
#if LANES == 4
#define EACH_LANE(DO, count) DO(0, count) DO(1, count) DO(2, count) DO(3, count)
#elif LANES == 2
#define EACH_LANE(DO, count) DO(0, count) DO(1, count)
#else
#define EACH_LANE(DO, count) DO(0, count)
#endif

/* Rows of 16 bytes together, of so many columns as a cache line holds. */
#define FLAT(size)                                                                                            \
    INLINE void flat##size(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int past) {                \
        enum { COUNT = 16 / size };                                                                          \
        uint8_t *to = dst;                                                                                   \
        (void)past;                                                                                          \
        for (int c = 0; c < 64; c += VB) {                                                                   \
            V x[COUNT];                                                                                      \
            for (int r = 0; r < COUNT; ++r) x[r] = whole(src + r * s + c);                                   \
            turn##size(x);                                                                                   \
            EACH_LANE(ROWS_OF_16, COUNT)                                                                     \
        }                                                                                                    \
    }
FLAT(1)
FLAT(2)
FLAT(4)

#define FEW(size)                                                                                            \
    /* 16 bytes are read wherever a row begins, so the last rows, i * sa + 16 > the end, go one by one. sa > 0. */         \
    static __attribute__((noinline)) int HERE(few_columns##size)(const uint8_t *src, int64_t sa, int64_t a, uint8_t *dst, \
                                                                 int64_t db, int64_t b) {                    \
        enum { COUNT = 16 / size, HALF = 8 / size, ROWS = LANES * COUNT };                                   \
        const int64_t safe = a - (16 - b * size + sa - 1) / sa;                                              \
        if (safe < ROWS) return 0;                                                                           \
        for (int64_t i = 0; i < safe; i += ROWS) {                                                           \
            const int64_t at = i < safe - ROWS ? i : safe - ROWS;                                            \
            const uint8_t *from = src + at * sa;                                                             \
            uint8_t *to = dst + at * size;                                                                   \
            V x[COUNT];                                                                                      \
            if (b > HALF) {                                                                                  \
                for (int r = 0; r < COUNT; ++r) x[r] = lanes(from + r * sa, COUNT * sa);                     \
                turn##size(x);                                                                               \
                for (int c = 0; c < COUNT; ++c)                                                              \
                    if (c < b) put(to + c * db, x[c]);                                                       \
            } else {                                                                                         \
                for (int r = 0; r < HALF; ++r)                                                               \
                    x[r] = VLOW_##size(lanes(from + r * sa, COUNT * sa), lanes(from + (r + HALF) * sa, COUNT * sa)); \
                turn_half##size(x);                                                                          \
                for (int c = 0; c < HALF; ++c)                                                               \
                    if (c < b) put(to + c * db, x[c]);                                                       \
            }                                                                                                \
        }                                                                                                    \
        for (int64_t c = 0; c < b; ++c)                                                                      \
            strided(size, src + safe * sa + c * size, sa, dst + c * db + safe * size, size, a - safe);       \
        return 1;                                                                                            \
    }                                                                                                        \
    /* Rows of the result without gaps are written from the first to the last, 8 or 16 bytes each: what is too much the \
     * next ones replace. Behind the last ones there might be no room, so they go one by one. */             \
    static __attribute__((noinline)) int HERE(few_rows##size)(const uint8_t *src, int64_t sa, int64_t a, uint8_t *dst, \
                                                              int64_t b) {                                   \
        enum { COUNT = 16 / size, HALF = 8 / size, COLUMNS = LANES * COUNT };                                \
        const int64_t d = a * size, wide = a > HALF ? 16 : 8, safe = b - (wide - 1) / d;                     \
        if (safe < COLUMNS) return 0;                                                                        \
        for (int64_t j = 0; j < safe; j += COLUMNS) {                                                        \
            const int64_t at = j < safe - COLUMNS ? j : safe - COLUMNS;                                      \
            const uint8_t *from = src + at * size;                                                           \
            uint8_t *to = dst + at * d;                                                                      \
            V x[COUNT];                                                                                      \
            if (a > HALF) {                                                                                  \
                for (int r = 0; r < COUNT; ++r) x[r] = whole(r < a ? from + r * sa : from);                  \
                turn##size(x);                                                                               \
                EACH_LANE(ROWS_OF_16, COUNT)                                                                 \
            } else {                                                                                         \
                for (int r = 0; r < HALF; ++r) x[r] = whole(r < a ? from + r * sa : from);                   \
                turn_half##size(x);                                                                          \
                EACH_LANE(ROWS_OF_8, HALF)                                                                   \
            }                                                                                                \
        }                                                                                                    \
        for (int64_t r = 0; r < a; ++r)                                                                      \
            strided(size, src + r * sa + safe * size, size, dst + r * size + safe * d, d, b - safe);         \
        return 1;                                                                                            \
    }
FEW(1)
FEW(2)

/* Whether that was done; elements of 4 and 8 bytes have tiles that are narrow enough. */
INLINE int transposed_few(int size, const uint8_t *src, int64_t sa, int64_t a, uint8_t *dst, int64_t db, int64_t b) {
    if (b * size < 16 && sa >= b * size)
        return size == 1   ? HERE(few_columns1)(src, sa, a, dst, db, b)
               : size == 2 ? HERE(few_columns2)(src, sa, a, dst, db, b)
                           : 0;
    if (a * size < 16 && db == a * size)
        return size == 1   ? HERE(few_rows1)(src, sa, a, dst, b)
               : size == 2 ? HERE(few_rows2)(src, sa, a, dst, b)
                           : 0;
    return 0;
}
