/* Transposes: choose the tiles that cover a matrix, and a bench if one is needed; everything else is moved element by element. */
/* Small results with rows longer than the source's, in strips: the source is read from end to end, as many rows at a time as a
 * line of the result has elements. Measured: eight to nine tenths of the time of the orders that suit larger results too.
 * SMALL: bytes that stay in L2, of 1 MB where vectors have 64 bytes. */
enum { SMALL = VB == 64 ? 1 << 20 : 3 << 18 };
#define COVER_SMALL(size, strip)                                                                                         \
    OUT_OF_LINE void HERE(cover_small##size)(const uint8_t *src, int64_t sa, int64_t a, uint8_t *dst, \
                                                                  int64_t db, int64_t b, int cold) {                     \
        enum { ROWS = 64 / size, COLUMNS = 16 / size };                                                                  \
        const int aligns = db % 64 == 0 && (uintptr_t)dst % 64 && (uintptr_t)dst % size == 0;                            \
        const int64_t lead = aligns ? (64 - (int64_t)((uintptr_t)dst % 64)) / size : ROWS, last = b - COLUMNS;           \
        const int far = a * b * size >= (cold ? FETCHED_COLD : FETCHED);                                                 \
        for (int64_t i = 0; i < a; i = i ? i + ROWS : lead) {                                                            \
            const int64_t p = i < a - ROWS ? i : a - ROWS;                                                               \
            const uint8_t *from = src + p * sa;                                                                          \
            uint8_t *to = dst + p * size;                                                                                \
            for (int64_t j = 0; j < last; j += COLUMNS) {                                                                \
                if (far) fetch_to_read(from + (ROWS + j / COLUMNS % 4 * ROWS / 4) * sa + j * size, sa, ROWS / 4, 0);     \
                if (far) fetch_to_write(to + 64 + j * db, db, COLUMNS);                                                  \
                strip(from + j * size, sa, to + j * db, db, 0);                                                          \
            }                                                                                                            \
            strip(from + last * size, sa, to + last * db, db, 0);                                                        \
        }                                                                                                                \
    }
#if VB == 64
COVER_SMALL(2, fourfold2)
COVER_SMALL(4, fourfold4)
#else
COVER_SMALL(2, strip2)
COVER_SMALL(4, strip4)
#endif

/* The tiles for elements of 1, 2, 4 and 8 bytes; the first one that fits is used. */
typedef struct {
    void (*cover)(const uint8_t *src, int64_t sa, int64_t a, uint8_t *dst, int64_t db, int64_t b, int how);
    int rows, columns;
} Tiling;
#define TILING(name, rows, columns) {HERE(cover_##name), rows, columns}
#define TILINGS(size)                                                                                 \
    TILING(tile##size, 16 / size, 16 / size), TILING(tile##size##_half_columns, 16 / size, 8 / size),  \
        TILING(tile##size##_half_rows, 8 / size, 16 / size), TILING(tile##size##_quarter, 8 / size, 8 / size)
static const Tiling HERE(tilings)[4][8] = {
#if VB == 64
    {TILING(fourfold1, 64, 16), TILING(twicelong1, 32, 16), TILING(twice1, 16, 16), TILINGS(1)},
    {TILING(fourfold2, 32, 8), TILING(twice2, 16, 8), TILINGS(2)},
    {TILING(square4, 16, 16), TILING(fourfold4, 16, 4), TILING(twice4, 8, 4), TILINGS(4)},
    {TILING(fourfold8, 8, 2), TILING(twice8, 4, 2), TILINGS(8)},
#elif VB == 32
    {TILING(twicelong1, 32, 16), TILING(twice1, 16, 16), TILINGS(1)},
    {TILING(square2, 32, 32), TILING(strip2, 32, 8), TILING(twice2, 16, 8), TILINGS(2)},
    {TILING(square4, 16, 16), TILING(strip4, 16, 4), TILING(twice4, 8, 4), TILINGS(4)},
    {TILING(twice8, 4, 2), TILINGS(8)},
#else
    {TILING(square1, 64, 64), TILINGS(1)},
    {TILING(square2, 32, 32), TILING(strip2, 32, 8), TILINGS(2)},
    {TILING(square4, 16, 16), TILING(strip4, 16, 4), TILINGS(4)},
    {TILINGS(8)},
#endif
};

#define BY_SIZE(size, CALL) \
    switch (size) {         \
        case 1: CALL(1); break;   \
        case 2: CALL(2); break;   \
        case 4: CALL(4); break;   \
        case 8: CALL(8); break;   \
        case 16: CALL(16); break; \
        default: CALL(size);      \
    }

/* In blocks, so that all elements of a cache line of the source are used while it is in the cache. */
static void HERE(move_strided)(const Move *m, const uint8_t *src, uint8_t *dst) {
    const Loop near = m->box.loops[m->box.count - 2], k = m->box.loops[m->box.count - 1];
    const int64_t most = near.n > 1 && llabs(near.s) < llabs(k.s) ? 32 : k.n;
    for (int64_t i = 0; i < k.n; i += most) {
        const int64_t n = k.n - i < most ? k.n - i : most;
        for (int64_t j = 0; j < near.n; ++j) {
            const uint8_t *s = src + i * k.s + j * near.s;
            uint8_t *d = dst + i * k.d + j * near.d;
#define CALL(size) strided(size, s, k.s, d, k.d, n)
            BY_SIZE(m->size, CALL)
#undef CALL
        }
    }
}

/* 4 x 4 elements of 16 bytes: a cache line on both sides. */
INLINE void tile16(const uint8_t *src, int64_t sa, uint8_t *dst, int64_t db) {
    for (int l = 0; l < 4; l += LANES)
        for (int k = 0; k < 4; ++k) put(dst + k * db + l * 16, lanes(src + l * sa + k * 16, sa));
}
INLINE void loose16(const uint8_t *src, int64_t sa, int64_t a, uint8_t *dst, int64_t db, int64_t b) {
    for (int64_t j = 0; j < b; ++j)
        for (int64_t i = 0; i < a; ++i) store16(dst + j * db + i * 16, load16(src + i * sa + j * 16));
}
/* If the pitch of the source is larger than that of the result, its rows are read from end to end, four at a time, as long as
 * that part of the result stays in L1. */
INLINE void transpose16(const uint8_t *src, int64_t sa, int64_t a, uint8_t *dst, int64_t db, int64_t b) {
    const int64_t down = llabs(db), as = a & ~3, bs = b & ~3;
    if (llabs(sa) > down) {
        const int64_t most = down > 4096 ? 4 : down < 256 ? 64 : 16384 / down & ~3;
        for (int64_t j0 = 0; j0 < bs; j0 += most)
            for (int64_t i = 0; i < as; i += 4)
                for (int64_t j = j0; j < j0 + most && j < bs; j += 4)
                    tile16(src + i * sa + j * 16, sa, dst + j * db + i * 16, db);
    } else {
        for (int64_t j = 0; j < bs; j += 4)
            for (int64_t i = 0; i < as; i += 4) tile16(src + i * sa + j * 16, sa, dst + j * db + i * 16, db);
    }
    loose16(src + as * sa, sa, a - as, dst + as * 16, db, bs);
    loose16(src + bs * 16, sa, a, dst + bs * db, db, b - bs);
}

INLINE void loose(int size, const uint8_t *src, int64_t sa, int64_t a, uint8_t *dst, int64_t db, int64_t b) {
    if (a >= b)
        for (int64_t j = 0; j < b; ++j) strided(size, src + j * size, sa, dst + j * db, size, a);
    else
        for (int64_t i = 0; i < a; ++i) strided(size, src + i * sa, size, dst + i * size, db, b);
}

ONE_COPY void HERE(transpose)(int size, const uint8_t *src, int64_t sa, int64_t a, uint8_t *dst, int64_t db, int64_t b,
                            int how) {
    const Tiling *t = HERE(tilings)[size > 4 ? 3 : size / 2];
    if (size == 16) {
        const Loop outer = {a, sa, 16, 0}, inner = {b, 16, db, 0};
        if (how & PAST && HERE(rows_by_lines)(src, dst, outer, inner, 16)) return;
        if (how & PAST && HERE(blocks_to_pixels)(src, dst, outer, inner, 16, 1)) return;
        transpose16(src, sa, a, dst, db, b);
        return;
    }
    if (transposed_narrow(size, src, sa, a, dst, db, b) || transposed_by_bands(size, src, sa, a, dst, db, b, how)) return;
    /* Small tiles are twice as fast for so many rows in so small a number of sets (measured). */
    const int crammed = VB == 64 && size == 4 && db % 1024 == 0 && b >= 192 && a * b * size <= SMALL;
    /* Columns from which on strips pay (measured): with vectors of 64 bytes all that do not fill squares, of a source in the caches:
     * float32 of 10 to 40 columns 0.7 to 0.9 of the time, uint16 0.7 to 0.95 (Zen 5). */
    const int squares = b % (64 / size) == 0 || (how & (COLD | COLD_RESULT)) == COLD;
    const int64_t least = (VB == 64 && squares) || (VB == 32 && size == 2) ? 32 : 16 / size;
    if (!crammed && (size == 2 || size == 4) && llabs(sa) < llabs(db) && a * size >= 64 && b >= least && a * b * size <= SMALL &&
        !(how & PAST && b <= FEW_ROWS)) {
        (size == 2 ? HERE(cover_small2) : HERE(cover_small4))(src, sa, a, dst, db, b, how & COLD);
        return;
    }
    if (crammed) t += 2;
    while (t->cover && (a < t->rows || b < t->columns)) ++t;
    if (t->cover)
        t->cover(src, sa, a, dst, db, b, how);
    else {
#define CALL(size) loose(size, src, sa, a, dst, db, b)
        BY_SIZE(size, CALL)
#undef CALL
    }
}

/* If so many rows begin in one set of L1 that they evict each other, they are moved through a bench in L1: rows of the result
 * as move_transpose says; rows of the source if it is in L2, because data from further away are better read from end to end. */
enum { BENCH = 16384, NEAR = 1 << 20, RUN = 512, CROWD_READ = 24, CROWD_PAST = 64, BENCH_COLUMNS = BENCH / 64 };

/* Rows of the source from i on, and columns from j on, as many as fit on the bench. Past the caches the rows behind them are fetched
 * meanwhile. */
INLINE void transpose_by_bench(int size, int past, const uint8_t *src, Loop a, uint8_t *dst, Loop b, int64_t i, int64_t j) {
    uint8_t bench[BENCH + 64 * 64] __attribute__((aligned(64)));
    const int64_t rows = 64 / size, pitch = BENCH_COLUMNS * size + 64, each = BENCH_COLUMNS / rows;
    const int64_t bs = at_most(b.n - j, rows), as = at_most(a.n - i, BENCH_COLUMNS);
    const uint8_t *from = src + i * a.s + j * size;
    HERE(transpose)(size, from, a.s, as, bench, pitch, bs, 0);
    for (int64_t k = 0; k < bs; ++k) {
        uint8_t *row = dst + (j + k) * b.d + i * size;
        if (past) {
            fetch_to_read(from + (BENCH_COLUMNS + k * each) * a.s, a.s, each, 1);
            copy_past(bench + k * pitch, row, as * size);
        } else
            copy_row(bench + k * pitch, row, as * size);
    }
}

/* Past the caches all columns of some rows, so that the source is read from end to end. */
static void HERE(transpose_to_crowd)(int size, int past, const uint8_t *src, Loop a, uint8_t *dst, Loop b) {
    const int64_t rows = 64 / size;
    if (past) {
        for (int64_t i = 0; i < a.n; i += BENCH_COLUMNS)
            for (int64_t j = 0; j < b.n; j += rows) transpose_by_bench(size, 1, src, a, dst, b, i, j);
    } else {
        for (int64_t j = 0; j < b.n; j += rows)
            for (int64_t i = 0; i < a.n; i += BENCH_COLUMNS) transpose_by_bench(size, 0, src, a, dst, b, i, j);
    }
}

static void HERE(transpose_from_crowd)(int size, int past, const uint8_t *src, Loop a, uint8_t *dst, Loop b) {
    enum { ROWS = BENCH / RUN, PITCH = RUN + 64 };
    uint8_t bench[ROWS * PITCH] __attribute__((aligned(64)));
    const int64_t run = RUN / size;
    for (int64_t i = 0; i < a.n; i += ROWS) {
        const int64_t as = a.n - i < ROWS ? a.n - i : ROWS;
        for (int64_t j = 0; j < b.n; j += run) {
            const int64_t bs = b.n - j < run ? b.n - j : run;
            for (int64_t k = 0; k < as; ++k) copy_row(src + (i + k) * a.s + j * size, bench + k * PITCH, bs * size);
            HERE(transpose)(size, bench, PITCH, as, dst + i * size + j * b.d, b.d, bs, past ? PAST : 0);
        }
    }
}

static void HERE(move_transpose)(const Move *m, const uint8_t *src, uint8_t *dst) {
    const Loop b = m->box.loops[m->box.count - 2], a = m->box.loops[m->box.count - 1];
    const int size = m->size, tiles = size < 16 && b.n >= 16;
    /* Rows of the result always, unless they are stored past the caches; but tiles of 32-byte vectors that store whole lines need
     * the bench only there, where single lines of so many rows take twice as long as runs: of 64 (Zen 3), while those of 16 take two
     * thirds (Zen 1). */
    const int squares = VB == 32 && (size == 2 || size == 4);
    const Matrix whole = {src, a.s, a.n, dst, b.d, b.n};
    if (HERE(transposed_by_lanes)(size, &whole, how_of(m))) return;
    const int64_t crowd = squares && m->past ? CROWD_PAST : squares || (VB > 16 && m->past) ? INT64_MAX : CROWD;
    if (tiles && a.n * size >= 64 && in_one_set(b.n, b.d) >= crowd)
        HERE(transpose_to_crowd)(size, m->past, src, a, dst, b);
    else if (HERE(transposed_by_sets)(size, src, a, dst, b, how_of(m)))
        return;
    else if (tiles && in_one_set(a.n, a.s) >= CROWD_READ && a.n * b.n * size <= NEAR)
        HERE(transpose_from_crowd)(size, m->past, src, a, dst, b);
    else
        HERE(transpose)(size, src, a.s, a.n, dst, b.d, b.n, how_of(m));
}
