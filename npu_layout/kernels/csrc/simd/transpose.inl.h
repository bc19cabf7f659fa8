/* Transposes: tiles, and the order in which they cover a matrix; everything else, element by element. */
/* Tiles of 16 / size columns and rows, or half as many of either: rows of the source become columns of dst. */
#define TURNED(size, rounds, count)                                     \
    for (int k = 0; k < (rounds); ++k) {                                \
        ROUND(B1, low##size, high##size, x, y, count)                   \
        for (int r = 0; r < (count); ++r) x[r] = y[r];                  \
    }
#define TILES(size, rounds)                                                                                   \
    INLINE void tile##size##_of(int first, const uint8_t *src, const uint8_t *later, int from, int64_t s, uint8_t *dst, \
                                int64_t d, int past) {                                                        \
        (void)past;                                                                                           \
        B1 x[16 / size], y[16 / size];                                                                        \
        src += first * s, later += first * s;                                                                 \
        EACH_ROW_APART(16 / size) x[r] = load16(AT(0));                                                       \
        TURNED(size, rounds, 16 / size)                                                                       \
        PUT_ROWS(16 / size, store16(dst, x[r]));                                                              \
    }                                                                                                         \
    INLINE void tile##size(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int past) {                \
        tile##size##_of(0, src, src, 64, s, dst, d, past);                                                    \
    }                                                                                                         \
    INLINE void tile##size##_few_columns(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int past) {  \
        (void)past;                                                                                           \
        enum { HALF = 8 / size };                                                                             \
        B1 x[HALF], y[HALF];                                                                                  \
        EACH_ROW(HALF) x[r] = low##size(load8(src), load8(src + HALF * s));                                   \
        TURNED(size, rounds - 1, HALF)                                                                        \
        PUT_ROWS(HALF, store16(dst, x[r]));                                                                   \
    }                                                                                                         \
    INLINE void tile##size##_few_rows(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int past) {     \
        (void)past;                                                                                           \
        enum { HALF = 8 / size };                                                                             \
        B1 x[HALF], y[HALF];                                                                                  \
        EACH_ROW(HALF) x[r] = load16(src);                                                                    \
        TURNED(size, rounds - 1, HALF)                                                                        \
        d *= 2;                                                                                               \
        PUT_ROWS(HALF, (store8(dst, x[r], 0), store8(dst + d / 2, x[r], 1)));                                 \
    }                                                                                                         \
    INLINE void tile##size##_few(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int past) {          \
        (void)past;                                                                                           \
        enum { HALF = 8 / size, QUARTER = HALF / 2 };                                                         \
        if (!QUARTER) {                                                                                       \
            memcpy(dst, src, size);                                                                           \
            return;                                                                                           \
        }                                                                                                     \
        B1 x[QUARTER + !QUARTER], y[QUARTER + !QUARTER];                                                      \
        EACH_ROW(QUARTER) x[r] = low##size(load8(src), load8(src + QUARTER * s));                             \
        TURNED(size, rounds - 2, QUARTER)                                                                     \
        d *= 2;                                                                                               \
        PUT_ROWS(QUARTER, (store8(dst, x[r], 0), store8(dst + d / 2, x[r], 1)));                              \
    }
TILES(1, 4)
TILES(2, 3)
TILES(4, 2)
TILES(8, 1)

/* Tiles that have more rows than one of 16 bytes. */
#if VB >= 32
/* Twice as many rows: row r in the lower lane, row r + 16 / size in the upper one, which stay apart to the end. */
#define TWICE(name, count, rounds, epi)                                                                       \
    INLINE void twice##name##_of(int first, const uint8_t *src, const uint8_t *later, int from, int64_t s, uint8_t *dst, \
                                 int64_t d, int past) {                                                       \
        __m256i x[count], y[count];                                                                           \
        src += first * s, later += first * s;                                                                 \
        EACH_ROW_APART(count) x[r] = pair(AT(0), AT(count));                                                  \
        for (int k = 0; k < rounds; ++k) {                                                                    \
            ROUND(__m256i, _mm256_unpacklo_##epi, _mm256_unpackhi_##epi, x, y, count)                         \
            for (int r = 0; r < count; ++r) x[r] = y[r];                                                      \
        }                                                                                                     \
        PUT_ROWS(count, put256(dst, x[r], past));                                                             \
    }                                                                                                         \
    INLINE void twice##name(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int past) {               \
        twice##name##_of(0, src, src, 64, s, dst, d, past);                                                   \
    }
TWICE(2, 8, 3, epi16)
TWICE(4, 4, 2, epi32)
TWICE(8, 2, 1, epi64)

/* 16 x 16 bytes in 8 registers, row r with row r + 8: the lanes are the bit that the last permutation brings home. */
INLINE void twice1(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int past) {
    (void)past;
    __m256i x[8], y[8];
    EACH_ROW(8) x[r] = pair(src, src + 8 * s);
    for (int k = 0; k < 3; ++k) {
        ROUND(__m256i, _mm256_unpacklo_epi8, _mm256_unpackhi_epi8, x, y, 8)
        for (int r = 0; r < 8; ++r) x[r] = y[r];
    }
    for (int r = 0; r < 8; ++r, (void)HELD(dst, 2 * d)) {
        const __m256i v = _mm256_permute4x64_epi64(x[r], 0xD8);
        _mm_storeu_si128((__m128i *)dst, _mm256_castsi256_si128(v));
        _mm_storeu_si128((__m128i *)(dst + d), _mm256_extracti128_si256(v, 1));
    }
}
#endif

/* As many elements as a cache line holds, in both directions: whole lines on both sides. A strip is the part of it with
 * columns of 16 bytes together. */
#define STRIP(size, name, rows)                                                                               \
    INLINE void strip##size##_of(const uint8_t *src, const uint8_t *later, int from, int64_t s, uint8_t *dst, int64_t d, \
                                 int past) {                                                                  \
        for (int r = 0; r < 64 / size; r += rows)                                                             \
            name##_of(r, src, later, from, s, dst + r * size, d, past);                                       \
    }
#define SQUARE(size)                                                                                          \
    INLINE void strip##size(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int past) {               \
        strip##size##_of(src, src, 64, s, dst, d, past);                                                      \
    }                                                                                                         \
    INLINE void square##size##_of(const uint8_t *src, const uint8_t *later, int from, int64_t s, uint8_t *dst, int64_t d, \
                                  int past) {                                                                 \
        for (int c = 0; c < 4; ++c)                                                                           \
            strip##size##_of(src + 16 * c, later + 16 * c, from, s, dst + 16 / size * c * d, d, past);        \
    }                                                                                                         \
    INLINE void square##size(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int past) {              \
        square##size##_of(src, src, 64, s, dst, d, past);                                                     \
    }
#if VB == 32
STRIP(2, twice2, 16)
SQUARE(2)
/* Both halves of a line are stored one after the other. */
INLINE void strip4_of(const uint8_t *src, const uint8_t *later, int from, int64_t s, uint8_t *dst, int64_t d, int past) {
    __m256i x[8], y[8];
    for (int first = 0; first < 16; first += 8) {
        EACH_ROW_APART(4) x[first / 2 + r] = pair(AT(0), AT(4));
        src += 4 * s, later += 4 * s;
    }
    for (int half = 0; half < 8; half += 4) {
        for (int k = 0; k < 2; ++k) {
            y[half + 2 * k] = _mm256_unpacklo_epi32(x[half + k], x[half + k + 2]);
            y[half + 2 * k + 1] = _mm256_unpackhi_epi32(x[half + k], x[half + k + 2]);
        }
        for (int k = 0; k < 2; ++k) {
            x[half + 2 * k] = _mm256_unpacklo_epi32(y[half + k], y[half + k + 2]);
            x[half + 2 * k + 1] = _mm256_unpackhi_epi32(y[half + k], y[half + k + 2]);
        }
    }
    for (int k = 0; k < 4; ++k) put256(dst + k * d, x[k], past), put256(dst + k * d + 32, x[4 + k], past);
}
SQUARE(4)
#elif VB == 16
STRIP(1, tile1, 16)
SQUARE(1)
STRIP(2, tile2, 8)
SQUARE(2)
STRIP(4, tile4, 4)
SQUARE(4)
#endif

#if VB >= 32
/* More rows: what is stored is a whole cache line (FOURFOLD), or half of it. The first round comes with the loads. */
#define MANIFOLD(name, V, BITS, count, rounds, epi, load, put)                                                \
    INLINE void name(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int past) {                      \
        V x[count], y[count];                                                                                 \
        for (int r = 0; r < count / 2; ++r) {                                                                 \
            const uint8_t *p = HELD(src, r ? s : 0);                                                          \
            const V early = load(p, count * s), late = load(p + count / 2 * s, count * s);                    \
            y[2 * r] = BITS##_unpacklo_##epi(early, late);                                                    \
            y[2 * r + 1] = BITS##_unpackhi_##epi(early, late);                                                \
        }                                                                                                     \
        for (int k = 1; k < rounds; ++k) {                                                                    \
            for (int r = 0; r < count; ++r) x[r] = y[r];                                                      \
            ROUND(V, BITS##_unpacklo_##epi, BITS##_unpackhi_##epi, x, y, count)                               \
        }                                                                                                     \
        for (int r = 0; r < count; ++r) put(HELD(dst, r ? d : 0), y[r], past);                                \
    }
#define PAIR_APART(p, step) pair(p, (p) + (step))
MANIFOLD(twicelong1, __m256i, _mm256, 16, 4, epi8, PAIR_APART, put256)
#endif
#if VB == 64
#define FOURFOLD(size, rounds, epi) MANIFOLD(fourfold##size, __m512i, _mm512, 16 / size, rounds, epi, quad, put512)
FOURFOLD(1, 4, epi8)
FOURFOLD(2, 3, epi16)
FOURFOLD(4, 2, epi32)
FOURFOLD(8, 1, epi64)
/* 16 x 16 elements of 4 bytes: whole cache lines on both sides, so that rows which share a set of the cache do not
 * drive each other out. The last two rounds turn the lanes. */
INLINE void square4_of(const uint8_t *src, const uint8_t *later, int from, int64_t s, uint8_t *dst, int64_t d, int past) {
    __m512i x[16], y[16];
    enum { first = 0 };
    EACH_ROW_APART(16) x[r] = _mm512_loadu_si512(AT(0));
    for (int g = 0; g < 16; g += 4) {
        for (int r = 0; r < 2; ++r) {
            y[g + r] = _mm512_unpacklo_epi32(x[g + 2 * r], x[g + 2 * r + 1]);
            y[g + 2 + r] = _mm512_unpackhi_epi32(x[g + 2 * r], x[g + 2 * r + 1]);
        }
        for (int h = 0; h < 2; ++h) {
            x[g + 2 * h] = _mm512_unpacklo_epi64(y[g + 2 * h], y[g + 2 * h + 1]);
            x[g + 2 * h + 1] = _mm512_unpackhi_epi64(y[g + 2 * h], y[g + 2 * h + 1]);
        }
    }
    /* x[g + c]: rows g .. g + 3 of columns c, c + 4, c + 8, c + 12, a lane each. */
    for (int c = 0; c < 4; ++c, (void)HELD(dst, d)) {
        const __m512i a = _mm512_shuffle_i32x4(x[c], x[c + 4], 0x88), b = _mm512_shuffle_i32x4(x[c + 8], x[c + 12], 0x88);
        const __m512i e = _mm512_shuffle_i32x4(x[c], x[c + 4], 0xDD), f = _mm512_shuffle_i32x4(x[c + 8], x[c + 12], 0xDD);
        put512(dst, _mm512_shuffle_i32x4(a, b, 0x88), past);
        put512(dst + 8 * d, _mm512_shuffle_i32x4(a, b, 0xDD), past);
        put512(dst + 4 * d, _mm512_shuffle_i32x4(e, f, 0x88), past);
        put512(dst + 12 * d, _mm512_shuffle_i32x4(e, f, 0xDD), past);
    }
}
INLINE void square4(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int past) {
    square4_of(src, src, 16, s, dst, d, past);
}
#endif

typedef void Tile(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int past);
/* The same of rows that lie apart: those before `from` at `src`, the rest at `later`. */
typedef void Joint(const uint8_t *src, const uint8_t *later, int from, int64_t s, uint8_t *dst, int64_t d, int past);

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
INLINE void lay_row(Tile *tile, const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, const Steps *along, int64_t l0,
                    int64_t l1, int ahead, int past) {
    const int64_t step = along->step, last = along->n - step, from_step = step * along->s, to_step = step * along->d;
    const uint8_t *from = src + place(along, l0) * along->s;
    uint8_t *to = dst + place(along, l0) * along->d;
    for (int64_t l = l0;;) {
        for (int64_t r = 0; past && r < ahead; ++r) __builtin_prefetch(from + r * s + AHEAD, 0, 2);
        tile(from, s, to, d, past);
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
            joint(from - size + (a - early) * sa, from - early * sa, (int)early, sa, to - early * size, db, past);
        else
            tile(from, sa, to, db, 0);
        if (!q || q == b - columns) tile(from + (a - rows) * sa, sa, to + (a - rows) * size, db, 0);
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
                    lay_row(tile, from, sa, to, db, &row, r0, r1, ahead, past);
                    if (flatly) lay_row(flat, from, sa, to, db, &over_under, whole_rows, a, 0, 0);
                    if (narrowly && !turned) lay_row(narrow, from, sa, to, db, &over_rest, whole_columns, b, ahead, past);
                }
                if (narrowly && turned)
                    for (int64_t k = whole_columns; k < b; k += least) {
                        const int64_t q = place(&over_rest, k);
                        lay_row(narrow, src + q * size, sa, dst + q * db, db, &by, k0, k1, ahead, past);
                    }
            }
        }
    }
    if (rest && !by_destination)
        for (int64_t k = whole_columns; k < b; k += least) {
            const int64_t q = place(&over_rest, k);
            lay_row(narrow, src + q * size, sa, dst + q * db, db, &over_rows, along.at, along.end, ahead, past);
        }
    if (under && (by_destination || rest))
        for (int64_t k = whole_rows; k < a; k += least) {
            const int64_t p = place(&over_under, k);
            lay_row(flat, src + p * sa, sa, dst + p * size, db, &over_all, by_destination ? 0 : whole_columns, b, 0, 0);
        }
}

/* Each kind of tile has a function of its own: in one for all the addresses of 16 rows do not stay in registers. */
#define COVER(tile, joint, narrow, flat, rows, columns, size)                                                         \
    static __attribute__((noinline)) void HERE(cover_##tile)(const uint8_t *src, int64_t sa, int64_t a, uint8_t *dst, \
                                                             int64_t db, int64_t b, int past) {                       \
        if (VB > 16 && past)                                                                                          \
            cover(tile, joint, narrow, flat, rows, columns, 16 / size, size, src, sa, a, dst, db, b, 1);              \
        else                                                                                                          \
            cover(tile, joint, narrow, flat, rows, columns, 16 / size, size, src, sa, a, dst, db, b, 0);              \
    }
#define COVERS(size)                                                                   \
    COVER(tile##size, NULL, NULL, NULL, 16 / size, 16 / size, size)                    \
    COVER(tile##size##_few_columns, NULL, NULL, NULL, 16 / size, 8 / size, size)       \
    COVER(tile##size##_few_rows, NULL, NULL, NULL, 8 / size, 16 / size, size)          \
    COVER(tile##size##_few, NULL, NULL, NULL, 8 / size, 8 / size, size)
COVERS(1)
COVERS(2)
COVERS(4)
COVERS(8)
#if VB >= 32
COVER(twicelong1, NULL, NULL, NULL, 32, 16, 1)
COVER(twice1, NULL, NULL, NULL, 16, 16, 1)
COVER(twice2, NULL, NULL, NULL, 16, 8, 2)
COVER(twice4, NULL, NULL, NULL, 8, 4, 4)
COVER(twice8, NULL, NULL, NULL, 4, 2, 8)
#endif
#if VB == 64
COVER(fourfold1, NULL, NULL, NULL, 64, 16, 1)
COVER(fourfold2, NULL, NULL, NULL, 32, 8, 2)
COVER(fourfold4, NULL, NULL, NULL, 16, 4, 4)
COVER(fourfold8, NULL, NULL, NULL, 8, 2, 8)
#else
COVER(square2, square2_of, strip2, flat2, 32, 32, 2)
COVER(strip2, NULL, NULL, NULL, 32, 8, 2)
COVER(strip4, NULL, NULL, NULL, 16, 4, 4)
#endif
#if VB == 16
COVER(square1, square1_of, strip1, flat1, 64, 64, 1)
#endif
#if VB == 64
COVER(square4, square4_of, fourfold4, flat4, 16, 16, 4)
#else
COVER(square4, square4_of, strip4, flat4, 16, 16, 4)
#endif

/* Small results of rows longer than the source's, by strips: the source from end to end, as many rows at a time as a line
 * of the result has elements. Measured: in eight to nine tenths of the time of the orders that suit larger results too.
 * SMALL: bytes that stay in L2. */
enum { SMALL = 3 << 18 };
#define COVER_SMALL(size, strip)                                                                                         \
    static __attribute__((noinline)) void HERE(cover_small##size)(const uint8_t *src, int64_t sa, int64_t a, uint8_t *dst, \
                                                                  int64_t db, int64_t b) {                               \
        enum { ROWS = 64 / size, COLUMNS = 16 / size };                                                                  \
        const int aligns = db % 64 == 0 && (uintptr_t)dst % 64 && (uintptr_t)dst % size == 0;                            \
        const int64_t lead = aligns ? (64 - (int64_t)((uintptr_t)dst % 64)) / size : ROWS, last = b - COLUMNS;           \
        for (int64_t i = 0; i < a; i = i ? i + ROWS : lead) {                                                            \
            const int64_t p = i < a - ROWS ? i : a - ROWS;                                                               \
            const uint8_t *from = src + p * sa;                                                                          \
            uint8_t *to = dst + p * size;                                                                                \
            for (int64_t j = 0; j < last; j += COLUMNS) strip(from + j * size, sa, to + j * db, db, 0);                  \
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

/* The tiles for elements of 1, 2, 4 and 8 bytes; of those that fit the first is taken. */
typedef struct {
    void (*cover)(const uint8_t *src, int64_t sa, int64_t a, uint8_t *dst, int64_t db, int64_t b, int past);
    int rows, columns;
} Tiling;
#define TILING(name, rows, columns) {HERE(cover_##name), rows, columns}
#define TILINGS(size)                                                                                 \
    TILING(tile##size, 16 / size, 16 / size), TILING(tile##size##_few_columns, 16 / size, 8 / size),  \
        TILING(tile##size##_few_rows, 8 / size, 16 / size), TILING(tile##size##_few, 8 / size, 8 / size)
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

/* In blocks, so that a cache line of the source serves all elements of it that are wanted. */
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
/* Rows of the source that lie further apart than those of the result are read from end to end, four at a time, as far as
 * the part of the result stays in L1. */
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

static void HERE(transpose)(int size, const uint8_t *src, int64_t sa, int64_t a, uint8_t *dst, int64_t db, int64_t b,
                            int past) {
    const Tiling *t = HERE(tilings)[size > 4 ? 3 : size / 2];
    if (size == 16) {
        transpose16(src, sa, a, dst, db, b);
        return;
    }
    if (transposed_few(size, src, sa, a, dst, db, b)) return;
    /* Small tiles are measured twice as fast for so many rows in so few sets. */
    const int crammed = VB == 64 && size == 4 && db % 1024 == 0 && b >= 192 && a * b * size <= SMALL;
    const int64_t least = VB == 64 || (VB == 32 && size == 2) ? 32 : 16 / size; /* columns for which strips are measured best */
    if (!crammed && (size == 2 || size == 4) && llabs(sa) < llabs(db) && a * size >= 64 && b >= least && a * b * size <= SMALL &&
        !(past && b <= FEW_ROWS)) {
        (size == 2 ? HERE(cover_small2) : HERE(cover_small4))(src, sa, a, dst, db, b);
        return;
    }
    if (crammed) t += 2;
    while (t->cover && (a < t->rows || b < t->columns)) ++t;
    if (t->cover)
        t->cover(src, sa, a, dst, db, b, past);
    else {
#define CALL(size) loose(size, src, sa, a, dst, db, b)
        BY_SIZE(size, CALL)
#undef CALL
    }
}

/* Rows that begin in one set of L1, so many that they drive each other out, go by a bench in L1: of the result always, but
 * for what goes past the caches; of the source where it lies in L2, since what comes from further away wants to be read from
 * end to end. */
enum { BENCH = 16384, NEAR = 1 << 20, RUN = 512, CROWD_READ = 24 };

static void HERE(transpose_to_crowd)(int size, int past, const uint8_t *src, Loop a, uint8_t *dst, Loop b) {
    enum { COLUMNS_AT_ONCE = BENCH / 64 };
    uint8_t bench[BENCH + 64 * 64] __attribute__((aligned(64)));
    const int64_t rows = 64 / size, pitch = COLUMNS_AT_ONCE * size + 64;
    for (int64_t j = 0; j < b.n; j += rows) {
        const int64_t bs = b.n - j < rows ? b.n - j : rows;
        for (int64_t i = 0; i < a.n; i += COLUMNS_AT_ONCE) {
            const int64_t as = a.n - i < COLUMNS_AT_ONCE ? a.n - i : COLUMNS_AT_ONCE;
            HERE(transpose)(size, src + i * a.s + j * size, a.s, as, bench, pitch, bs, 0);
            for (int64_t k = 0; k < bs; ++k) {
                uint8_t *row = dst + (j + k) * b.d + i * size;
                if (past) copy_past(bench + k * pitch, row, as * size);
                else copy_row(bench + k * pitch, row, as * size);
            }
        }
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
            HERE(transpose)(size, bench, PITCH, as, dst + i * size + j * b.d, b.d, bs, past);
        }
    }
}

static void HERE(move_transpose)(const Move *m, const uint8_t *src, uint8_t *dst) {
    const Loop b = m->box.loops[m->box.count - 2], a = m->box.loops[m->box.count - 1];
    const int size = m->size, tiles = size < 16 && b.n >= 16;
    if (tiles && a.n * size >= 64 && in_one_set(b.n, b.d) >= CROWD && !(VB > 16 && m->past))
        HERE(transpose_to_crowd)(size, m->past, src, a, dst, b);
    else if (tiles && in_one_set(a.n, a.s) >= CROWD_READ && a.n * b.n * size <= NEAR)
        HERE(transpose_from_crowd)(size, m->past, src, a, dst, b);
    else
        HERE(transpose)(size, src, a.s, a.n, dst, b.d, b.n, m->past);
}
