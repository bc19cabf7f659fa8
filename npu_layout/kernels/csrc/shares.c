#include "shares.h"

#include <stdlib.h>

const double *shares_of_cell(const Level *level, const Anchor *anchor, const uint8_t *const *buffers, int64_t cell, Workspace *work) {
    const Source *score = &anchor->score, *background = &anchor->background;
    const int64_t count = score->map.count, n = count + (background->map.count != 0);
    if (work->shared < n + POWERS_STEP) {
        double *more = realloc(work->shares, (size_t)(n + POWERS_STEP) * sizeof *more);
        if (!more) return NULL;
        work->shares = more, work->shared = n + POWERS_STEP;
    }
    double *shares = work->shares;
    const uint8_t *data = buffers[score->buffer];
    const int64_t offset = cell_at(&score->map, cell);
    for (int64_t c = 0; c < count; ++c) shares[share_at(anchor, c)] = source_value(score, cell, c, code_at(score, data, offset, c));
    if (background->map.count) shares[anchor->aside] = value_at(background, buffers[background->buffer], cell, 0);
    double most = shares[0], total = 0;
    for (int64_t i = 1; i < n; ++i) most = most >= shares[i] || most != most ? most : shares[i]; /* NaN is larger than all */
    for (int64_t i = 0; i < n; ++i) shares[i] -= most;
    for (int64_t i = n; i % POWERS_STEP; ++i) shares[i] = 0;
    level->detect->powers(shares, n);
    for (int64_t i = 0; i < n; ++i) total += shares[i];
    for (int64_t i = 0; i < n; ++i) shares[i] /= total;
    return shares;
}
