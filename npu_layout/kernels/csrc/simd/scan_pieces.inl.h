/* The loops that list every channel that passes of neighbouring channels, after scan_planes.inl.h: a line is read in pieces abreast, which
 * memory brings side by side, or in one piece whose lines are fetched ahead. */

/* Pieces of a line, and of one with gaps between its cells: see STREAMS. Bytes of a line that Intel's processors read in pieces by vectors of 64
 * bytes too, if it has no gaps; of a window there; windows of a piece, at least, and hits from which on they may be many. */
enum { PIECES = 8, PIECES_WITH_GAPS = VB == 64 ? 1 : PIECES, LONG_LINE = 1 << 20, WINDOW = 256, LEAST_WINDOWS = 6, MANY_HITS = 32 };

/* `count` pieces of so many cells and bytes, one behind the other, and the windows of each: `width` bytes that are full of channels, one every
 * `step` bytes; the last one may begin earlier. Without gaps a window has parts of cells, else one of them. */
typedef struct {
    const uint8_t *data;
    int count;
    int64_t cells, bytes, width, step, last, windows;
} Pieces;

INLINE int64_t window_at(const Pieces *k, int64_t window) { return at_most(window * k->step, k->last); }

/* The pieces of so many cells at `data`; no windows: they are too few. Pieces that are some pages apart would share sets of the first cache. */
INLINE Pieces pieces_of(const FeatureMap *map, const uint8_t *data, int64_t cells, int size) {
    const int64_t wide = map->count * size, dense = map->cell == wide, width = dense ? WINDOW : wide;
    const int abreast = VB < 64 || (dense && cells * map->cell >= LONG_LINE && is_intel()), pieces = abreast ? PIECES : 1;
    const int many = cells * map->cell >= pieces * (LEAST_WINDOWS * width + 2 * map->cell);
    Pieces k = {data, many ? pieces : 1, cells, 0, width, dense ? WINDOW : map->cell, 0, 0};
    if (map->cell < wide || width < VB || !(many || dense)) return k;
    if (k.count > 1) k.cells = cells / PIECES - (cells / PIECES * map->cell % PAGE == 0);
    k.bytes = k.cells * map->cell, k.last = k.bytes - (dense ? WINDOW : map->cell);
    if (k.last >= 0 && k.bytes <= UINT32_MAX) k.windows = (k.last + k.step - 1) / k.step + 1;
    return k;
}

/* The first window from `window` on of which one of so many pieces has a code above the bound, and a bit for each such piece. `count` and, where
 * there are no gaps, `width` are constants of a call, so that the loads of all pieces are on their way together. Lines of the first one are fetched
 * so many bytes `ahead`, or not (0). */
INLINE int64_t next_loud(const Codes *codes, const Pieces *k, int count, int64_t width, int ahead, int64_t window, V bound, uint32_t *found) {
    const int64_t apart = k->bytes;
    for (; window < k->windows; ++window) {
        const uint8_t *const p = k->data + window_at(k, window);
        Mask mine[PIECES], any = (Mask){0};
        for (int64_t i = 0; ahead && i < width; i += LINE) __builtin_prefetch(p + ahead + i);
        V top[PIECES], most = bound;
        for (int s = 0; s < count; ++s) {
            const uint8_t *const q = p + s * apart;
            if (by_masks(codes)) {
                mine[s] = loud(codes, q + width - VB, bound);
                for (int64_t i = 0; i < width - VB; i += VB) mine[s] |= loud(codes, q + i, bound);
                any |= mine[s];
                continue;
            }
            top[s] = codes->key(q + width - VB);
            for (int64_t i = 0; i < width - VB; i += VB) top[s] = codes->greater(top[s], codes->key(q + i));
            most = s ? codes->greater(most, top[s]) : top[s];
        }
        if (!by_masks(codes)) any = codes->more(most, bound);
        if (__builtin_expect(!BITS(any), 1)) continue;
        *found = 0;
        for (int s = 0; s < count; ++s) {
            if (!by_masks(codes)) mine[s] = codes->more(top[s], bound);
            *found |= (uint32_t)(BITS(mine[s]) != 0) << s;
        }
        break;
    }
    return window;
}

/* Every channel above the bound of a window of piece s, from byte `seen` of the piece on; 0: there is no memory. */
INLINE int hits_of_window(const Codes *codes, const FeatureMap *map, const Pieces *k, int s, int64_t at, int64_t seen, int64_t first, V below,
                          Hits *hits) {
    const int size = codes->size;
    const uint8_t *const p = k->data + s * k->bytes;
    if (!hits_reserve(hits, k->width / size)) return 0;
    for (int64_t end = at + k->width; seen < end;) {
        const int64_t from = at_most(seen, end - VB), skip = (seen - from) / size * UNIT(size);
        uint64_t bits = BITS(codes->more(codes->key(p + from), below)) >> skip << skip;
        while (bits) {
            const int64_t byte = from + next_of(&bits, UNIT(size)) * size;
            const uint32_t cell = (uint32_t)byte / (uint32_t)map->cell;
            add_hit(codes, first + cell, (byte - cell * map->cell) / size, p + byte, hits);
        }
        seen = from + VB;
    }
    return 1;
}

INLINE int64_t scan_pieces(const Codes *codes, const FeatureMap *map, const uint8_t *data, int64_t offset, int64_t first, int64_t cells,
                           int32_t least, int all, Hits *hits) {
    const Pieces k = pieces_of(map, data + offset + map->channel[0], cells, codes->size);
    const V below = number(codes->size, least - 1), bound = bound_of(codes, least);
    const int64_t from = hits->count;
    uint32_t found = 0;
    (void)all;
    for (int64_t w = 0;; ++w) {
        if (k.step != k.width) w = next_loud(codes, &k, PIECES_WITH_GAPS, k.width, 0, w, bound, &found);
        else if (k.count == 1) w = next_loud(codes, &k, 1, WINDOW, VB == 64 ? AHEAD : 0, w, bound, &found);
        else w = next_loud(codes, &k, PIECES, WINDOW, 0, w, bound, &found);
        if (w >= k.windows) break;
        const int64_t at = window_at(&k, w);
        for (; found; found &= found - 1) {
            const int s = __builtin_ctz(found);
            if (!hits_of_window(codes, map, &k, s, at, w * k.step, first + s * k.cells, below, hits)) return -1;
        }
        if (hits->count - from > MANY_HITS + (at + k.step) * k.count / map->cell / SELDOM) return 0;
    }
    return k.windows ? k.count * k.cells : 0;
}
