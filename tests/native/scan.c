/* Scans of random feature maps at every level against loops over values, with the buffer before a page that cannot be read. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "scan.h"

enum { GUARD = 65536, ROOM = 1 << 22, CHANNELS = 400, SIDE = 128 };
static uint64_t state = 88172645463325252u;
static int64_t below(int64_t n) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (int64_t)(state % (uint64_t)n);
}

/* The value of an element, without the library's codes; NaN is the largest. */
static double value_of(Dtype type, const uint8_t *p) {
    const unsigned half = p[0] | (dtype_size[type] > 1 ? p[1] << 8 : 0);
    float single;
    if (type == I8) return (int8_t)*p;
    if (type == U8) return *p;
    if (type == I16) return (int16_t)half;
    if (type == U16) return half;
    if (type == I32) return (int32_t)(half | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24);
    if (type == F16) {
        const int exponent = half >> 10 & 31, fraction = half & 1023;
        const double size = exponent == 31 ? (fraction ? 2e300 : 1e300) : exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
        return half >> 15 && size < 2e300 ? -size : size;
    }
    if (type == BF16) {
        const uint32_t bits = (uint32_t)half << 16;
        memcpy(&single, &bits, 4);
    } else
        memcpy(&single, p, 4);
    return isnan(single) ? 2e300 : isinf(single) ? (single > 0 ? 1e300 : -1e300) : single;
}

static int64_t channel[CHANNELS], row[SIDE], column[SIDE];

/* Channels in blocks behind others, rows and columns in blocks, gaps, the planes outside or inside the rows. Return the bytes. */
static int64_t random_map(FeatureMap *map) {
    static const Dtype types[] = {I8, U8, I16, U16, I32, F16, BF16, F32};
    static const int64_t blocks[] = {1, 1, 2, 4, 8, 16, 32, 64, CHANNELS};
    map->type = types[below(8)], map->count = below(8) ? 1 + below(below(4) ? 90 : 300) : 1;
    map->rows = 1 + below(6), map->columns = 1 + below(below(4) ? 20 : 90);
    const int64_t size = dtype_size[map->type], before = below(3) ? 0 : below(40), all = map->count + before + (below(2) ? 0 : below(20));
    const int64_t high = below(3) ? 1 : 1 + below(4), wide = below(3) ? 1 : 1 << below(5), block = blocks[below(9)];
    const int64_t lanes = block < all ? block : all, cell = lanes + (below(4) ? 0 : below(5));
    const int64_t across = cell * wide * high, down = across * ((map->columns + wide - 1) / wide) + (below(3) ? 0 : below(9));
    const int inside = below(4) == 0;
    const int64_t plane = inside ? across * ((map->columns + wide - 1) / wide) + 3 : down * ((map->rows + high - 1) / high);
    const int64_t step = inside ? plane * ((all + lanes - 1) / lanes) : down;
    int64_t end = 0;
    for (int64_t c = 0; c < map->count; ++c) channel[c] = ((c + before) / lanes * plane + (c + before) % lanes) * size;
    for (int64_t y = 0; y < map->rows; ++y) row[y] = (y / high * step + y % high * cell * wide) * size;
    for (int64_t x = 0; x < map->columns; ++x) column[x] = (x / wide * across + x % wide * cell) * size;
    map->channel = channel, map->row = row, map->column = column;
    for (int64_t c = 0; c < map->count; ++c)
        for (int64_t y = 0; y < map->rows; ++y)
            for (int64_t x = 0; x < map->columns; ++x)
                if (channel[c] + row[y] + column[x] + size > end) end = channel[c] + row[y] + column[x] + size;
    return end + (below(2) ? 0 : below(100) * size);
}

static int is(const Hits *hits, int64_t *at, int64_t cell, int64_t c) {
    const Hit *hit = hits->items + *at;
    return (*at)++ < hits->count && hit->cell == cell && hit->channel == c;
}

static int equal(const Level *level, const FeatureMap *map, const uint8_t *data, int32_t least, double bound, Hits *best, Hits *all) {
    int64_t at = 0, listed = 0;
    best->count = all->count = 0;
    if (!scan_best(level, map, data, least, best) || !scan_all(level, map, data, least, all)) return 0;
    for (int64_t cell = 0; cell < map->rows * map->columns; ++cell) {
        const uint8_t *p = data + row[cell / map->columns] + column[cell % map->columns];
        int64_t first = 0;
        for (int64_t c = 0; c < map->count; ++c) {
            const double v = value_of(map->type, p + channel[c]);
            if (v > value_of(map->type, p + channel[first])) first = c;
            if (v >= bound && !is(all, &listed, cell, c)) return 0;
        }
        if (value_of(map->type, p + channel[first]) >= bound && !is(best, &at, cell, first)) return 0;
        if (cell % 7 == 0 && best_of_cell(level, map, data, cell, &(Upcoming){NULL, NULL, 0}).channel != first) return 0;
    }
    return at == best->count && listed == all->count;
}

int main(int count, char **arguments) {
    const int64_t n = count > 1 ? atoll(arguments[1]) : 1000;
    uint8_t *area = mmap(NULL, ROOM + 2 * GUARD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (area == MAP_FAILED || mprotect(area + GUARD, ROOM, PROT_READ | PROT_WRITE)) return 2;
    Hits best = {0}, all = {0};
    int64_t wrong = 0, kinds[4] = {0};
    for (int64_t i = 0; i < n; ++i) {
        FeatureMap map = {0};
        const int64_t bytes = random_map(&map);
        if (bytes > ROOM) continue;
        uint8_t *data = area + GUARD + (below(2) ? ROOM - bytes : 0);
        if (!feature_map_plan(&map, bytes)) return 1;
        ++kinds[map.kind];
        const int narrow = below(3) == 0; /* ties */
        for (int64_t k = 0; k < bytes; ++k) data[k] = (uint8_t)(narrow ? below(4) - 2 : below(256));
        const uint8_t *some = data + row[below(map.rows)] + column[below(map.columns)] + channel[below(map.count)];
        const int32_t least = sorted_code(map.type, some);
        for (int k = 0; k < level_count(); ++k)
            if (level_at(k) && !equal(level_at(k), &map, data, least, value_of(map.type, some), &best, &all)) ++wrong;
    }
    printf("%lld planes, %lld blocks, %lld rows, %lld by tables, %lld wrong\n", (long long)kinds[0], (long long)kinds[1], (long long)kinds[2],
           (long long)kinds[3], (long long)wrong);
    free(best.items), free(all.items);
    return wrong != 0;
}
