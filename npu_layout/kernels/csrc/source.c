#include "source.h"

#include "largest.h"

#define INLINE static inline __attribute__((always_inline))

void source_powers(const Level *level, Source *source) {
    for (int top = 0; top < 256; ++top)
        for (int code = 0; code < 256; ++code) source->powers[top * 256 + code] = source->values[code] - source->values[top];
    level->detect->powers(source->powers, 65536);
}

/* The means of four sides, which go on side by side, two in a vector, each in the order of its bins. POWER: of bin i of side k. */
typedef double Two __attribute__((vector_size(16)));
typedef int64_t Longs __attribute__((vector_size(16)));
#define MEANS(POWER)                                                                \
    Two total[2] = {{0}}, moment[2] = {{0}};                                        \
    for (int i = 0; i < bins; ++i) {                                                \
        const Two at = {i, i}, first = {POWER(0), POWER(1)}, last = {POWER(2), POWER(3)}; \
        total[0] += first, total[1] += last;                                        \
        moment[0] += first * at, moment[1] += last * at;                            \
    }                                                                               \
    moment[0] /= total[0], moment[1] /= total[1];                                   \
    memcpy(sides, moment, sizeof moment);

/* From the table of the powers of 8 bits: `bins` bytes of each side, signed or not. */
INLINE void means_by_table(const double *powers, const uint8_t *const side[4], int bins, int is_signed, double sides[4]) {
    const double *row[4];
    for (int k = 0; k < 4; ++k) row[k] = powers + largest_byte(side[k], bins, is_signed ? 0x80 : 0) * 256 + (is_signed ? 128 : 0);
#define POWER_OF(k) row[k][is_signed ? (int8_t)side[k][i] : side[k][i]]
    MEANS(POWER_OF)
}
static void means_of_any(const double *powers, const uint8_t *const side[4], int bins, int is_signed, double sides[4]) {
    means_by_table(powers, side, bins, is_signed, sides);
}
static void means_of_16(const double *powers, const uint8_t *const side[4], int is_signed, double sides[4]) {
    if (is_signed) means_by_table(powers, side, 16, 1, sides);
    else means_by_table(powers, side, 16, 0, sides);
}

/* Of 8 bits; the bytes of a side are read where they are, or brought together. */
static void means_of_bytes(const Source *box, const uint8_t *p, int bins, const Upcoming *next, double sides[4]) {
    const FeatureMap *map = &box->map;
    uint8_t bytes[4 * MOST_BINS];
    const uint8_t *side[4];
    if (map->run % bins) bytes_of_cell(map, p, next, bytes);
    else fetch_upcoming(next);
    for (int k = 0; k < 4; ++k) side[k] = map->run % bins ? bytes + k * bins : p + map->channel[k * bins];
    if (bins == 16) means_of_16(box->powers, side, map->type == I8, sides);
    else means_of_any(box->powers, side, bins, map->type == I8, sides);
}

static void means_of_powers(const double *powers, int bins, double sides[4]) {
#define POWER_AT(k) powers[(k) * bins + i]
    MEANS(POWER_AT)
}

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

INLINE Two two_at(const double *p) {
    Two v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* Make the values of four sides differences from the largest one of each; NaN is larger than all. The sides go on side by side. */
static void from_largest(double *values, int n) {
    Two top[4];
    Longs none = {0}; /* which of two numbers is larger is not asked of NaN */
    for (int k = 0; k < 4; ++k) top[k] = n > 1 ? two_at(values + k * n + n - 2) : (Two){values[k], values[k]}, none |= top[k] != top[k];
    for (int i = 0; i + 1 < n; i += 2)
        for (int k = 0; k < 4; ++k) {
            const Two v = two_at(values + k * n + i);
            const Longs larger = v > top[k];
            top[k] = (Two)((larger & (Longs)v) | (~larger & (Longs)top[k])), none |= v != v;
        }
    for (int k = 0; k < 4; ++k, values += n) {
        double most = top[k][0] > top[k][1] ? top[k][0] : top[k][1];
        for (int i = 0; i < n && (none[0] | none[1]); ++i)
            if (values[i] != values[i]) most = values[i];
        for (int i = 0; i < n; ++i) values[i] -= most;
    }
}

void mean_bins(const Level *level, const Source *box, const uint8_t *data, int64_t cell, int bins, const Upcoming *next, double sides[4]) {
    int32_t codes[4 * MOST_BINS];
    double powers[4 * MOST_BINS + POWERS_STEP];
    const int n = 4 * bins;
    const uint8_t *p = data + cell_at(&box->map, cell);
    if (box->powers) {
        means_of_bytes(box, p, bins, next, sides);
        return;
    }
    codes_of_cell(&box->map, p, next, codes);
    values_of(box, cell, codes, n, powers);
    from_largest(powers, bins);
    for (int i = n; i % POWERS_STEP; ++i) powers[i] = 0;
    level->detect->powers(powers, n);
    means_of_powers(powers, bins, sides);
}
