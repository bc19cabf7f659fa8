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
    const int32_t best = best_of_cell(level, &score->map, buffers[score->buffer], cell).code;
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

/* The values of a cell, of any dtype; NaN is larger than all. */
static double values_of(const Anchor *anchor, const uint8_t *const *buffers, int64_t cell, int64_t n, double *values) {
    const Source *score = &anchor->score, *background = &anchor->background;
    const uint8_t *data = buffers[score->buffer];
    const int64_t offset = cell_at(&score->map, cell);
    for (int64_t c = 0; c < score->map.count; ++c) values[share_at(anchor, c)] = source_value(score, cell, c, code_at(score, data, offset, c));
    if (background->map.count) values[anchor->aside] = value_at(background, buffers[background->buffer], cell, 0);
    double most = values[0];
    for (int64_t i = 1; i < n; ++i) most = most >= values[i] || most != most ? most : values[i];
    return most;
}

Shared shares_of_cell(const Level *level, const Anchor *anchor, const uint8_t *const *buffers, int64_t cell, double least, Workspace *work) {
    const int64_t n = anchor->score.map.count + (anchor->background.map.count != 0);
    if (work->shared < n + POWERS_STEP) {
        double *more = realloc(work->shares, (size_t)(n + POWERS_STEP) * sizeof *more);
        if (!more) return NO_ROOM;
        work->shares = more, work->shared = n + POWERS_STEP;
    }
    double *shares = work->shares, total = 0;
    if (anchor->score.powers) {
        if (by_table(level, anchor, buffers, cell, least, shares, &total) == NONE_REACHES) return NONE_REACHES;
    } else {
        const double most = values_of(anchor, buffers, cell, n, shares);
        for (int64_t i = 0; i < n; ++i) shares[i] -= most;
        for (int64_t i = n; i % POWERS_STEP; ++i) shares[i] = 0;
        level->detect->powers(shares, n);
        for (int64_t i = 0; i < n; ++i) total += shares[i];
    }
    for (int64_t i = 0; i < n; ++i) shares[i] /= total;
    return SHARES;
}
