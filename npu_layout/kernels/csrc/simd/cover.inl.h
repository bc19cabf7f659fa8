/* The order in which tiles cover the matrix of a transpose. */
/* Where the tiles of an axis begin: from `at` on, every `step` elements, but at `lead` in any case; one that does not fit
 * before n begins earlier. s, d: bytes of one element, in the source and in dst. */
typedef struct {
    int64_t at, end, step, n, lead, s, d;
} Steps;
INLINE int64_t onward(const Steps *k, int64_t at, int64_t by) {
    return at < k->lead && at + by > k->lead ? k->lead : at + by;
}
INLINE int64_t place(const Steps *k, int64_t at) { return at < k->n - k->step ? at : k->n - k->step; }

/* One row of tiles, at least one. AHEAD: bytes from what is read to what is asked for, of so many rows. */
enum { AHEAD = 256 };
INLINE void lay_row(Tile *tile, int size, const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, const Steps *along, int64_t l0,
                    int64_t l1, int ahead, int past) {
    const int64_t step = along->step, last = along->n - step, from_step = step * along->s, to_step = step * along->d;
    const uint8_t *from = src + place(along, l0) * along->s;
    uint8_t *to = dst + place(along, l0) * along->d;
    for (int64_t l = l0;;) {
        for (int64_t r = 0; past && r < ahead; ++r) __builtin_prefetch(from + r * s + AHEAD, 0, 2);
        tile(size, from, s, to, d, past);
        const int64_t before = l;
        l += step, from += from_step, to += to_step;
        if (__builtin_expect(before < along->lead, 0)) {
            l = onward(along, before, step);
            from = src + l * along->s, to = dst + l * along->d;
        }
        if (l >= l1) break;
        if (__builtin_expect(l > last, 0)) from += (last - l) * along->s, to += (last - l) * along->d;
    }
}

/* Cover a x b elements by tiles of `rows` x `columns`, in strips of one cache line: along the destination's rows, which
 * reads few rows of the source from end to end, or along the source's rows. Measured: the first way suits short rows of
 * the source, unless wide elements then write to too many rows at a time, and large results with short rows. An access
 * that crosses from one cache line to the next costs twice, so tiles begin at lines of both sides where rows allow it.
 * BLOCK: bytes of the source that stay in L2 while all of its columns are read. WIDE: bytes of a row of the result from
 * which on few rows share a page, and the walk along them is given up. FEW_ROWS: of the result, that can be written to at
 * a time wherever they lie. LINES: of each row of the result, one after the other, where rows share sets of the cache. */
enum { LARGE = 1 << 21, BLOCK = 1 << 18, WIDE = 2048, COLUMNS = 128, FEW_ROWS = 32, LINES = 4 };
INLINE void cover(Tile *tile, Joint *joint, Tile *narrow, Tile *flat, int rows, int columns, int least, int size,
                  const uint8_t *src, int64_t sa, int64_t a, uint8_t *dst, int64_t db, int64_t b, int past) {
    const int fills_lines = rows * size == 64, reads_lines = columns * size == 64;
    const int64_t across = sa < 0 ? -sa : sa, down = db < 0 ? -db : db;
    int64_t lead = 0, skip = 0;
    if (reads_lines && sa % 64 == 0 && (uintptr_t)src % size == 0 && b >= 4 * columns)
        skip = (int64_t)(-(uintptr_t)src % 64) / size;
    /* Few columns that are left are done by narrow tiles, where that saves a sixteenth or more. */
    const int64_t left = (b - skip) % columns, rest = narrow && left <= 2 * least && b < 16 * columns ? left : 0;
    const int64_t whole_columns = b - rest;
    /* Rows of the result without gaps: the line in which one begins holds the end of the one before. */
    const int gapless = joint && db == a * size && !rest;
    /* Of stores of 16 bytes so few cross a line that to begin with lines does not pay. */
    if (VB > 16 && db % 64 == 0 && (uintptr_t)dst % 64 && (uintptr_t)dst % size == 0 && (gapless || a > 128 / size))
        lead = (64 - (int64_t)((uintptr_t)dst % 64)) / size;
    const int joins = gapless && lead;
    /* And few rows by flat ones. */
    const int64_t below = (a - lead) % rows, under = flat && !joins && below <= 2 * least && a < 16 * rows ? below : 0;
    const int64_t whole_rows = a - under;
    const int64_t early = rows - lead; /* elements of the row before */
    const int large = a * b * size > LARGE;
    const int aligned = db % 64 == 0 && (lead || (uintptr_t)dst % 64 == 0);
    /* Short rows that go past the caches want whole ones at a time, from lines of the source that were asked for before. */
    const int whole = past && across >= down && fills_lines && reads_lines && aligned && a % rows == 0 && (joins || !lead);
    const int by_destination = across < down ? size < 4 || ((reads_lines || b <= FEW_ROWS) && !large)
                                             : !whole && (large || (fills_lines && down % 1024 == 0));
    const int64_t step = by_destination ? rows * size : columns * size;
    const int64_t strip = step < 64 ? 64 / step : by_destination && across < down && down % 512 == 0 ? LINES : 1;
    const int lines = whole || (past && across < down && aligned && a * size >= 2048);
    const int64_t line = lines && !by_destination && rows * size < 64 ? 64 / (rows * size) : 1;
    /* Rows that share lines, or sets of the cache, are finished before their lines leave L2. */
    const int crowded = down >= WIDE && (across >= down || (down % 1024 == 0 && b > FEW_ROWS));
    const int shared = across >= down && fills_lines && (down % 64 || down % 1024 == 0);
    const Steps over_rows = {joins ? lead : 0, joins ? a - early : whole_rows, rows, whole_rows, lead, sa, size};
    const Steps over_columns = {0, whole_columns, columns, whole_columns, skip, size, db};
    const Steps over_rest = {whole_columns, b, least, b, 0, size, db}, over_all = {0, b, columns, b, 0, size, db};
    const Steps over_under = {whole_rows, a, least, a, 0, sa, size};
    const Steps by = by_destination ? over_rows : over_columns, along = by_destination ? over_columns : over_rows;
    const int64_t block = !by_destination ? !across || across * rows * 4 > BLOCK ? along.n : BLOCK / across / rows * rows
                          : crowded       ? columns
                          : shared        ? COLUMNS
                                          : along.n;
    past = past && lines;
    for (int64_t i = 0; joins && i < b; i = onward(&over_columns, i, columns)) {
        const int64_t q = place(&over_columns, i);
        const uint8_t *from = src + q * size;
        uint8_t *to = dst + q * db;
        if (q)
            joint(size, from - size + (a - early) * sa, from - early * sa, (int)early, sa, to - early * size, db, past);
        else
            tile(size, from, sa, to, db, 0);
        if (!q || q == b - columns) tile(size, from + (a - rows) * sa, sa, to + (a - rows) * size, db, 0);
    }
    const int ahead = whole ? rows : 0;
    const int turned = strip > 1 && line == 1; /* the tiles of a strip lie next to each other in time */
    const Steps outer = turned ? along : by, row = turned ? by : along;
    for (int64_t b0 = along.at, b1; b0 < along.end; b0 = b1) {
        b1 = onward(&along, b0, block);
        if (b1 > along.end) b1 = along.end;
        for (int64_t k0 = by.at, k1; k0 < by.end; k0 = k1) {
            k1 = strip == 1 ? by.end : onward(&by, k0, strip * by.step);
            if (k1 > by.end) k1 = by.end;
            for (int64_t l0 = b0, l1; l0 < b1; l0 = l1) {
                l1 = line == 1 ? b1 : onward(&along, l0, line * along.step);
                if (l1 > b1) l1 = b1;
                const int narrowly = rest && by_destination && l1 == along.end;
                const int flatly = under && !by_destination && l1 == along.end;
                const int64_t o1 = turned ? l1 : k1, r0 = turned ? k0 : l0, r1 = turned ? k1 : l1;
                for (int64_t o = turned ? l0 : k0; o < o1; o = onward(&outer, o, outer.step)) {
                    const uint8_t *from = src + place(&outer, o) * outer.s;
                    uint8_t *to = dst + place(&outer, o) * outer.d;
                    lay_row(tile, size, from, sa, to, db, &row, r0, r1, ahead, past);
                    if (flatly) lay_row(flat, size, from, sa, to, db, &over_under, whole_rows, a, 0, 0);
                    if (narrowly && !turned) lay_row(narrow, size, from, sa, to, db, &over_rest, whole_columns, b, ahead, past);
                }
                if (narrowly && turned)
                    for (int64_t k = whole_columns; k < b; k += least) {
                        const int64_t q = place(&over_rest, k);
                        lay_row(narrow, size, src + q * size, sa, dst + q * db, db, &by, k0, k1, ahead, past);
                    }
            }
        }
    }
    if (rest && !by_destination)
        for (int64_t k = whole_columns; k < b; k += least) {
            const int64_t q = place(&over_rest, k);
            lay_row(narrow, size, src + q * size, sa, dst + q * db, db, &over_rows, along.at, along.end, ahead, past);
        }
    if (under && (by_destination || rest))
        for (int64_t k = whole_rows; k < a; k += least) {
            const int64_t p = place(&over_under, k);
            lay_row(flat, size, src + p * sa, sa, dst + p * size, db, &over_all, by_destination ? 0 : whole_columns, b, 0, 0);
        }
}

/* Each kind of tile has a function of its own: in one for all the addresses of 16 rows do not stay in registers. */
#define COVER(name, size, joint, narrow, flat, rows, columns)                                                         \
    static __attribute__((noinline)) void HERE(cover_##name##size)(const uint8_t *src, int64_t sa, int64_t a,         \
                                                                   uint8_t *dst, int64_t db, int64_t b, int past) {   \
        if (VB > 16 && past)                                                                                          \
            cover(name, joint, narrow, flat, rows, columns, 16 / size, size, src, sa, a, dst, db, b, 1);              \
        else                                                                                                          \
            cover(name, joint, narrow, flat, rows, columns, 16 / size, size, src, sa, a, dst, db, b, 0);              \
    }
#define COVERS(size)                                                         \
    COVER(tile, size, NULL, NULL, NULL, 16 / size, 16 / size)                \
    COVER(tile_half_columns, size, NULL, NULL, NULL, 16 / size, 8 / size)    \
    COVER(tile_half_rows, size, NULL, NULL, NULL, 8 / size, 16 / size)       \
    COVER(tile_quarter, size, NULL, NULL, NULL, 8 / size, 8 / size)
COVERS(1)
COVERS(2)
COVERS(4)
COVERS(8)
#if VB >= 32
COVER(twice_bytes, 1, NULL, NULL, NULL, 32, 16)
COVER(square16, 1, NULL, NULL, NULL, 16, 16)
COVER(twice, 2, NULL, NULL, NULL, 16, 8)
COVER(twice, 4, NULL, NULL, NULL, 8, 4)
COVER(twice, 8, NULL, NULL, NULL, 4, 2)
#endif
#if VB == 64
COVER(strip, 1, NULL, NULL, NULL, 64, 16)
COVER(strip, 2, NULL, NULL, NULL, 32, 8)
COVER(strip, 4, NULL, NULL, NULL, 16, 4)
COVER(strip, 8, NULL, NULL, NULL, 8, 2)
#else
COVER(square, 2, square_from, strip, flat, 32, 32)
COVER(strip, 2, NULL, NULL, NULL, 32, 8)
COVER(strip, 4, NULL, NULL, NULL, 16, 4)
#endif
#if VB == 16
COVER(square, 1, square_from, strip, flat, 64, 64)
#endif
COVER(square, 4, square_from, strip, flat, 16, 16)
