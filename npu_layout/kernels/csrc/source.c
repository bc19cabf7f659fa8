#include "source.h"

void source_powers(const Level *level, Source *source) {
    for (int top = 0; top < 256; ++top)
        for (int code = 0; code < 256; ++code) source->powers[top * 256 + code] = source->values[code] - source->values[top];
    level->detect->powers(source->powers, 65536);
}

/* The means of four sides, which go on side by side, each in the order of its bins. POWER: of bin i of side k. */
#define MEANS(POWER)                                                \
    double total[4] = {0}, moment[4] = {0};                         \
    for (int i = 0; i < bins; ++i)                                  \
        for (int k = 0; k < 4; ++k) {                               \
            const double power = POWER;                             \
            total[k] += power, moment[k] += power * i;              \
        }                                                           \
    for (int k = 0; k < 4; ++k) sides[k] = moment[k] / total[k];

/* From the table of the powers of 8 bits. */
static void means_by_table(const Source *box, const int32_t *codes, int bins, double sides[4]) {
    const double *row[4];
    for (int k = 0; k < 4; ++k) {
        int32_t top = codes[k * bins];
        for (int i = 1; i < bins; ++i) top = codes[k * bins + i] > top ? codes[k * bins + i] : top;
        row[k] = box->powers + (top + 128) * 256 + 128;
    }
    MEANS(row[k][codes[k * bins + i]])
}

static void means_of_powers(const double *powers, int bins, double sides[4]) { MEANS(powers[k * bins + i]) }

/* What the codes of the channels of a cell mean. */
static void values_of(const Source *source, int64_t cell, const int32_t *codes, int n, double *values) {
    if (source->scaling == BY_CHANNEL) {
        const int32_t first = first_of(source->map.type);
        for (int i = 0; i < n; ++i) values[i] = ((float)(codes[i] + first) - source->zero[i]) * source->scale[i];
        if (source->activation == SIGMOID_OF)
            for (int i = 0; i < n; ++i) values[i] = sigmoid_of(values[i]);
        return;
    }
    for (int i = 0; i < n; ++i) values[i] = source_value(source, cell, i, codes[i]);
}

/* The largest value of each side; NaN is larger than all. */
static void largest(const double *values, int bins, double most[4]) {
    for (int k = 0; k < 4; ++k) most[k] = values[k * bins];
    for (int i = 1; i < bins; ++i)
        for (int k = 0; k < 4; ++k) {
            const double value = values[k * bins + i];
            most[k] = most[k] >= value || most[k] != most[k] ? most[k] : value;
        }
}

void mean_bins(const Level *level, const Source *box, const uint8_t *data, int64_t cell, int bins, double sides[4]) {
    int32_t codes[4 * MOST_BINS];
    double powers[4 * MOST_BINS + POWERS_STEP], most[4];
    const int n = 4 * bins;
    codes_of_cell(&box->map, data + cell_at(&box->map, cell), 0, n, codes);
    if (box->powers) {
        means_by_table(box, codes, bins, sides);
        return;
    }
    values_of(box, cell, codes, n, powers);
    largest(powers, bins, most);
    for (int k = 0; k < 4; ++k)
        for (int i = 0; i < bins; ++i) powers[k * bins + i] -= most[k];
    for (int i = n; i % POWERS_STEP; ++i) powers[i] = 0;
    level->detect->powers(powers, n);
    means_of_powers(powers, bins, sides);
}
