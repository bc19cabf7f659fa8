/* The loops of scans of blocks and of rows, and the table of all scans, after scan_pieces.inl.h: maxima of codes, a vector at a time. Most
 * cells have no score that passes: only of the others the class is looked for. */

/* Rows whose maxima are found abreast. */
enum { ABREAST = 2 };

/* Blocks of channels: AT_ONCE vectors of cells, or of parts of cells, block after block. */
typedef struct {
    int64_t blocks;
    int parts, each;      /* vectors of one cell, or cells of one vector */
    int full;             /* all lanes of all blocks are channels */
    V inside[2][AT_ONCE]; /* lanes of the first and of the last block that are channels */
} Blocks;

INLINE const uint8_t *block_at(const FeatureMap *map, const uint8_t *data, int64_t b, int size) {
    return data + (b ? map->channel[b * map->block - map->lane] : map->channel[0] - map->lane * size);
}

INLINE Blocks blocks_of(const FeatureMap *map, int size) {
    Blocks k;
    uint8_t lanes[VB];
    const int64_t end = map->lane + map->count;
    k.blocks = (end + map->block - 1) / map->block;
    k.parts = map->cell > VB ? (int)(map->cell / VB) : 1, k.each = map->cell > VB ? 1 : (int)(VB / map->cell);
    k.full = !map->lane && end % map->block == 0;
    for (int last = 0; last < 2; ++last) {
        const int64_t first = last ? (k.blocks - 1) * map->block : 0;
        const int full = first >= map->lane && first + map->block <= end;
        for (int part = 0; part < AT_ONCE; ++part) {
            k.inside[last][part] = part < k.parts ? number(1, -1) : k.inside[last][part % k.parts];
            for (int i = 0; !full && part < k.parts && i < VB; ++i) {
                const int64_t lane = (part % k.parts * VB + i) / size % map->block + first;
                lanes[i] = lane >= map->lane && lane < end ? 0xFF : 0;
            }
            if (!full && part < k.parts) memcpy(&k.inside[last][part], lanes, VB);
        }
    }
    return k;
}

/* The hits of a cell, of the elements in `bits` from lane `from` on; with `all`, of each. 0: the first one was found. */
INLINE int hits_of_lanes(const Codes *codes, const FeatureMap *map, const uint8_t *p, int64_t cell, int64_t from, uint64_t bits, int all, Hits *hits) {
    while (bits) {
        const int64_t channel = from + next_of(&bits, UNIT(codes->size)) - map->lane;
        if (channel < 0 || channel >= map->count) continue; /* padding, or another part's */
        add_hit(codes, cell, channel, p + map->channel[channel], hits);
        if (!all) return 0;
    }
    return 1;
}

/* The channels above `bound` of cell i of the group at `data`, or the first one. */
INLINE void channels_of_blocks(const Codes *codes, const FeatureMap *map, const Blocks *k, const uint8_t *data, int i, int64_t cell,
                               int32_t bound, int all, Hits *hits) {
    const V below = number(codes->size, bound);
    const uint8_t *const at = data + i * map->cell;
    const int unit = UNIT(codes->size) * (int)map->block;
    uint64_t bits = 0;
    if (k->parts == 1 && unit < 64) { /* as many blocks at once as have 64 bits */
        const uint64_t mine = ((uint64_t)1 << unit) - 1;
        int64_t from = 0;
        for (int64_t b = 0, full = 0; b < k->blocks; ++b) {
            bits |= (BITS(codes->more(codes->key(block_at(map, data, b, codes->size)), below)) >> (i * unit) & mine) << full;
            full += unit;
            if (full < 64 && b + 1 < k->blocks) continue;
            if (bits && !hits_of_lanes(codes, map, at, cell, from * map->block, bits, all, hits)) return;
            from = b + 1, full = 0, bits = 0;
        }
        return;
    }
    for (int64_t b = 0; b < k->blocks; ++b)
        for (int part = 0; part < k->parts; ++part) {
            bits = BITS(codes->more(codes->key(block_at(map, data, b, codes->size) + part * VB), below));
            if (!hits_of_lanes(codes, map, at, cell, b * map->block + part * (VB / codes->size), bits, all, hits)) return;
        }
}

/* The hits of the group at `data`, of which `live` cells are the line's; `top`: its maxima. */
INLINE int hits_of_blocks(const Codes *codes, const FeatureMap *map, const Blocks *k, const uint8_t *data, int64_t first, int64_t live,
                          const V *top, int32_t least, int all, Hits *hits) {
    const int unit = UNIT(codes->size) * (int)map->block;
    uint8_t most[AT_ONCE * VB];
    uint64_t any = 0;
    for (int part = 0; part < k->parts; ++part) any |= BITS(codes->more(top[part], number(codes->size, least - 1)));
    if (__builtin_expect(!any, 1)) return 1;
    if (!hits_reserve(hits, all ? map->count * k->each : k->each)) return 0;
    for (int part = 0; part < k->parts; ++part) put(most + part * VB, top[part]);
    for (int i = 0; i < live; ++i) {
        if (k->parts == 1 && unit < 64 && !(any >> (i * unit) & (((uint64_t)1 << unit) - 1))) continue;
        const int32_t bound = all ? least : largest_number(codes->size, most + i * map->cell, map->block);
        channels_of_blocks(codes, map, k, data, i, first + i, bound - 1, all, hits);
    }
    return 1;
}

/* The maxima of so many vectors at `data`, block after block, of blocks that are full. */
INLINE void maxima_of_full_blocks(const Codes *codes, const FeatureMap *map, const uint8_t *data, const Blocks *k, int vectors, V *top) {
    V most[AT_ONCE];
    const int64_t *channel = map->channel;
    for (int v = 0; v < vectors; ++v) most[v] = codes->key(data + channel[0] + v * VB);
    for (int64_t b = 1; b < k->blocks; ++b) {
        const uint8_t *p = data + *(channel += map->block);
        for (int v = 0; v < AT_ONCE * VB && b < k->blocks - 1; v += 64) __builtin_prefetch(p + 2 * AT_ONCE * VB + v);
        for (int v = 0; v < vectors; ++v) most[v] = codes->greater(most[v], codes->key(p + v * VB));
    }
    for (int v = 0; v < vectors; ++v) top[v] = most[v];
}

/* The maxima of so many vectors at `data`, block after block; what is no channel of the part is the lowest code. */
INLINE void maxima_of_blocks(const Codes *codes, const FeatureMap *map, const uint8_t *data, const Blocks *k, V low, int vectors, V *top) {
    V most[AT_ONCE];
    const uint8_t *p = block_at(map, data, 0, codes->size);
    for (int v = 0; v < vectors; ++v) most[v] = (codes->key(p + v * VB) & k->inside[0][v]) | (low & ~k->inside[0][v]);
    for (int64_t b = 1; b < k->blocks - 1; ++b) {
        p = block_at(map, data, b, codes->size);
        for (int v = 0; v < AT_ONCE * VB; v += 64) __builtin_prefetch(p + 2 * AT_ONCE * VB + v);
        for (int v = 0; v < vectors; ++v) most[v] = codes->greater(most[v], codes->key(p + v * VB));
    }
    if (k->blocks > 1) p = block_at(map, data, k->blocks - 1, codes->size);
    for (int v = 0; v < vectors && k->blocks > 1; ++v)
        most[v] = codes->greater(most[v], (codes->key(p + v * VB) & k->inside[1][v]) | (low & ~k->inside[1][v]));
    for (int v = 0; v < vectors; ++v) top[v] = most[v];
}

INLINE int64_t scan_blocks(const Codes *codes, const FeatureMap *map, const uint8_t *data, int64_t offset, int64_t first, int64_t cells,
                           int32_t least, int all, Hits *hits) {
    const Blocks k = blocks_of(map, codes->size);
    const V low = number(codes->size, codes->low), below = number(codes->size, least - 1);
    int64_t furthest = 0, ready = cells;
    for (int64_t b = 0; b < k.blocks; ++b) {
        const int64_t at = block_at(map, data, b, codes->size) - data;
        furthest = at > furthest ? at : furthest;
    }
    /* A vector that is not full of cells must not end behind the buffer. */
    if (cells % k.each && furthest + offset + cells / k.each * VB + VB > map->bytes) ready = cells / k.each * k.each;
    const int64_t groups = (ready + k.each - 1) / k.each * k.parts;
    data += offset;
    for (int64_t done = 0; done < groups; done += AT_ONCE) {
        V top[AT_ONCE];
        const int vectors = (int)at_most(AT_ONCE, groups - done);
        if (vectors == AT_ONCE && k.full) maxima_of_full_blocks(codes, map, data + done * VB, &k, AT_ONCE, top);
        else if (vectors == AT_ONCE) maxima_of_blocks(codes, map, data + done * VB, &k, low, AT_ONCE, top);
        else maxima_of_blocks(codes, map, data + done * VB, &k, low, vectors, top);
        const V most = codes->greater(codes->greater(top[0], top[1]), codes->greater(top[2], top[3]));
        if (vectors == AT_ONCE && __builtin_expect(!BITS(codes->more(most, below)), 1)) continue;
        for (int v = 0; v < vectors; v += k.parts) {
            const int64_t cell = (done + v) / k.parts * k.each;
            if (!hits_of_blocks(codes, map, &k, data + (done + v) * VB, first + cell, at_most(k.each, ready - cell), top + v, least, all, hits))
                return -1;
        }
    }
    return ready;
}

/* The maxima of the channels of `cells` cells, each `step` bytes behind the one before it; the last vector of a cell begins at `last`. Where a
 * cell is `shorter` than a vector, the lanes that are not `inside` do not count. */
INLINE void maxima_of_rows(const Codes *codes, const uint8_t *p, int64_t step, int64_t last, int shorter, V inside, V low, int cells, V *top) {
    for (int k = 0; k < cells; ++k) {
        top[k] = codes->key(p + k * step + last);
        if (shorter) top[k] = (top[k] & inside) | (low & ~inside);
    }
    for (int64_t i = 0; i < last; i += VB)
        for (int k = 0; k < cells; ++k) top[k] = codes->greater(top[k], codes->key(p + k * step + i));
}

/* The channels of a cell above `bound`, or the first one; 0: there is no memory. */
INLINE int hits_of_row(const Codes *codes, const FeatureMap *map, const uint8_t *p, int64_t cell, int64_t last, V bound, int all, Hits *hits) {
    const int size = codes->size, each = VB / size;
    if (!hits_reserve(hits, all ? map->count : 1)) return 0;
    for (int64_t next = 0; next < map->count;) {
        const int64_t from = at_most(next * size, last);
        uint64_t bits = BITS(codes->more(codes->key(p + from), bound));
        const int seen = (int)(next - from / size);
        bits = bits >> (seen * UNIT(size)) << (seen * UNIT(size));
        next = map->count;
        if (from < last) next = from / size + each;
        while (bits) {
            const int lane = next_of(&bits, UNIT(size));
            if (from / size + lane >= map->count) break;
            add_hit(codes, cell, from / size + lane, p + from + lane * size, hits);
            if (!all) return 1;
        }
    }
    return 1;
}

/* As scan_rows; `shorter` is a constant of each call. */
INLINE int64_t scan_some_rows(const Codes *codes, const FeatureMap *map, const uint8_t *p, int64_t first, int64_t ready, V inside, int shorter,
                              int32_t least, int all, Hits *hits) {
    const int size = codes->size;
    const int64_t last = shorter ? 0 : map->count * size - VB, step = map->cell;
    const V below = number(size, least - 1), low = number(size, codes->low);
    uint8_t lanes[VB];
    for (int64_t cell = 0, n; cell < ready; cell += n, p += n * step) {
        V top[ABREAST];
        n = ready - cell >= ABREAST ? ABREAST : 1;
        if (n == ABREAST) {
            maxima_of_rows(codes, p, step, last, shorter, inside, low, ABREAST, top);
            if (__builtin_expect(!BITS(codes->more(codes->greater(top[0], top[1]), below)), 1)) continue;
        } else
            maxima_of_rows(codes, p, step, last, shorter, inside, low, 1, top);
        for (int k = 0; k < n; ++k) {
            if (!BITS(codes->more(top[k], below))) continue;
            V bound = below;
            if (!all) {
                put(lanes, top[k]);
                bound = number(size, largest_number(size, lanes, VB / size) - 1);
            }
            if (!hits_of_row(codes, map, p + k * step, first + cell + k, last, bound, all, hits)) return -1;
        }
    }
    return ready;
}

/* Neighbouring channels, cell after cell. The last vector of a cell begins earlier; where a cell is shorter than a vector, the
 * other lanes do not count. */
INLINE int64_t scan_rows(const Codes *codes, const FeatureMap *map, const uint8_t *data, int64_t offset, int64_t first, int64_t cells,
                         int32_t least, int all, Hits *hits) {
    const int64_t bytes = map->count * codes->size, start = map->channel[0] + offset;
    if (bytes >= VB) return scan_some_rows(codes, map, data + start, first, cells, number(1, -1), 0, least, all, hits);
    /* a vector must not end behind the buffer */
    const int64_t room = map->bytes - VB - start;
    const int64_t ready = map->cell <= 0 || room < 0 ? 0 : at_most(cells, room / map->cell + 1);
    uint8_t lanes[VB];
    for (int i = 0; i < VB; ++i) lanes[i] = i < bytes ? 0xFF : 0;
    return scan_some_rows(codes, map, data + start, first, ready, whole(lanes), 1, least, all, hits);
}

#define SCAN(kind, name)                                                                                                                \
    static int64_t HERE(scan_##kind##_##name)(const FeatureMap *map, const uint8_t *data, int64_t offset, int64_t first, int64_t cells, \
                                              int32_t least, int all, Hits *hits) {                                                     \
        return scan_##kind(&codes_##name, map, data, offset, first, cells, least, all, hits);                                           \
    }
#define MAXIMA(name) \
    ONE_COPY void HERE(maxima_##name)(const uint8_t *data, const int64_t *channel, int64_t count, int64_t bytes, uint8_t *top)
#define BEST(name) ONE_COPY void HERE(best_##name)(const FeatureMap *map, const uint8_t *data, int64_t first, uint64_t bits, Hits *hits)
#define SCANS(name, type, key, size, low)                                                                   \
    MAXIMA(name);                                                                                           \
    BEST(name);                                                                                             \
    static const Codes codes_##name = {type, size, low, key, greater##size, more##size, take##size,         \
                                       HERE(maxima_##name), HERE(best_##name)};                         \
    MAXIMA(name) { maxima_of(&codes_##name, data, channel, count, bytes, top); }                            \
    BEST(name) { best_of_planes(&codes_##name, map, data, first, bits, hits); }                             \
    SCAN(planes, name)                                                                                      \
    SCAN(blocks, name)                                                                                      \
    SCAN(rows, name)                                                                                        \
    SCAN(pieces, name)
SCANS(i8, I8, key_plain, 1, -128)
SCANS(u8, U8, key_u8, 1, -128)
SCANS(i16, I16, key_plain, 2, -32768)
SCANS(u16, U16, key_u16, 2, -32768)
SCANS(i32, I32, key_plain, 4, INT32_MIN)
SCANS(f16, F16, key_f16, 2, -32768)
SCANS(bf16, BF16, key_bf16, 2, -32768)
SCANS(f32, F32, key_float, 4, INT32_MIN)

#define SCANS_OF(kind) {HERE(scan_##kind##_i8), HERE(scan_##kind##_u8), HERE(scan_##kind##_i16), HERE(scan_##kind##_u16), \
                        HERE(scan_##kind##_i32), HERE(scan_##kind##_f16), HERE(scan_##kind##_bf16), HERE(scan_##kind##_f32)}
