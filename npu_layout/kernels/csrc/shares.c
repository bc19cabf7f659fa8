#include "shares.h"

#include <stdlib.h>

/* Differences from the threshold that rounding can make. */
#define NEARLY (1 - 1e-9)

/* e**(value - the largest) of 8 bits, from their table: the sum of the first ones says of most cells that no class can have `least`. */
static Shared by_table(const Level *level, const Anchor *anchor, const uint8_t *const *buffers, int64_t cell, double least, double *shares,
                       double *total) {
    const Source *score = &anchor->score, *background = &anchor->background;
    const uint8_t *p = buffers[score->buffer] + cell_at(&score->map, cell), flip = byte_flip(score->map.type);
    const int64_t count = score->map.count, at = background->map.count ? anchor->aside : -1;
    const int32_t best = best_of_cell(level, &score->map, buffers[score->buffer], cell, &(Upcoming){0}).code;
    const int32_t beside = at < 0 ? best : code_at(background, buffers[background->buffer], cell_at(&background->map, cell), 0);
    const double *row = score->powers + ((beside > best ? beside : best) + 128) * 256 + 128, most = row[best], enough = least * NEARLY;
    if (most < enough * row[beside]) return NONE_REACHES;
    for (int64_t i = 0, c = 0; i < count + (at >= 0); ++i) {
        shares[i] = i == at ? row[beside] : row[(int8_t)(p[score->map.channel[c++]] ^ flip)];
        *total += shares[i];
        if (i % 8 == 7 && most < enough * *total) return NONE_REACHES;
    }
    return SHARES;
}

/* The values of a cell, of any dtype. */
static void values_of(const Anchor *anchor, const uint8_t *const *buffers, int64_t cell, double *values) {
    const Source *score = &anchor->score, *background = &anchor->background;
    const uint8_t *data = buffers[score->buffer];
    const int64_t offset = cell_at(&score->map, cell);
    for (int64_t c = 0; c < score->map.count; ++c) values[share_at(anchor, c)] = source_value(score, cell, c, code_at(score, data, offset, c));
    if (background->map.count) values[anchor->aside] = value_at(background, buffers[background->buffer], cell, 0);
}

/* Make values of a cell differences from the largest one; NaN is larger than all. */
static void from_largest(double *values, int64_t n) {
    double most = values[0];
    for (int64_t i = 1; i < n; ++i) most = most >= values[i] || most != most ? most : values[i];
    for (int64_t i = 0; i < n; ++i) values[i] -= most;
}

/* Differences from the sum of exponentials that float32 can make in a sum that they reach. */
#define NEARLY_SINGLE (1 - 1e-3f)

/* Whether the largest share is less than `least`, of differences from the largest value, or, of float32, of the values themselves. */
static int is_below(const Level *level, float *x, int64_t n, double least) {
    for (int64_t i = n; i % SUM_STEP; ++i) x[i] = -INFINITY;
    return (double)(level->detect->least_sum(x, n) * NEARLY_SINGLE) * least > 1;
}

/* The values of a cell of float32, the background's at the end. */
static void singles_of(const Anchor *anchor, const uint8_t *const *buffers, int64_t cell, float *x) {
    const FeatureMap *map = &anchor->score.map, *beside = &anchor->background.map;
    const uint8_t *p = buffers[anchor->score.buffer] + cell_at(map, cell);
    if (map->kind == ROWS)
        memcpy(x, p + map->channel[0], (size_t)map->count * sizeof *x);
    else
        for (int64_t c = 0; c < map->count; ++c) memcpy(x + c, p + map->channel[c], sizeof *x);
    if (beside->count) memcpy(x + map->count, buffers[anchor->background.buffer] + cell_at(beside, cell) + beside->channel[0], sizeof *x);
}

/* The same numbers in the order of shares. */
static void widen_singles(const Anchor *anchor, const float *x, int64_t n, double *values) {
    const int64_t count = anchor->score.map.count, aside = n > count ? anchor->aside : count;
    for (int64_t c = 0; c < aside; ++c) values[c] = x[c];
    for (int64_t c = aside; c < count; ++c) values[c + 1] = x[c];
    if (n > count) values[aside] = x[count];
}

/* Room for n doubles, and as many floats behind them; 0: there is no memory. */
static int room_for(Workspace *work, int64_t n) {
    const int64_t doubles = n + POWERS_STEP;
    if (work->shared >= doubles) return 1;
    double *more = realloc(work->shares, (size_t)doubles * sizeof *more + (size_t)(n + SUM_STEP) * sizeof(float));
    if (!more) return 0;
    work->shares = more, work->shared = doubles;
    return 1;
}

/* Powers of differences, unless no share can be `least`. */
static Shared by_powers(const Level *level, const Anchor *anchor, const uint8_t *const *buffers, int64_t cell, double least, int64_t n,
                        double *shares, float *singles, double *total) {
    const FeatureMap *beside = &anchor->background.map;
    const int stored = anchor->score.map.type == F32 && (!beside->count || beside->type == F32);
    if (stored) {
        singles_of(anchor, buffers, cell, singles);
        if (least > 0 && is_below(level, singles, n, least)) return NONE_REACHES;
        widen_singles(anchor, singles, n, shares);
        from_largest(shares, n);
    } else {
        values_of(anchor, buffers, cell, shares);
        from_largest(shares, n);
        for (int64_t i = 0; i < n; ++i) singles[i] = (float)shares[i];
        if (least > 0 && is_below(level, singles, n, least)) return NONE_REACHES;
    }
    for (int64_t i = n; i % POWERS_STEP; ++i) shares[i] = 0;
    level->detect->powers(shares, n);
    for (int64_t i = 0; i < n; ++i) *total += shares[i];
    return SHARES;
}

Shared shares_of_cell(const Level *level, const Anchor *anchor, const uint8_t *const *buffers, int64_t cell, double least, Workspace *work) {
    const int64_t n = anchor->score.map.count + (anchor->background.map.count != 0);
    if (!room_for(work, n)) return NO_ROOM;
    double *shares = work->shares, total = 0;
    const Shared found = anchor->score.powers
                             ? by_table(level, anchor, buffers, cell, least, shares, &total)
                             : by_powers(level, anchor, buffers, cell, least, n, shares, (float *)(shares + work->shared), &total);
    if (found == NONE_REACHES) return NONE_REACHES;
    for (int64_t i = 0; i < n; ++i) shares[i] /= total;
    return SHARES;
}
