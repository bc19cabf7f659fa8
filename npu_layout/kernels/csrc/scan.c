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

Hit best_of_cell(const FeatureMap *map, const uint8_t *data, int64_t cell) {
    const uint8_t *p = data + cell_at(map, cell);
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
