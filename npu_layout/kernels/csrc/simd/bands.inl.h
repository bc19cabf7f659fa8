/* Transposes in bands: as many short rows as a tile has, from end to end. Pixels of a result are written as they follow each other, and
 * those of a source are read so, while the other side, of long rows, is a tile's width of each row at a time, which L1 contains.
 * With vectors of 32 bytes; on Zen 1, beside the orders of cover.inl.h: through the caches 0.3 to 1 of the time, planes in no cache
 * 0.5 to 0.8. */
#if VB == 32
/* Lines of the next columns of all planes are fetched, each plane's by one of the tiles that read this line; and the lines of the next
 * band of a result without gaps, because a store to a line that is in no cache has to wait for it. */
INLINE void bands_of_result(Tile *tile, const Shape *shape, const Matrix *matrix, int reads, int writes) {
    enum { AHEAD = 192 };
    const Matrix m = *matrix; /* a store of bytes may change what a pointer leads to */
    const int64_t rows = shape->rows, columns = shape->columns, size = shape->size, part = rows * columns * size / 64;
    const int fetches = writes && m.db == m.a * size;
    for (int64_t j = 0; j < m.b; j += columns) {
        const int64_t q = at_most(j, m.b - columns), share = reads ? j / columns % (rows / part) * part : 0;
        const uint8_t *from = m.src + q * size;
        uint8_t *to = m.dst + q * m.db, *next = to + columns * m.db;
        for (int64_t i = 0; i < m.a; i += rows) {
            const int64_t p = at_most(i, m.a - rows);
            if (reads) fetch_to_read(from + (p + share) * m.sa + AHEAD, m.sa, part, 0);
            if (fetches) fetch_to_write(next + p * columns * size, 64, part);
            tile(from + p * m.sa, m.sa, to + p * size, m.db, 0);
        }
    }
}
/* Lines of a later band are fetched, and the next line of each row of the result. */
INLINE void bands_of_source(Tile *tile, const Shape *shape, const Matrix *matrix, int reads, int writes) {
    enum { AHEAD = 4096 };
    const Matrix m = *matrix; /* a store of bytes may change what a pointer leads to */
    const int64_t rows = shape->rows, columns = shape->columns, size = shape->size, part = rows * columns * size / 64;
    const int64_t pitch = rows * magnitude(m.sa), ahead = pitch ? (AHEAD / pitch + 1) * rows * m.sa : 0;
    for (int64_t i = 0; i < m.a; i += rows) {
        const int64_t p = at_most(i, m.a - rows);
        const uint8_t *from = m.src + p * m.sa;
        uint8_t *to = m.dst + p * size;
        for (int64_t j = 0; j < m.b; j += columns) {
            const int64_t q = at_most(j, m.b - columns), share = reads ? j / columns % (rows / part) * part : 0;
            if (reads) fetch_to_read(from + ahead + share * m.sa + q * size, m.sa, part, 0);
            if (writes && i * size % 64 == 0) fetch_to_write(to + 64 + q * m.db, m.db, columns);
            tile(from + q * size, m.sa, to + q * m.db, m.db, 0);
        }
    }
}
/* A fetch costs a tenth where nothing has to be waited for. */
#define BANDS(tile, rows, columns, size)                                                                              \
    OUT_OF_LINE void HERE(bands_##tile)(const Matrix *m, int of_result, int reads, int writes) { \
        const Shape shape = {size, rows, columns, 0, 0, 0};                                                              \
        if (of_result && (reads || writes)) bands_of_result(tile, &shape, m, reads, writes);                          \
        else if (of_result) bands_of_result(tile, &shape, m, 0, 0);                                                   \
        else if (reads || writes) bands_of_source(tile, &shape, m, reads, writes);                                    \
        else bands_of_source(tile, &shape, m, 0, 0);                                                                  \
    }
BANDS(twice1, 16, 16, 1)
BANDS(twice2, 16, 8, 2)
BANDS(twice4, 8, 4, 4)

/* Return whether the matrix was transposed. Past the caches bands of a result are stored through them, with lines that were fetched,
 * which takes 0.6 to 0.8 of the time. Bands of a source write parts of lines: not past the caches, nor to a result that L2 does not
 * contain if the source is in a cache (1.1 to 1.2 times as long). */
INLINE int transposed_by_bands(int size, const uint8_t *src, int64_t sa, int64_t a, uint8_t *dst, int64_t db, int64_t b, int how) {
    enum { MOST = 1 << 20 };
    const int away = how & (PAST | COLD);
    if (size > 4 || a < (size == 4 ? 8 : 16) || b < 16 / size || !goes_by_bands(sa, db, size, how)) return 0;
    const int of_result = magnitude(sa) > magnitude(db);
    if (!of_result && (how & PAST || (!away && a * b * size > MOST))) return 0;
    const Matrix m = {src, sa, a, dst, db, b};
    (size == 1   ? HERE(bands_twice1)
     : size == 2 ? HERE(bands_twice2)
                 : HERE(bands_twice4))(&m, of_result, away != 0, (how & (PAST | COLD_RESULT)) != 0);
    return 1;
}

/* Return whether the matrix was transposed: planes from no cache, of which all lines would be in one set of L1, SET_OF_L1 at a time.
 * The processor foresees so many runs; what was fetched would evict what is read (1.1 to 1.2 times as long). On Zen 1, beside a
 * bench: 16 and 32 bits 0.5 to 0.75 of the time, bytes 0.7 to 1. */
OUT_OF_LINE int HERE(transposed_by_sets)(int size, const uint8_t *src, Loop a, uint8_t *dst, Loop b, int how) {
    const Shape shape = {size, SET_OF_L1, size == 4 ? 4 : 16 / size, 0, 0, 0};
    const Matrix m = {src, a.s, a.n, dst, b.d, b.n};
    if (how & PAST || !(how & COLD) || a.n < shape.rows || b.n < shape.columns || !goes_by_sets(a.s, b.d, size)) return 0;
    if (size == 1) bands_of_source(tile1_half_rows, &shape, &m, 0, 0);
    else if (size == 2) bands_of_source(tile2, &shape, &m, 0, 0);
    else bands_of_source(twice4, &shape, &m, 0, 0);
    return 1;
}
#else
INLINE int HERE(transposed_by_sets)(int size, const uint8_t *src, Loop a, uint8_t *dst, Loop b, int how) {
    (void)size, (void)src, (void)a, (void)dst, (void)b, (void)how;
    return 0;
}
INLINE int transposed_by_bands(int size, const uint8_t *src, int64_t sa, int64_t a, uint8_t *dst, int64_t db, int64_t b, int how) {
    (void)size, (void)src, (void)sa, (void)a, (void)dst, (void)db, (void)b, (void)how;
    return 0;
}
#endif
