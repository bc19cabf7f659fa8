#include "feature_map.h"

/* The extremes of a table. */
static void extremes(const int64_t *table, int64_t n, int64_t *low, int64_t *high) {
    *low = *high = table[0];
    for (int64_t i = 1; i < n; ++i) {
        if (table[i] < *low) *low = table[i];
        if (table[i] > *high) *high = table[i];
    }
}

/* Bytes from one entry to the next, if it is the same everywhere, else 0. One entry has any step: `single`. */
static int64_t step_of(const int64_t *table, int64_t n, int64_t single) {
    if (n == 1) return single;
    for (int64_t i = 2; i < n; ++i)
        if (table[i] - table[i - 1] != table[1] - table[0]) return 0;
    return table[1] - table[0];
}

/* Channels behind the first one that neighbour it, one after the other. */
static int64_t run_at(const FeatureMap *map, int64_t from) {
    int64_t n = 1;
    while (from + n < map->count && map->channel[from + n] - map->channel[from + n - 1] == dtype_size[map->type]) ++n;
    return n;
}

/* Whether channels are in blocks as long as the step of cells, and the blocks are inside the buffer. */
static int in_blocks(FeatureMap *map, int64_t low, int64_t high, int64_t bytes) {
    const int64_t size = dtype_size[map->type], block = map->cell / size;
    if (map->cell % size || (map->cell != 4 && map->cell != 8 && map->cell != 16 && map->cell != 32 && map->cell != 64)) return 0;
    const int64_t first = run_at(map, 0);
    if (first > block) return 0;
    for (int64_t c = first; c < map->count;) {
        const int64_t run = run_at(map, c);
        if (run > block || (run < block && c + run < map->count)) return 0;
        c += run;
    }
    const int whole = first < map->count;
    for (int64_t lane = whole ? block - first : 0; lane <= block - first; ++lane) {
        int inside = 1;
        for (int64_t c = 0; c < map->count; c += c ? block : block - lane) {
            const int64_t from = map->channel[c] - (c ? 0 : lane * size);
            inside = inside && from + low >= 0 && from + high + map->cell <= bytes;
        }
        if (inside) {
            map->lane = lane, map->block = block;
            return 1;
        }
    }
    return 0;
}

int feature_map_plan(FeatureMap *map, int64_t bytes) {
    int64_t low[3], high[3];
    const int64_t size = dtype_size[map->type];
    if (map->count < 1 || map->rows < 1 || map->columns < 1) return 0;
    extremes(map->channel, map->count, low, high);
    extremes(map->row, map->rows, low + 1, high + 1);
    extremes(map->column, map->columns, low + 2, high + 2);
    for (int i = 0; i < 3; ++i)
        if (low[i] < -((int64_t)1 << 60) || high[i] > (int64_t)1 << 60) return 0;
    if (low[0] + low[1] + low[2] < 0 || high[0] + high[1] + high[2] + size > bytes) return 0;
    map->cell = step_of(map->column, map->columns, size);
    map->lines = map->rows, map->line = map->columns;
    if (map->rows > 1 && map->cell && step_of(map->row, map->rows, 0) == map->cell * map->columns)
        map->lines = 1, map->line = map->rows * map->columns;
    map->lane = map->block = 0;
    if (map->cell == size)
        map->kind = PLANES;
    else if (map->cell > 0 && in_blocks(map, low[1] + low[2], high[1] + high[2], bytes))
        map->kind = BLOCKS;
    else if (map->cell && run_at(map, 0) == map->count)
        map->kind = ROWS;
    else
        map->kind = TABLES;
    return 1;
}
