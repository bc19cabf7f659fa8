/* The order in which tiles cover the matrix of a transpose. */
/* The beginnings of the tiles of an axis: from `at` on, every `step` elements, and at `lead` in any case; a tile that does not
 * fit before n begins earlier. s, d: steps in bytes from one element to the next, in the source and in dst. */
typedef struct {
    int64_t at, end, step, n, lead, s, d;
} Steps;
INLINE int64_t onward(const Steps *k, int64_t at, int64_t by) {
    return at < k->lead && at + by > k->lead ? k->lead : at + by;
}
INLINE int64_t place(const Steps *k, int64_t at) { return at < k->n - k->step ? at : k->n - k->step; }

/* The matrix to transpose: `a` rows of b elements of the source, with a pitch of sa bytes, become b rows of `a` elements, with a
 * pitch of db bytes. */
typedef struct {
    const uint8_t *src;
    int64_t sa, a;
    uint8_t *dst;
    int64_t db, b;
} Matrix;

/* The elements of a tile, and of the narrow and flat tiles for the edges; whether there are those, and one for joints; and whether it
 * can be stored past the caches. */
typedef struct {
    int size, rows, columns, least;
    int edged, streams;
} Shape;

/* Bytes from what a tile reads and writes to the lines that are fetched meanwhile; 0: none are. Of buffers that no cache contains
 * the processor foresees runs of a page, not those of a tile, which then take up to three times as long. */
typedef struct {
    int64_t read, write;
} Fetch;
INLINE void fetch_to_read(const uint8_t *p, int64_t pitch, int64_t count, int past) {
    if (past) { /* not unrolled: the addresses of 16 more rows would be spilled, with 1.05 times as long */
#pragma GCC unroll 1
        for (int64_t i = 0; i < count; ++i) __builtin_prefetch(p + i * pitch, 0, 2);
    } else {
        for (int64_t i = 0; i < count; ++i, (void)ADVANCED(p, pitch)) __builtin_prefetch(p, 0, 3);
    }
}
INLINE void fetch_to_write(const uint8_t *p, int64_t pitch, int64_t count) {
    for (int64_t i = 0; i < count; ++i, (void)ADVANCED(p, pitch)) __builtin_prefetch(p, 1, 3);
}

/* Where a row of tiles reads and writes, with the pitches of both; and how: what is fetched, and whether it is stored past the
 * caches. */
typedef struct {
    const uint8_t *src;
    int64_t s;
    uint8_t *dst;
    int64_t d;
} Sides;
typedef struct {
    Fetch ahead;
    int past;
} Manner;

/* One row of tiles from l0 to l1, at least one, that begins at row or column `across` of the other axis. Tiles that read the same
 * lines fetch a part of the rows each, because a burst of fetches would have to be waited for. */
INLINE void lay_row(Tile *tile, const Shape *shape, Sides at, const Steps *along, int64_t l0, int64_t l1, int64_t across,
                    Manner how) {
    const int64_t s = at.s, d = at.d;
    const int64_t step = along->step, last = along->n - step, from_step = step * along->s, to_step = step * along->d;
    const int64_t line = shape->columns * shape->size, sharing = line < 64 ? 64 / line : 1, part = shape->rows / sharing;
    const int over_columns = along->s == shape->size;
    const uint8_t *from = at.src + place(along, l0) * along->s;
    uint8_t *to = at.dst + place(along, l0) * along->d;
    int64_t first = over_columns ? 0 : across / shape->columns % sharing * part;
    for (int64_t l = l0;;) {
        if (how.ahead.read && s > 0 && s < 64) fetch_to_read(from + how.ahead.read, 64, shape->rows * s / 64, how.past);
        else if (how.ahead.read) fetch_to_read(from + how.ahead.read + first * s, s, part, how.past);
        if (!how.past && how.ahead.write) fetch_to_write(to + how.ahead.write, d, shape->columns);
        if (over_columns && sharing > 1) first = first + part < shape->rows ? first + part : 0;
        tile(from, s, to, d, how.past);
        const int64_t before = l;
        l += step, from += from_step, to += to_step;
        if (__builtin_expect(before < along->lead, 0)) {
            l = onward(along, before, step);
            from = at.src + l * along->s, to = at.dst + l * along->d;
        }
        if (l >= l1) break;
        if (__builtin_expect(l > last, 0)) from += (last - l) * along->s, to += (last - l) * along->d;
    }
}

/* The beginning and the end of whole tiles. An access that crosses a cache line costs twice as much, so tiles begin at lines of
 * both sides if the pitches permit it. */
typedef struct {
    int64_t lead, skip;  /* rows before the result's first line, columns before the source's */
    int64_t rest, under; /* columns that remain for narrow tiles, rows for flat ones; these save a sixteenth or more */
    int64_t early;       /* elements of the previous row in the line in which a row of the result begins */
    int joins;           /* rows of the result are contiguous: one tile writes the parts of both rows to that line */
} Edges;
INLINE Edges edges_of(const Matrix *m, const Shape *t) {
    Edges e = {0, 0, 0, 0, 0, 0};
    if (t->columns * t->size == 64 && m->sa % 64 == 0 && (uintptr_t)m->src % t->size == 0 && m->b >= 4 * t->columns)
        e.skip = (int64_t)(-(uintptr_t)m->src % 64) / t->size;
    const int64_t left = (m->b - e.skip) % t->columns;
    e.rest = t->edged && left <= 2 * t->least && m->b < 16 * t->columns ? left : 0;
    const int gapless = t->edged && m->db == m->a * t->size && !e.rest;
    /* So few stores of 16 bytes cross a line that it does not pay to begin at lines. */
    if (VB > 16 && m->db % 64 == 0 && (uintptr_t)m->dst % 64 && (uintptr_t)m->dst % t->size == 0 && (gapless || m->a > 128 / t->size))
        e.lead = (64 - (int64_t)((uintptr_t)m->dst % 64)) / t->size;
    e.joins = gapless && e.lead;
    const int64_t below = (m->a - e.lead) % t->rows;
    e.under = t->edged && !e.joins && below <= 2 * t->least && m->a < 16 * t->rows ? below : 0;
    e.early = t->rows - e.lead;
    return e;
}

/* The order of the tiles: in blocks of `block` elements along one axis, each in strips of `strip` tiles along the other one, in
 * pieces of `line` tiles. */
typedef struct {
    int by_destination; /* along the destination's rows, which reads a small number of rows of the source from end to end */
    int turned;         /* the tiles of a strip are done one after the other */
    int past;           /* past the caches */
    int64_t strip, line, block;
    Fetch ahead;
} Walk;

/* Measured: the order along the destination's rows suits short rows of the source, unless wide elements then write to too
 * many rows at a time, and large results with short rows. BLOCK: bytes of the source that stay in L2 while all of its
 * columns are read. WIDE: bytes of a row of the result from which on so few rows share a page that the order along them is
 * not used. FEW_ROWS: rows of the result that can be written at a time at any pitch. LINES: lines of each row of the result
 * that are written one after the other if rows share sets of the cache. SHORT_CACHED: as SHORT_PAST, through the caches. */
enum { LARGE = 1 << 21, BLOCK = 1 << 18, WIDE = 2048, COLUMNS = 128, FEW_ROWS = 32, LINES = 4, SHORT_CACHED = 512 };
/* What is fetched is needed after 100 to 500 other lines: the same columns of the next rows, if rows are so close that whole ones
 * are read soon, otherwise the next columns of the same rows; and where the next strip of the result is written, if it is
 * short (vectors of 32 bytes and less would need a tenth longer while caches contain it). Past the caches vectors of 32 bytes fetch the
 * source, too: float32 NHWC of 255 channels to planes 0.65 of the time, uint16 0.4 to 0.5 (Zen 1).
 * CLOSE_ROWS, SHORT_STRIP: bytes. */
enum { FETCHED_COLD = 1 << 14, NEXT_LINES = 128, DENSE = 4096, CLOSE_ROWS = 4096, SHORT_STRIP = 4096, SOON = 128 };
INLINE Fetch fetch_of(const Matrix *m, const Shape *t, const Walk *w, int whole, int cold) {
    Fetch f = {0, 0};
    const int64_t across = m->sa < 0 ? -m->sa : m->sa, strip = 64 / t->size * m->db;
    if (m->a * m->b * t->size < (cold ? FETCHED_COLD : FETCHED) || (VB == 64 && w->past && !whole)) return f;
    if (whole) f.read = w->by_destination ? 0 : 256; /* planes that are read from end to end the processor foresees */
    else if (across % PAGE == 0) return f; /* lines of all rows share a set of L1, where they would evict each other */
    else if (w->by_destination && m->sa > 0 && m->sa < 64) f.read = DENSE;
    else if (w->by_destination) f.read = across <= CLOSE_ROWS ? w->strip * t->rows * m->sa : 256;
    else f.read = across <= CLOSE_ROWS && w->block < m->a ? w->block * m->sa : (SOON + m->a - 1) / m->a * 64;
    if (VB == 64 && !w->by_destination && strip <= SHORT_STRIP && -strip <= SHORT_STRIP) f.write = strip;
    if (cold & COLD_RESULT && w->by_destination) f.write = NEXT_LINES;
    return f;
}
INLINE Walk walk_of(const Matrix *m, const Shape *t, const Edges *e, int past, int cold) {
    const int fills_lines = t->rows * t->size == 64, reads_lines = t->columns * t->size == 64;
    const int64_t across = m->sa < 0 ? -m->sa : m->sa, down = m->db < 0 ? -m->db : m->db;
    const int large = m->a * m->b * t->size > LARGE;
    const int aligned = m->db % 64 == 0 && (e->lead || (uintptr_t)m->dst % 64 == 0);
    /* Short rows that are stored past the caches are best written whole, from lines of the source that were prefetched. */
    const int whole =
        past && across >= down && fills_lines && reads_lines && aligned && m->a % t->rows == 0 && (e->joins || !e->lead);
    /* Planes from end to end, a line of each row of the result at a time; if these are parts of lines, not where parts are slow: float32
     * 57x46x46 takes twice as long there. */
    const int from_end_to_end = whole     ? cold && down <= SHORT_PAST
                                : aligned ? VB == 64 && fills_lines && reads_lines && down <= SHORT_CACHED
                                          : VB == 64 && cold && m->a > FEW_ROWS && !stores_whole_lines();
    Walk w;
    w.by_destination = across < down ? t->size < 4 || ((reads_lines || m->b <= FEW_ROWS) && !large)
                                     : from_end_to_end || (!whole && (large || (VB == 32 && m->a >= 32) || (fills_lines && down % 1024 == 0)));
    const int64_t step = w.by_destination ? t->rows * t->size : t->columns * t->size;
    w.strip = step < 64 ? 64 / step : w.by_destination && across < down && down % 512 == 0 ? LINES : 1;
    const int lines = whole || (past && across < down && aligned && m->a * t->size >= 2048);
    w.line = lines && !w.by_destination && t->rows * t->size < 64 ? 64 / (t->rows * t->size) : 1;
    w.turned = w.strip > 1 && w.line == 1;
    w.past = past && lines;
    /* Rows that share lines, or sets of the cache, are finished before their lines leave L2. */
    const int crowded = down >= WIDE && (across >= down || (down % 1024 == 0 && m->b > FEW_ROWS));
    const int shared = across >= down && fills_lines && (down % 64 || down % 1024 == 0);
    w.block = !w.by_destination ? !across || across * t->rows * 4 > BLOCK ? INT64_MAX : BLOCK / across / t->rows * t->rows
              : crowded         ? t->columns
              : shared          ? COLUMNS
                                : INT64_MAX;
    w.ahead = fetch_of(m, t, &w, whole, cold);
    return w;
}

/* The walk over the matrix: whole tiles along one axis and then along the other, and the edges. */
typedef struct {
    Matrix m;
    Edges edges;
    Walk walk;
    Steps over_rows, over_columns, over_rest, over_under, over_all;
    Steps by, along;
} Tour;
/* One function for all tiles: computed once for a matrix, it would be half of their code. */
ONE_COPY void HERE(tour_of)(const Matrix *matrix, const Shape *shape, int past, int cold, Tour *t) {
    t->m = *matrix;
    const Matrix *m = &t->m;
    const int size = shape->size, least = shape->least;
    t->edges = edges_of(m, shape);
    t->walk = walk_of(m, shape, &t->edges, past, cold);
    const Edges *e = &t->edges;
    const int64_t rows = m->a - e->under, columns = m->b - e->rest;
    t->over_rows = (Steps){e->joins ? e->lead : 0, e->joins ? m->a - e->early : rows, shape->rows, rows, e->lead, m->sa, size};
    t->over_columns = (Steps){0, columns, shape->columns, columns, e->skip, size, m->db};
    t->over_rest = (Steps){columns, m->b, least, m->b, 0, size, m->db};
    t->over_under = (Steps){rows, m->a, least, m->a, 0, m->sa, size};
    t->over_all = (Steps){0, m->b, shape->columns, m->b, 0, size, m->db};
    t->by = t->walk.by_destination ? t->over_rows : t->over_columns;
    t->along = t->walk.by_destination ? t->over_columns : t->over_rows;
    if (t->walk.block > t->along.n) t->walk.block = t->along.n;
}

/* A row of narrow or flat tiles, without fetches: one copy for the edges that no strip reaches. */
typedef void Edge(Sides at, const Steps *along, int64_t l0, int64_t l1, int past);
/* The tiles of a matrix. Those with edges have the rest too: narrow and flat tiles, and functions that are not inlined, for what is
 * not in a strip: the tile alone, the joint, and rows of narrow and flat ones. */
typedef struct {
    Tile *tile, *narrow, *flat;
    void (*lone)(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d); /* through the caches */
    Joint *joint;
    Edge *narrows, *flats;
} Tiles;

/* If rows of the result are contiguous: the lines in which one ends and the next begins, and the ends of the first and last
 * row. */
INLINE void lay_joints(const Tiles *tiles, const Shape *shape, const Tour *t, int past) {
    const Matrix *m = &t->m;
    const int size = shape->size, rows = shape->rows;
    const int64_t early = t->edges.early;
    for (int64_t i = 0; shape->edged && t->edges.joins && i < m->b; i = onward(&t->over_columns, i, shape->columns)) {
        const int64_t q = place(&t->over_columns, i);
        const uint8_t *from = m->src + q * size;
        uint8_t *to = m->dst + q * m->db;
        if (q)
            tiles->joint(from - size + (m->a - early) * m->sa, from - early * m->sa, (int)early, m->sa, to - early * size, m->db,
                         past && t->walk.past);
        else
            tiles->lone(from, m->sa, to, m->db);
        if (!q || q == m->b - shape->columns)
            tiles->lone(from + (m->a - rows) * m->sa, m->sa, to + (m->a - rows) * size, m->db);
    }
}

/* A strip from k0 to k1 along one axis, and from l0 to l1 along the other; with the edges if it is at the end. */
INLINE void lay_strip(const Tiles *tiles, const Shape *shape, const Tour *t, int past, int64_t k0, int64_t k1, int64_t l0, int64_t l1) {
    const Manner unfetched = {{0, 0}, past && t->walk.past}, cached = {{0, 0}, 0};
    const Matrix *m = &t->m;
    const int size = shape->size, turned = t->walk.turned;
    const Steps outer = turned ? t->along : t->by, row = turned ? t->by : t->along;
    const int narrowly = shape->edged && t->edges.rest && t->walk.by_destination && l1 == t->along.end;
    const int flatly = shape->edged && t->edges.under && !t->walk.by_destination && l1 == t->along.end;
    const int64_t o1 = turned ? l1 : k1, r0 = turned ? k0 : l0, r1 = turned ? k1 : l1;
    for (int64_t o = turned ? l0 : k0; o < o1; o = onward(&outer, o, outer.step)) {
        const uint8_t *from = m->src + place(&outer, o) * outer.s;
        uint8_t *to = m->dst + place(&outer, o) * outer.d;
        const Sides at = {from, m->sa, to, m->db};
        lay_row(tiles->tile, shape, at, &row, r0, r1, o, (Manner){t->walk.ahead, past && t->walk.past});
        if (flatly) lay_row(tiles->flat, shape, at, &t->over_under, t->over_under.at, m->a, 0, cached);
        if (narrowly && !turned) lay_row(tiles->narrow, shape, at, &t->over_rest, t->over_rest.at, m->b, 0, unfetched);
    }
    if (narrowly && turned)
        for (int64_t k = t->over_rest.at; k < m->b; k += shape->least) {
            const int64_t q = place(&t->over_rest, k);
            tiles->narrows((Sides){m->src + q * size, m->sa, m->dst + q * m->db, m->db}, &t->by, k0, k1, past && t->walk.past);
        }
}

/* The edges that no strip reaches. */
INLINE void lay_edges(const Tiles *tiles, const Shape *shape, const Tour *t, int past) {
    const Matrix *m = &t->m;
    const int size = shape->size, least = shape->least, by_destination = t->walk.by_destination;
    if (shape->edged && t->edges.rest && !by_destination)
        for (int64_t k = t->over_rest.at; k < m->b; k += least) {
            const int64_t q = place(&t->over_rest, k);
            tiles->narrows((Sides){m->src + q * size, m->sa, m->dst + q * m->db, m->db}, &t->over_rows, t->along.at, t->along.end,
                          past && t->walk.past);
        }
    if (shape->edged && t->edges.under && (by_destination || t->edges.rest))
        for (int64_t k = t->over_under.at; k < m->a; k += least) {
            const int64_t p = place(&t->over_under, k);
            tiles->flats((Sides){m->src + p * m->sa, m->sa, m->dst + p * size, m->db}, &t->over_all,
                        by_destination ? 0 : t->over_rest.at, m->b, 0);
        }
}

/* A few tiles, such as the blocks of channels of some positions that reductions bring to L1 one after the other: a tour would
 * take as long as ten of them. The last one of an axis begins earlier; where less than half of it is new, flat tiles are laid. */
enum { FEW_TILES = 8 };
INLINE int lay_few(const Tiles *tiles, const Shape *shape, const Matrix *m) {
    const int rows = shape->rows, columns = shape->columns, least = shape->least;
    const int64_t down = (m->a + rows - 1) / rows, left = m->a % rows, last = m->b - columns;
    const int64_t whole = shape->edged && 2 * left < rows ? m->a - left : m->a; /* what is not laid flat */
    if (m->a < rows || last < 0 || down * ((m->b + columns - 1) / columns) > FEW_TILES || (shape->edged && m->b % columns)) return 0;
    for (int64_t k = 0; k < m->b; k += columns) {
        const uint8_t *const from = m->src + at_most(k, last) * shape->size;
        uint8_t *const to = m->dst + at_most(k, last) * m->db;
        for (int64_t i = 0; i < whole; i += rows) {
            const int64_t at = at_most(i, m->a - rows);
            tiles->tile(from + at * m->sa, m->sa, to + at * shape->size, m->db, 0);
        }
        for (int64_t i = whole; i < m->a; i += least) {
            const int64_t at = at_most(i, m->a - least);
            tiles->flat(from + at * m->sa, m->sa, to + at * shape->size, m->db, 0);
        }
    }
    return 1;
}

/* `past` is a constant, and so is the shape; `far`: the order of the tiles is that of results past the caches. */
INLINE void cover(const Tiles *tiles, const Shape *shape, const Matrix *matrix, int past, int far, int cold) {
    if (!past && lay_few(tiles, shape, matrix)) return;
    Tour made;
    HERE(tour_of)(matrix, shape, far, cold, &made);
    const Tour tour = made, *t = &tour; /* a store of bytes does not change what no other function knows */
    const Steps *by = &t->by, *along = &t->along;
    const int64_t lines = far && shape->rows * shape->size < 64 ? t->walk.line : 1;
    lay_joints(tiles, shape, t, past);
    for (int64_t b0 = along->at, b1; b0 < along->end; b0 = b1) {
        b1 = onward(along, b0, t->walk.block);
        if (b1 > along->end) b1 = along->end;
        for (int64_t k0 = by->at, k1; k0 < by->end; k0 = k1) {
            k1 = t->walk.strip == 1 ? by->end : onward(by, k0, t->walk.strip * by->step);
            if (k1 > by->end) k1 = by->end;
            for (int64_t l0 = b0, l1; l0 < b1; l0 = l1) {
                l1 = lines == 1 ? b1 : onward(along, l0, lines * along->step);
                if (l1 > b1) l1 = b1;
                lay_strip(tiles, shape, t, past, k0, k1, l0, l1);
            }
        }
    }
    lay_edges(tiles, shape, t, past);
}

/* Each kind of tile has its own function: in one for all kinds, the addresses of 16 rows do not stay in registers. */
#define COVER_BY(name, edged, streams, rows, columns, size, ...)                                                      \
    OUT_OF_LINE void HERE(cover_##name)(const uint8_t *src, int64_t sa, int64_t a, uint8_t *dst, int64_t db, int64_t b, int how) { \
        const Shape shape = {size, rows, columns, 16 / size, edged, streams};                                         \
        const Tiles tiles = {__VA_ARGS__};                                                                            \
        const Matrix matrix = {src, sa, a, dst, db, b};                                                               \
        const int past = VB > 16 && how & PAST;                                                                       \
        if (streams && past) cover(&tiles, &shape, &matrix, 1, 1, how & COLD);                                        \
        else cover(&tiles, &shape, &matrix, 0, past, how & (past ? COLD : COLD | COLD_RESULT));                       \
    }
#define COVER(name, rows, columns, size) COVER_BY(name, 0, 0, rows, columns, size, .tile = name)
#define COVER_STREAMS(name, rows, columns, size) COVER_BY(name, 0, VB > 16, rows, columns, size, .tile = name)
#define EDGE(name, size)                                                                                                        \
    ONE_COPY void HERE(edge_of_##name)(Sides at, const Steps *along, int64_t l0, int64_t l1, int past) { \
        const Shape shape = {size, 64 / size, 64 / size, 16 / size, 1, VB > 16};                                                         \
        lay_row(name, &shape, at, along, l0, l1, 0, (Manner){{0, 0}, past});                                                    \
    }
#define COVER_SQUARES(size, strip)                                                                                           \
    ONE_COPY void HERE(lone_square##size)(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d) {                       \
        square##size(src, s, dst, d, 0);                                                                                     \
    }                                                                                                                        \
    ONE_COPY void HERE(joint_square##size)(const uint8_t *src, const uint8_t *later, int from, int64_t s, \
                                              uint8_t *dst, int64_t d, int past) {                                           \
        square##size##_from(src, later, from, s, dst, d, past);                                                              \
    }                                                                                                                        \
    EDGE(strip, size)                                                                                                        \
    EDGE(flat##size, size)                                                                                                   \
    COVER_BY(square##size, 1, VB > 16, 64 / size, 64 / size, size, square##size, strip, flat##size, HERE(lone_square##size),  \
             HERE(joint_square##size), HERE(edge_of_##strip), HERE(edge_of_flat##size))
#define COVERS(size)                                              \
    COVER(tile##size, 16 / size, 16 / size, size)                 \
    COVER(tile##size##_half_columns, 16 / size, 8 / size, size)   \
    COVER(tile##size##_half_rows, 8 / size, 16 / size, size)      \
    COVER(tile##size##_quarter, 8 / size, 8 / size, size)
COVERS(1)
COVERS(2)
COVERS(4)
COVERS(8)
#if VB >= 32
COVER_STREAMS(twicelong1, 32, 16, 1)
COVER(twice1, 16, 16, 1)
COVER_STREAMS(twice2, 16, 8, 2)
COVER_STREAMS(twice4, 8, 4, 4)
COVER_STREAMS(twice8, 4, 2, 8)
#endif
#if VB == 64
COVER_STREAMS(fourfold1, 64, 16, 1)
COVER_STREAMS(fourfold2, 32, 8, 2)
COVER_STREAMS(fourfold4, 16, 4, 4)
COVER_STREAMS(fourfold8, 8, 2, 8)
COVER_SQUARES(4, fourfold4)
#else
COVER_SQUARES(2, strip2)
COVER_STREAMS(strip2, 32, 8, 2)
COVER_STREAMS(strip4, 16, 4, 4)
#if VB == 16
COVER_SQUARES(1, strip1)
#endif
COVER_SQUARES(4, strip4)
#endif
