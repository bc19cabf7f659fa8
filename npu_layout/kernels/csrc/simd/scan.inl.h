/* The loops of scan_best, after peaks.inl.h: maxima of codes, a vector at a time. Most cells have no score that passes: only of
 * the others the class is looked for. */

#include "scan.h"

/* The greater one of each pair of codes: signed integers of 1, 2 and 4 bytes. */
#if VB == 64
#define GREATER(size, bits) \
    INLINE V greater##size(V a, V b) { return _mm512_max_epi##bits(a, b); }
#elif VB == 32
#define GREATER(size, bits) \
    INLINE V greater##size(V a, V b) { return _mm256_max_epi##bits(a, b); }
#elif defined(__SSE4_1__)
#define GREATER(size, bits) \
    INLINE V greater##size(V a, V b) { return (V)_mm_max_epi##bits((__m128i)a, (__m128i)b); }
#else
#define GREATER(size, bits) \
    INLINE V greater##size(V a, V b) { return pick((V)((E##size)a > (E##size)b), a, b); }
#endif
GREATER(1, 8)
GREATER(2, 16)
GREATER(4, 32)

INLINE V key_float(const uint8_t *p) {
    const E4 x = (E4)whole(p), sign = x >> 31, size = x & 0x7FFFFFFF, nan = (E4)(size > 0x7F800000);
    return (V)((((size ^ sign) - sign) & ~nan) | (nan & 0x7FFFFFFF));
}

typedef V Key(const uint8_t *);
typedef V Pair(V, V);
typedef Mask Compare(V, V);

INLINE int32_t code_of(int size, const uint8_t *p) {
    if (size == 1) return (int8_t)*p;
    if (size == 2) {
        int16_t v;
        memcpy(&v, p, 2);
        return v;
    }
    int32_t v;
    memcpy(&v, p, 4);
    return v;
}

/* Planes: maxima of up to a bench of neighbouring cells, four channels in one go, so that they stay in the first cache. */
enum { SCANNED = 2048, AT_ONCE = 4, CLASSES = 127 };

INLINE void maxima_of(Key key, Pair greater, const uint8_t *data, const int64_t *channel, int64_t count, int64_t bytes, uint8_t *top) {
    for (int64_t i = 0; i < bytes; i += VB) put(top + i, key(data + channel[0] + i));
    int64_t c = 1;
    for (; c + AT_ONCE <= count; c += AT_ONCE) {
        const uint8_t *a = data + channel[c], *b = data + channel[c + 1], *d = data + channel[c + 2], *e = data + channel[c + 3];
        for (int64_t i = 0; i < bytes; i += VB)
            put(top + i, greater(greater(greater(key(a + i), key(b + i)), greater(key(d + i), key(e + i))), whole(top + i)));
    }
    for (; c < count; ++c)
        for (int64_t i = 0; i < bytes; i += VB) put(top + i, greater(key(data + channel[c] + i), whole(top + i)));
}

/* The first channel with the largest code of each cell of one vector. */
INLINE void classes_of(Key key, void take(V *, V *, V, V), int size, const uint8_t *data, const int64_t *channel, int64_t count,
                       uint8_t *top, uint8_t *at) {
    V best = key(data + channel[0]), which = number(size, 0);
    for (int64_t c = 1; c < count; ++c) take(&best, &which, key(data + channel[c]), number(size, c));
    put(top, best), put(at, which);
}

INLINE int64_t scan_planes(Key key, Pair greater, Compare more, void take(V *, V *, V, V), int size, const FeatureMap *map,
                           const uint8_t *data, int64_t offset, int64_t first, int32_t least, Hits *hits) {
    uint8_t top[SCANNED], at[VB], its[VB];
    const int unit = UNIT(size), wide = size > 1 || map->count <= CLASSES;
    const int64_t cells = map->line, whole_cells = cells / (VB / size) * (VB / size);
    const V below = number(size, least - 1);
    data += offset;
    for (int64_t done = 0; done < whole_cells; done += SCANNED / size) {
        const int64_t bytes = at_most(SCANNED, (whole_cells - done) * size);
        const uint8_t *p = data + done * size;
        maxima_of(key, greater, p, map->channel, map->count, bytes, top);
        for (int64_t i = 0; i < bytes; i += VB) {
            uint64_t bits = BITS(more(whole(top + i), below));
            if (__builtin_expect(!bits, 1)) continue;
            if (wide) classes_of(key, take, size, p + i, map->channel, map->count, its, at);
            while (bits) {
                const int bit = __builtin_ctzll(bits), k = bit / unit;
                bits &= ~((((uint64_t)1 << unit) - 1) << bit);
                const int64_t cell = first + done + i / size + k;
                hits->items[hits->count++] =
                    wide ? (Hit){(int32_t)cell, code_of(size, at + k * size), code_of(size, top + i + k * size)} : best_of_cell(map, data - offset, cell);
            }
        }
    }
    return whole_cells;
}

/* Blocks of channels: some vectors of cells, block after block. */
INLINE int64_t scan_blocks(Key key, Pair greater, Compare more, int size, const FeatureMap *map, const uint8_t *data, int64_t offset,
                           int64_t first, int32_t least, Hits *hits) {
    const int32_t low = size == 1 ? -128 : size == 2 ? -32768 : INT32_MIN;
    const int64_t end = map->lane + map->count, blocks = (end + map->block - 1) / map->block;
    if (map->cell > VB) return 0;
    const int64_t each = VB / map->cell, cells = map->line / each * each;
    uint8_t heads[VB], tails[VB];
    for (int i = 0; i < VB; ++i) {
        const int64_t lane = i / size % map->block;
        heads[i] = lane >= map->lane && lane < end ? 0xFF : 0;
        tails[i] = (blocks - 1) * map->block + lane < end ? 0xFF : 0;
    }
    const V head = whole(heads), tail = whole(tails), least_of_all = number(size, low), below = number(size, least - 1);
    const int unit = UNIT(size) * (int)map->block;
    const uint64_t one_cell = unit == 64 ? ~(uint64_t)0 : ((uint64_t)1 << unit) - 1;
    const uint8_t *begin = data + map->channel[0] - map->lane * size + offset;
    for (int64_t done = 0; done < cells; done += AT_ONCE * each) {
        V top[AT_ONCE];
        const int64_t vectors = at_most(AT_ONCE, (cells - done) / each);
        for (int v = 0; v < vectors; ++v) top[v] = (key(begin + done * map->cell + v * VB) & head) | (least_of_all & ~head);
        for (int64_t b = 1; b < blocks; ++b) {
            const uint8_t *p = data + map->channel[b * map->block - map->lane] + offset + done * map->cell;
            if (b + 1 < blocks || end % map->block == 0)
                for (int v = 0; v < vectors; ++v) top[v] = greater(top[v], key(p + v * VB));
            else
                for (int v = 0; v < vectors; ++v) top[v] = greater(top[v], (key(p + v * VB) & tail) | (least_of_all & ~tail));
        }
        for (int v = 0; v < vectors; ++v) {
            const uint64_t bits = BITS(more(top[v], below));
            if (__builtin_expect(!bits, 1)) continue;
            for (int k = 0; k < each; ++k)
                if (bits >> (k * unit) & one_cell) hits->items[hits->count++] = best_of_cell(map, data, first + done + v * each + k);
        }
    }
    return cells;
}

/* Neighbouring channels, cell after cell; the last vector of a cell begins earlier. */
INLINE int64_t scan_rows(Key key, Pair greater, Compare more, int size, const FeatureMap *map, const uint8_t *data, int64_t offset,
                         int64_t first, int32_t least, Hits *hits) {
    const int64_t bytes = map->count * size;
    if (bytes < VB) return 0;
    const V below = number(size, least - 1);
    const uint8_t *p = data + map->channel[0] + offset;
    for (int64_t cell = 0; cell < map->line; ++cell, p += map->cell) {
        V top = key(p + bytes - VB);
        for (int64_t i = 0; i + VB <= bytes; i += VB) top = greater(top, key(p + i));
        if (__builtin_expect(BITS(more(top, below)) != 0, 0)) hits->items[hits->count++] = best_of_cell(map, data, first + cell);
    }
    return map->line;
}

#define SCANS(name, key, size)                                                                                                       \
    static int64_t HERE(scan_planes_##name)(const FeatureMap *map, const uint8_t *data, int64_t offset, int64_t first, int32_t least, \
                                            Hits *hits) {                                                                            \
        return scan_planes(key, greater##size, more##size, take##size, size, map, data, offset, first, least, hits);                 \
    }                                                                                                                                \
    static int64_t HERE(scan_blocks_##name)(const FeatureMap *map, const uint8_t *data, int64_t offset, int64_t first, int32_t least, \
                                            Hits *hits) {                                                                            \
        return scan_blocks(key, greater##size, more##size, size, map, data, offset, first, least, hits);                             \
    }                                                                                                                                \
    static int64_t HERE(scan_rows_##name)(const FeatureMap *map, const uint8_t *data, int64_t offset, int64_t first, int32_t least,   \
                                          Hits *hits) {                                                                              \
        return scan_rows(key, greater##size, more##size, size, map, data, offset, first, least, hits);                               \
    }
SCANS(i8, key_plain, 1)
SCANS(u8, key_u8, 1)
SCANS(i16, key_plain, 2)
SCANS(u16, key_u16, 2)
SCANS(f16, key_f16, 2)
SCANS(bf16, key_bf16, 2)
SCANS(f32, key_float, 4)

#define SCANS_OF(kind) {HERE(scan_##kind##_i8), HERE(scan_##kind##_u8), HERE(scan_##kind##_i16), HERE(scan_##kind##_u16), NULL, \
                        HERE(scan_##kind##_f16), HERE(scan_##kind##_bf16), HERE(scan_##kind##_f32)}
