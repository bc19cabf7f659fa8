#include "sums.h"

#include <math.h>

int64_t sums_tiles(const Matrices *m) { return m->columns > SUM_TILE ? (m->columns - 1) / SUM_TILE + 1 : 1; }

static int is_added(int k) { return k < SUMS_LOW || k >= SUMS_BY_COLUMN; }
static int is_low(int k) { return k >= SUMS_LOW && k < SUMS_HIGH; }
/* Of no numbers; the largest square of an error is 0. */
static double of_none(int k) { return is_low(k) ? INFINITY : k == SUMS_HIGH || k == SUMS_HIGH + 1 ? -INFINITY : 0; }
static double of_both(int k, double a, double b) { return is_added(k) ? a + b : is_low(k) == (b < a) && a != b ? b : a; }

/* The numbers of a part of a row: in place, or on the bench. */
static const uint8_t *neighbours_of(const uint8_t *p, int64_t step, int64_t n, int item, uint8_t *bench) {
    if (!p || step == item || n == 1) return p;
    for (int64_t i = 0; i < n; ++i, p += step) {
        if (item == 4) memcpy(bench + 4 * i, p, 4);
        else memcpy(bench + 8 * i, p, 8);
    }
    return bench;
}

/* One tile of one matrix. */
static void add_tile(RowSums *row_sums, const Matrices *m, int64_t matrix, int64_t first, int64_t n, double *columns, double *by_row) {
    uint8_t bench[SUMMED_ARRAYS][8 * SUM_TILE];
    for (int64_t r = 0; r < m->rows; ++r) {
        const uint8_t *numbers[SUMMED_ARRAYS];
        double row[SUMS_BY_ROW];
        for (int k = 0; k < SUMMED_ARRAYS; ++k) {
            const uint8_t *p = m->of[k].at;
            if (p) p += matrix * m->of[k].matrix + r * m->of[k].row + first * m->of[k].column;
            numbers[k] = neighbours_of(p, m->of[k].column, n, m->item, bench[k]);
        }
        row_sums(numbers, n, columns, row);
        for (int k = 0; k < SUMS_BY_ROW; ++k) by_row[k * m->rows + r] = of_both(k, by_row[k * m->rows + r], row[k]);
    }
}

void sums_run(const Level *level, const Matrices *m, int64_t part, int64_t parts) {
    _Alignas(64) double columns[SUMS_BY_COLUMN * SUM_TILE];
    const int64_t tiles = sums_tiles(m);
    for (int64_t t = part * tiles / parts; t < (part + 1) * tiles / parts; ++t) {
        const int64_t first = t * SUM_TILE, n = at_most(m->columns - first, SUM_TILE);
        double *by_row = m->by_row + t * SUMS_BY_ROW * m->rows;
        for (int k = 0; k < SUMS_BY_ROW; ++k)
            for (int64_t r = 0; r < m->rows; ++r) by_row[k * m->rows + r] = of_none(k);
        for (int64_t a = 0; a < m->count; ++a) {
            for (int k = 0; k < SUMS_BY_COLUMN; ++k)
                for (int i = 0; i < SUM_TILE; ++i) columns[k * SUM_TILE + i] = of_none(k);
            if (n) add_tile(level->row_sums[m->item == 4 ? SUMS_F32 : SUMS_F64], m, a, first, n, columns, by_row);
            for (int k = 0; k < SUMS_BY_COLUMN; ++k)
                memcpy(m->by_column + (k * m->count + a) * m->columns + first, columns + k * SUM_TILE, (size_t)n * sizeof *columns);
        }
    }
}

void sums_merge(const Matrices *m) {
    for (int64_t t = 1; t < sums_tiles(m); ++t) {
        const double *more = m->by_row + t * SUMS_BY_ROW * m->rows;
        for (int k = 0; k < SUMS_BY_ROW; ++k)
            for (int64_t i = k * m->rows; i < (k + 1) * m->rows; ++i) m->by_row[i] = of_both(k, m->by_row[i], more[i]);
    }
}
