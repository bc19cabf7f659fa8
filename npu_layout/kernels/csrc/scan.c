#include "scan.h"

#include <stdlib.h>

int hits_reserve(Hits *hits, int64_t more) {
    if (hits->count + more <= hits->room) return 1;
    int64_t room = hits->room ? hits->room : 1024;
    while (room < hits->count + more) room *= 2;
    Hit *items = realloc(hits->items, (size_t)room * sizeof *items);
    if (!items) return 0;
    hits->items = items, hits->room = room;
    return 1;
}

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

Hit best_of_cell(const FeatureMap *map, const uint8_t *data, int64_t cell) {
    const uint8_t *p = data + cell_at(map, cell);
    if (map->type <= U8) return best_byte_of_cell(map, p, cell);
    Hit best = {(int32_t)cell, 0, sorted_code(map->type, p + map->channel[0])};
    for (int64_t c = 1; c < map->count; ++c) {
        const int32_t code = sorted_code(map->type, p + map->channel[c]);
        if (code > best.code) best.code = code, best.channel = (int32_t)c;
    }
    return best;
}

static int best_by_tables(const FeatureMap *map, const uint8_t *data, int64_t from, int64_t to, int32_t least, Hits *hits) {
    if (!hits_reserve(hits, to - from)) return 0;
    for (int64_t cell = from; cell < to; ++cell) {
        const Hit hit = best_of_cell(map, data, cell);
        if (hit.code >= least) hits->items[hits->count++] = hit;
    }
    return 1;
}

int scan_best(const Level *level, const FeatureMap *map, const uint8_t *data, int32_t least, Hits *hits) {
    const int32_t low = dtype_size[map->type] == 4 ? INT32_MIN : lowest_code(map->type);
    const int32_t high = dtype_size[map->type] == 4 ? INT32_MAX : -1 - low;
    if (least > high) return 1;
    Scan *const scan = map->kind == TABLES || least <= low ? NULL : level->detect->scan[map->kind][map->type];
    for (int64_t line = 0; line < map->lines; ++line) {
        const int64_t from = line * map->line;
        int64_t done = 0;
        if (!hits_reserve(hits, map->line)) return 0;
        if (scan) done = scan(map, data, line_at(map, line), from, least, hits);
        if (!best_by_tables(map, data, from + done, from + map->line, least, hits)) return 0;
    }
    return 1;
}

int scan_all(const FeatureMap *map, const uint8_t *data, int32_t least, Hits *hits) {
    const int64_t cells = map->rows * map->columns;
    for (int64_t cell = 0; cell < cells; ++cell) {
        if (!hits_reserve(hits, map->count)) return 0;
        const uint8_t *p = data + cell_at(map, cell);
        for (int64_t c = 0; c < map->count; ++c) {
            const int32_t code = sorted_code(map->type, p + map->channel[c]);
            if (code >= least) hits->items[hits->count++] = (Hit){(int32_t)cell, (int32_t)c, code};
        }
    }
    return 1;
}
