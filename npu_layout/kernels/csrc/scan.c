#include "scan.h"

#include <stdlib.h>

int hits_grow(Hits *hits, int64_t more) {
    int64_t room = hits->room ? hits->room : 1024;
    while (room < hits->count + more) room *= 2;
    Hit *items = realloc(hits->items, (size_t)room * sizeof *items);
    if (!items) return 0;
    hits->items = items, hits->room = room;
    return 1;
}

/* What every map can use: the tables, an element at a time. `type` is a constant of each call, so that the compiler makes a loop
 * for each. */
static inline __attribute__((always_inline)) Hit best_by_tables(Dtype type, const FeatureMap *map, const uint8_t *p, int64_t cell) {
    Hit best = {(int32_t)cell, 0, sorted_code(type, p + map->channel[0])};
    for (int64_t c = 1; c < map->count; ++c) {
        const int32_t code = sorted_code(type, p + map->channel[c]);
        if (code > best.code) best.code = code, best.channel = (int32_t)c;
    }
    return best;
}

static inline __attribute__((always_inline)) int scan_by_tables(Dtype type, const FeatureMap *map, const uint8_t *data, int64_t from,
                                                                int64_t to, int32_t least, int all, Hits *hits) {
    for (int64_t cell = from; cell < to; ++cell) {
        const uint8_t *p = data + cell_at(map, cell);
        const Hit best = best_by_tables(type, map, p, cell);
        if (best.code < least) continue;
        if (!hits_reserve(hits, all ? map->count : 1)) return 0;
        if (!all) hits->items[hits->count++] = best;
        for (int64_t c = all ? best.channel * (best.code == least) : map->count; c < map->count; ++c) {
            const int32_t code = sorted_code(type, p + map->channel[c]);
            if (code >= least) hits->items[hits->count++] = (Hit){(int32_t)cell, (int32_t)c, code};
        }
    }
    return 1;
}

#define FOR_EACH_TYPE(call)     \
    switch (map->type) {        \
        case I8: return call(I8);     \
        case U8: return call(U8);     \
        case I16: return call(I16);   \
        case U16: return call(U16);   \
        case F16: return call(F16);   \
        case BF16: return call(BF16); \
        default: return call(F32);    \
    }

static int by_tables(const FeatureMap *map, const uint8_t *data, int64_t from, int64_t to, int32_t least, int all, Hits *hits) {
#define SCAN_TABLES(type) scan_by_tables(type, map, data, from, to, least, all, hits)
    FOR_EACH_TYPE(SCAN_TABLES)
}

static Hit best_at(const FeatureMap *map, const uint8_t *p, int64_t cell) {
#define BEST_TABLES(type) best_by_tables(type, map, p, cell)
    FOR_EACH_TYPE(BEST_TABLES)
}

static int32_t lowest(const FeatureMap *map) { return dtype_size[map->type] == 4 ? INT32_MIN : lowest_code(map->type); }

/* The first largest one of neighbouring signed bytes, 16 or more; `best` has one already. */
typedef int8_t Signed16 __attribute__((vector_size(16)));
static void best_of_run(const uint8_t *p, int64_t n, uint8_t flip, int32_t first, Hit *best) {
    Signed16 top, v;
    int8_t lanes[16];
    memcpy(&top, p + n - 16, 16);
    top ^= (int8_t)flip;
    for (int64_t i = 0; i + 16 <= n; i += 16) {
        memcpy(&v, p + i, 16);
        v ^= (int8_t)flip;
        const Signed16 larger = v > top;
        top = (v & larger) | (top & ~larger);
    }
    memcpy(lanes, &top, 16);
    int8_t most = lanes[0];
    for (int i = 1; i < 16; ++i) most = lanes[i] > most ? lanes[i] : most;
    if (most <= best->code) return;
    const uint8_t *at = memchr(p, (uint8_t)most ^ flip, (size_t)n);
    best->code = most, best->channel = first + (int32_t)(at - p);
}

static Hit best_byte_of_cell(const FeatureMap *map, const uint8_t *p, int64_t cell) {
    const uint8_t flip = byte_flip(map->type);
    const int64_t runs = map->kind == BLOCKS ? map->block : map->kind == ROWS ? map->count : 0;
    Hit best = {(int32_t)cell, 0, -129};
    for (int64_t c = 0; c < map->count;) {
        const int64_t whole = runs - (c || map->kind == ROWS ? 0 : map->lane), n = whole < map->count - c ? whole : map->count - c;
        if (runs && n >= 16) {
            best_of_run(p + map->channel[c], n, flip, (int32_t)c, &best);
            c += n;
            continue;
        }
        for (const int64_t end = runs ? c + n : map->count; c < end; ++c) {
            const int32_t code = (int8_t)(p[map->channel[c]] ^ flip), larger = code > best.code;
            best.channel = larger ? (int32_t)c : best.channel, best.code = larger ? code : best.code;
        }
    }
    return best;
}

/* The loops of a map: those of shorter vectors where a cell's channels do not fill one. */
static Scan *scan_of(const Level *level, const FeatureMap *map) {
    while (map->kind == ROWS && level->narrower && map->count * dtype_size[map->type] < level->vector) level = level->narrower;
    return level->detect->scan[map->kind][map->type];
}

Hit best_of_cell(const Level *level, const FeatureMap *map, const uint8_t *data, int64_t cell) {
    Hit found[64]; /* room for the cells of a vector, for which the loops ask */
    Hits one = {found, 0, 64};
    const int64_t offset = cell_at(map, cell);
    if (map->type <= U8) return best_byte_of_cell(map, data + offset, cell);
    if (map->kind == ROWS && scan_of(level, map)(map, data, offset, cell, 1, lowest(map) + 1, 0, &one) == 1 && one.count) return found[0];
    return best_at(map, data + offset, cell);
}

int scan(const Level *level, const FeatureMap *map, const uint8_t *data, int32_t least, int all, Hits *hits) {
    const int32_t low = lowest(map), high = -1 - low;
    if (least > high) return 1;
    Scan *const run = map->kind == TABLES || least <= low ? NULL : scan_of(level, map);
    for (int64_t i = 0; run && i < map->lines; ++i) {
        const Line line = line_at(map, i);
        const int64_t done = run(map, data, line.offset, line.first, line.cells, least, all, hits);
        if (done < 0 || !by_tables(map, data, line.first + done, line.first + line.cells, least, all, hits)) return 0;
    }
    return run || by_tables(map, data, 0, map->rows * map->columns, least, all, hits);
}
