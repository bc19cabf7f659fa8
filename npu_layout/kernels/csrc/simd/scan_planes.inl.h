/* The loops of scans of planes, after scan_codes.inl.h. */

/* Planes: maxima of up to a bench of neighbouring cells, four channels in one go, so that they stay in the first cache. */
enum { SCANNED = 2048, AT_ONCE = 4 };
/* Every channel: planes that are read abreast while there are as many cells as SELDOM for a hit, bytes of a cache line, and how far ahead lines
 * are fetched. Processors that have vectors of 64 bytes follow one stream faster than several whose lines they read in turn, if lines beyond the
 * page, where prefetchers end, are fetched; in planes of wider elements that are in L2 they do not, and Intel's follow several of a page and more. */
enum { STREAMS = 4, SELDOM = 8, LINE = 64, NEAR_AHEAD = 512, AHEAD = VB == 64 ? 4096 : NEAR_AHEAD };

INLINE void maxima_of(const Codes *codes, const uint8_t *data, const int64_t *channel, int64_t count, int64_t bytes, uint8_t *top) {
    for (int64_t i = 0; i < bytes; i += VB) put(top + i, codes->key(data + channel[0] + i));
    int64_t c = 1;
    for (; c + AT_ONCE <= count; c += AT_ONCE) {
        const uint8_t *a = data + channel[c], *b = data + channel[c + 1], *d = data + channel[c + 2], *e = data + channel[c + 3];
        const int64_t *next = channel + (c + 2 * AT_ONCE <= count ? c + AT_ONCE : c); /* are fetched meanwhile */
        for (int64_t i = 0; i < bytes; i += VB) {
            for (int k = 0; k < AT_ONCE && i % 64 == 0; ++k) __builtin_prefetch(data + next[k] + i);
            const V v = codes->greater(codes->greater(codes->key(a + i), codes->key(b + i)), codes->greater(codes->key(d + i), codes->key(e + i)));
            put(top + i, codes->greater(v, whole(top + i)));
        }
    }
    for (; c < count; ++c)
        for (int64_t i = 0; i < bytes; i += VB) put(top + i, codes->greater(codes->key(data + channel[c] + i), whole(top + i)));
}

/* The first channel with the largest code of each cell in `bits`, in the vector at `data`. */
INLINE void best_of_planes(const Codes *codes, const FeatureMap *map, const uint8_t *data, int64_t first, uint64_t bits, Hits *hits) {
    const int size = codes->size;
    const int64_t each = size == 1 ? 128 : size == 2 ? 32768 : map->count; /* as many as an element can count */
    int32_t channel[VB] = {0};
    uint8_t at[VB];
    V best = codes->key(data + map->channel[0]);
    for (int64_t from = 0; from < map->count; from += each) {
        const int64_t count = at_most(map->count - from, each);
        V which = number(size, -1);
        for (int64_t c = from == 0; c < count; ++c) codes->take(&best, &which, codes->key(data + map->channel[from + c]), number(size, c));
        put(at, which);
        for (int i = 0; i < VB / size; ++i) {
            const int32_t c = number_at(size, at + i * size);
            if (c >= 0) channel[i] = (int32_t)from + c;
        }
    }
    while (bits) {
        const int i = next_of(&bits, UNIT(size));
        add_hit(codes, first + i, channel[i], data + map->channel[channel[i]] + i * size, hits);
    }
}

/* The channels of a plane above the bound, of the cells from i to `end`, a vector at a time; the last one begins earlier. */
INLINE void hits_of_plane(const Codes *codes, const uint8_t *p, int64_t channel, int64_t i, int64_t end, int64_t first, int64_t cells, V below,
                          Hits *hits) {
    const int size = codes->size, each = VB / size;
    for (int64_t k = i; k < end; k += each) {
        const int64_t from = at_most(k, cells - each);
        const int seen = (int)(k - from) * UNIT(size);
        uint64_t bits = BITS(codes->more(codes->key(p + from * size), below)) >> seen << seen;
        while (bits) {
            const int64_t at = from + next_of(&bits, UNIT(size));
            add_hit(codes, first + at, channel, p + at * size, hits);
        }
    }
}

/* From byte i of some planes on, the first chunk of `bytes` of each that has a code above the bound, or where fewer are left of `end`. */
INLINE int64_t next_chunk(const Codes *codes, const uint8_t *const *plane, int planes, int bytes, int64_t i, int64_t end, V bound) {
    for (; i + bytes <= end; i += bytes) {
        V top = bound;
        Mask any = (Mask){0};
        for (int s = 0; s < planes; ++s) {
            const uint8_t *p = plane[s] + i;
            for (int k = 0; k < bytes; k += LINE) __builtin_prefetch(p + (planes == 1 ? AHEAD : NEAR_AHEAD) + k);
            for (int k = 0; by_masks(codes) && k < bytes; k += VB) any |= loud(codes, p + k, bound);
            if (by_masks(codes)) continue;
            V most = codes->key(p);
            for (int k = VB; k < bytes; k += VB) most = codes->greater(most, codes->key(p + k));
            top = s ? codes->greater(top, most) : most;
        }
        if (!by_masks(codes)) any = codes->more(top, bound);
        if (__builtin_expect(BITS(any) != 0, 0)) break;
    }
    return i;
}

/* As all_of_planes, of so many planes from channel c on: a constant of each call. */
INLINE int64_t some_planes(const Codes *codes, const FeatureMap *map, const uint8_t *data, int64_t c, int planes, int64_t first, int64_t cells,
                           int32_t least, Hits *hits) {
    const V below = number(codes->size, least - 1), bound = bound_of(codes, least);
    const int size = codes->size, bytes = planes == 1 ? 2 * LINE : LINE;
    const uint8_t *plane[STREAMS];
    for (int s = 0; s < planes; ++s) plane[s] = data + map->channel[c + s];
    for (int64_t i = 0; i < cells;) {
        i = next_chunk(codes, plane, planes, bytes, i * size, cells * size, bound) / size;
        const int64_t end = at_most(i + bytes / size, cells);
        if (hits->count > hits->most) return 0;
        if (!hits_reserve(hits, planes * 2 * bytes / size)) return -1;
        for (int s = 0; s < planes; ++s) hits_of_plane(codes, plane[s], c + s, i, end, first, cells, below, hits);
        i = end;
    }
    return cells;
}

/* Every channel above the bound, so that each element is read once: while few pass, some channels abreast, in streams that memory brings
 * side by side. The channels of a cell come in their order, and the caller sorts the hits by cell. At least a vector of cells. 0: there are
 * more than hits->most; -1: there is no memory. */
INLINE int64_t all_of_planes(const Codes *codes, const FeatureMap *map, const uint8_t *data, int64_t first, int64_t cells, int32_t least, Hits *hits) {
    const int64_t few = hits->count + cells / SELDOM;
    const int abreast = VB < 64 || codes->size > 1 || (cells >= PAGE && is_intel());
    int64_t c = 0, done = cells;
    for (; abreast && hits->count <= few && c + STREAMS <= map->count && done > 0; c += STREAMS) done = some_planes(codes, map, data, c, STREAMS, first, cells, least, hits);
    for (; c < map->count && done > 0; ++c) done = some_planes(codes, map, data, c, 1, first, cells, least, hits);
    return done;
}

INLINE int64_t scan_planes(const Codes *codes, const FeatureMap *map, const uint8_t *data, int64_t offset, int64_t first, int64_t cells,
                           int32_t least, int all, Hits *hits) {
    uint8_t top[SCANNED];
    const int size = codes->size, each = VB / size;
    if (cells < each) return 0;
    const V below = number(size, least - 1);
    int64_t done = 0;
    data += offset;
    if (all) return all_of_planes(codes, map, data, first, cells, least, hits);
    while (done + each <= cells) {
        const int64_t bytes = at_most(SCANNED, (cells - done) / each * VB);
        codes->maxima(data + done * size, map->channel, map->count, bytes, top);
        for (int64_t i = 0; i < bytes; i += VB, done += each) {
            const uint64_t bits = BITS(codes->more(whole(top + i), below));
            if (__builtin_expect(!bits, 1)) continue;
            if (!hits_reserve(hits, VB)) return -1;
            codes->best(map, data + done * size, first + done, bits, hits);
        }
    }
    if (done < cells) { /* the last vector begins earlier */
        const int64_t from = cells - each;
        const int seen = (int)(done - from) * UNIT(size);
        codes->maxima(data + from * size, map->channel, map->count, VB, top);
        const uint64_t bits = BITS(codes->more(whole(top), below)) >> seen << seen;
        if (bits && !hits_reserve(hits, VB)) return -1;
        if (bits) codes->best(map, data + from * size, first + from, bits, hits);
    }
    return cells;
}
