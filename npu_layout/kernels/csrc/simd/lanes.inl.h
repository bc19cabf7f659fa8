/* Transposes by lanes of 16 bytes, in tiles of whole lines on one side or on both, which go from end to end of a side's rows. With vectors
 * of 32 bytes, whose halves some processors move one after the other: on Zen 1, beside bands.inl.h and cover.inl.h, 0.6 to 0.95 of the
 * time of 16, 32 and 128 bits from caches, and of 64 bits 0.3 to 0.6; from no cache of 64 and 128 bits 0.5 to 0.95. */
#if VB == 32
/* A square of 16 bytes on both sides. The addresses of four rows stay in registers; of eight they would not. */
INLINE void lane2(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d) { tile2(src, s, dst, d, 0); }
INLINE void lane4(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d) {
    const B1 x[4] = {load16(src), load16(src + s), load16(src + 2 * s), load16(src + 3 * s)};
    const B1 even_low = low4(x[0], x[2]), even_high = high4(x[0], x[2]), odd_low = low4(x[1], x[3]), odd_high = high4(x[1], x[3]);
    store16(dst, low4(even_low, odd_low)), store16(dst + d, high4(even_low, odd_low));
    store16(dst + 2 * d, low4(even_high, odd_high)), store16(dst + 3 * d, high4(even_high, odd_high));
}
INLINE void lane8(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d) {
    const B1 even = load16(src), odd = load16(src + s);
    store16(dst, low8(even, odd)), store16(dst + d, high8(even, odd));
}
INLINE void lane16(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d) {
    (void)s, (void)d;
    store16(dst, load16(src));
}

/* All columns of a lane's rows before the next ones, or all rows of a lane's columns. */
#define BY_ROWS(size, rows, columns)                                              \
    for (int r = 0; r < (rows); r += 16 / size, (void)ADVANCED(src, 16 / size * s)) { \
        uint8_t *to = dst + size * r;                                             \
        for (int c = 0; c < (columns); c += 16 / size, (void)ADVANCED(to, 16 / size * d)) lane##size(src + size * c, s, to, d); \
    }
#define BY_COLUMNS(size, rows, columns)                                           \
    for (int c = 0; c < (columns); c += 16 / size, (void)ADVANCED(dst, 16 / size * d)) { \
        const uint8_t *from = src + size * c;                                     \
        for (int r = 0; r < (rows); r += 16 / size, (void)ADVANCED(from, 16 / size * s)) lane##size(from, s, dst + size * r, d); \
    }
#define LANED(size, rows, columns, BY)                                                                                          \
    INLINE void laned##size##_##rows##x##columns(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int past) {            \
        (void)past;                                                                                                             \
        BY(size, rows, columns)                                                                                                 \
    }                                                                                                                           \
    static __attribute__((noinline)) void HERE(lay##size##_##rows##x##columns)(const Matrix *m, int of_result) {                \
        const Shape shape = {size, rows, columns, 0, 0, 0};                                                                     \
        if (of_result) bands_of_result(laned##size##_##rows##x##columns, &shape, m, 0, 0);                                      \
        else bands_of_source(laned##size##_##rows##x##columns, &shape, m, 0, 0);                                                \
    }
LANED(2, 32, 32, BY_COLUMNS)
LANED(2, 32, 16, BY_ROWS)
LANED(2, 32, 8, BY_ROWS)
LANED(2, 16, 32, BY_COLUMNS)
LANED(2, 8, 32, BY_ROWS)
LANED(4, 16, 8, BY_ROWS)
LANED(4, 16, 4, BY_ROWS)
LANED(4, 8, 16, BY_COLUMNS)
LANED(4, 4, 16, BY_ROWS)
LANED(8, 8, 8, BY_ROWS)
LANED(8, 8, 4, BY_ROWS)
LANED(8, 8, 2, BY_ROWS)
LANED(8, 4, 8, BY_ROWS)
LANED(8, 2, 8, BY_ROWS)
LANED(16, 8, 4, BY_COLUMNS)
LANED(16, 4, 8, BY_ROWS)
LANED(16, 4, 4, BY_ROWS)
LANED(16, 8, 2, BY_ROWS)
LANED(16, 2, 8, BY_ROWS)

/* The time of an element, in hundredths of the best tile's, where bands go along the source's rows and along the result's. Of lanes of
 * one element from no cache: where the source has the longer rows, and where the result does. */
typedef struct {
    void (*lay)(const Matrix *m, int of_result);
    int rows, columns, time[2];
} Laned;
#define LANED_ROW(size, rows, columns, ...) {HERE(lay##size##_##rows##x##columns), rows, columns, {__VA_ARGS__}}
static const Laned HERE(laned)[4][6] = {
    {LANED_ROW(2, 32, 32, 100, 100), LANED_ROW(2, 32, 16, 102, 103), LANED_ROW(2, 32, 8, 103, 110),
     LANED_ROW(2, 16, 32, 105, 102), LANED_ROW(2, 8, 32, 110, 103)},
    {LANED_ROW(4, 16, 8, 100, 106), LANED_ROW(4, 8, 16, 106, 100), LANED_ROW(4, 16, 4, 104, 112), LANED_ROW(4, 4, 16, 112, 104)},
    {LANED_ROW(8, 8, 8, 100, 100), LANED_ROW(8, 8, 4, 105, 108), LANED_ROW(8, 4, 8, 108, 105), LANED_ROW(8, 8, 2, 112, 115),
     LANED_ROW(8, 2, 8, 115, 112)},
    {LANED_ROW(16, 8, 4, 100, 105), LANED_ROW(16, 4, 8, 105, 100), LANED_ROW(16, 4, 4, 106, 106), LANED_ROW(16, 8, 2, 108, 110),
     LANED_ROW(16, 2, 8, 110, 108)},
};

/* Two or three rows of 8 bytes an element to pixels of as many, two columns at a time. */
INLINE void few_rows8(const Matrix *m, int rows) {
    const uint8_t *src = m->src, *const last = src + (rows - 1) * m->sa;
    uint8_t *dst = m->dst;
    int64_t j = 0;
    for (; j + 2 <= m->b; j += 2, dst += 2 * m->db) {
        lane8(src + j * 8, m->sa, dst, m->db);
        if (rows == 3) element(8, last + j * 8, dst + 16), element(8, last + j * 8 + 8, dst + m->db + 16);
    }
    for (int i = 0; j < m->b && i < rows; ++i) element(8, src + i * m->sa + j * 8, dst + i * 8);
}
static __attribute__((noinline)) void HERE(few_rows)(const Matrix *m) {
    if (m->a == 2) few_rows8(m, 2);
    else few_rows8(m, 3);
}

/* Whether bands go along the result's rows. In caches the side with the longer rows is a tile's width of each row at a time, unless these
 * widths share a set of L1: then its rows go from end to end, as long rows do in no cache. Lanes of one element evict nothing that is read
 * again, and from no cache are read from end to end. */
INLINE int lanes_of_result(int size, int64_t from, int64_t to, int away) {
    if (size == 16) return !away && from > to;
    return away ? from <= to : from > to ? !is_near_multiple(from, PAGE) : is_near_multiple(to, PAGE);
}

/* Return whether the matrix was transposed. A tile has as many rows that share sets as there is room for, half as many if they are
 * written; 16 and 32 bits are not transposed so from or to no cache, nor 32 bits to rows that share sets. */
static __attribute__((noinline)) int HERE(transposed_by_lanes)(int size, const Matrix *m, int how) {
    enum { ANY = 64 };
    const int64_t from = magnitude(m->sa), to = magnitude(m->db);
    const int away = (how & (PAST | COLD)) != 0, from_page = is_near_multiple(from, PAGE), to_page = is_near_multiple(to, PAGE);
    const int writes = !(from_page && to_page) && is_near_multiple(to, from > to ? PAGE : PAGE / 2);
    if (size < 2 || (size < 8 && (away || (to_page && is_near_multiple(from, PAGE / 8)))) || (size == 4 && writes) ||
        (size == 16 && (how & PAST || (!away && (in_one_set(m->a, m->sa) > SET_OF_L1 || (from > to && m->a <= 8))))))
        return 0;
    if (size == 8 && (m->a == 2 || m->a == 3) && !away) {
        HERE(few_rows)(m);
        return 1;
    }
    const int of_result = lanes_of_result(size, from, to, away), along = away ? from <= to : of_result;
    const int most_rows = from > to && is_near_multiple(from, PAGE / 2) ? SET_OF_L1 : ANY;
    const int most_columns = !writes ? ANY : size == 2 ? SET_OF_L1 : SET_OF_L1 / 2;
    const Laned *best = NULL;
    int64_t least = INT64_MAX;
    for (const Laned *t = HERE(laned)[size == 16 ? 3 : size / 4]; t->lay; ++t) {
        if (t->rows > at_most(m->a, most_rows) || t->columns > at_most(m->b, most_columns)) continue;
        const int64_t time = ((m->a + t->rows - 1) & -t->rows) * ((m->b + t->columns - 1) & -t->columns) * t->time[along];
        if (time < least) best = t, least = time;
    }
    if (!best) return 0;
    best->lay(m, m->b <= best->columns || (m->a > best->rows && of_result));
    return 1;
}
#else
INLINE int HERE(transposed_by_lanes)(int size, const Matrix *m, int how) {
    (void)size, (void)m, (void)how;
    return 0;
}
#endif
