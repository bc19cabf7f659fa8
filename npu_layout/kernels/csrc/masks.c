#include "masks.h"

#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__)
#define WIDE __attribute__((target("avx2")))
#else
#define WIDE
#endif
#define INLINE static inline __attribute__((always_inline))

/* Sums of a row of cells that neighbour each other, channel after channel. */
#define NEIGHBOURS(name, type, attribute)                                                                                     \
    attribute static void name(const uint8_t *data, const int64_t *channel, int64_t count, const int16_t *c, int32_t *sum, int64_t n) { \
        int64_t k = 0;                                                                                                        \
        for (; k + 2 <= count; k += 2) {                                                                                      \
            const type *s = (const type *)data + channel[k], *t = (const type *)data + channel[k + 1];                        \
            const int32_t a = c[k], b = c[k + 1];                                                                             \
            for (int64_t x = 0; x < n; ++x) sum[x] += a * s[x] + b * t[x];                                                    \
        }                                                                                                                     \
        if (k < count) {                                                                                                      \
            const type *s = (const type *)data + channel[k];                                                                  \
            for (int64_t x = 0; x < n; ++x) sum[x] += c[k] * s[x];                                                            \
        }                                                                                                                     \
    }
/* The sum of a cell, whose channels are in runs that are 16 long. */
#define RUNS(name, type, attribute)                                                                              \
    attribute static int32_t name(const uint8_t *data, const int64_t *channel, int64_t count, const int16_t *c) { \
        int32_t sum = 0;                                                                                         \
        for (int64_t k = 0; k < count; k += 16) {                                                                \
            const type *s = (const type *)data + channel[k];                                                     \
            for (int i = 0; i < 16; ++i) sum += (int32_t)c[k + i] * (int16_t)s[i];                               \
        }                                                                                                        \
        return sum;                                                                                              \
    }
/* Four pixels of each cell and the next one, of a line with a copy of its ends on either side. */
#define QUADS(name, attribute)                                                                        \
    attribute static void name(const int32_t *a, const int32_t *b, int32_t part, int32_t *line, uint32_t *out, int64_t n) { \
        for (int64_t x = 0; x < n + 1; ++x) line[x] = a[x] * (8 - part) + b[x] * part;                \
        for (int64_t x = 0; x < n; ++x) {                                                             \
            const int32_t l = line[x], r = line[x + 1], d = r - l;                                    \
            const int32_t first = 8 * l + d, step = 2 * d;                                            \
            out[x] = (uint32_t)(first > 0) | (uint32_t)(first + step > 0) << 8 | (uint32_t)(first + 2 * step > 0) << 16 | \
                     (uint32_t)(first + 3 * step > 0) << 24;                                          \
        }                                                                                             \
    }
NEIGHBOURS(neighbours_i8, int8_t, )
NEIGHBOURS(neighbours_u8, uint8_t, )
RUNS(runs_i8, int8_t, )
RUNS(runs_u8, uint8_t, )
QUADS(quads, )
NEIGHBOURS(neighbours_i8_wide, int8_t, WIDE)
NEIGHBOURS(neighbours_u8_wide, uint8_t, WIDE)
RUNS(runs_i8_wide, int8_t, WIDE)
RUNS(runs_u8_wide, uint8_t, WIDE)
QUADS(quads_wide, WIDE)

typedef void Neighbours(const uint8_t *, const int64_t *, int64_t, const int16_t *, int32_t *, int64_t);
typedef int32_t Runs(const uint8_t *, const int64_t *, int64_t, const int16_t *);

/* Cells with a copy of the ends; a line; pixels. */
int64_t mask_room(const Prototypes *from) { return from->rows * (from->columns + 2) + 2 * (from->columns + 4); }

INLINE int32_t floor_divided(int32_t a, int32_t b) { return a < 0 ? -((b - 1 - a) / b) : a / b; }
INLINE int64_t clamped(int64_t at, int64_t size) { return at < 0 ? 0 : at < size ? at : size - 1; }

static int all_steps(const int64_t *table, int64_t n, int64_t every) {
    for (int64_t i = 1; i < n; ++i)
        if ((every ? i % every : 1) && table[i] != table[i - 1] + 1) return 0;
    return 1;
}

void mask_write(const Prototypes *from, const int16_t *c, const int32_t window[4], uint8_t *out, int32_t *work, int wide) {
    const int f = from->factor, whole = 2 * f;
    const int x0 = window[0], y0 = window[1], x1 = window[2], y1 = window[3];
    /* A pixel is between the cells floor((2 x + 1 - f) / 2 f) and the next; cells outside are those at the borders. */
    const int left = floor_divided(2 * x0 + 1 - f, whole), top = floor_divided(2 * y0 + 1 - f, whole);
    const int64_t wd = floor_divided(2 * x1 - 1 - f, whole) + 2 - left, ht = floor_divided(2 * y1 - 1 - f, whole) + 2 - top;
    const int64_t first = clamped(left, from->columns), n = clamped(left + wd - 1, from->columns) + 1 - first;
    const int beside = all_steps(from->column + first, n, 0), runs = from->count % 16 == 0 && all_steps(from->channel, from->count, 16);
    Neighbours *const neighbours =
        wide ? from->is_signed ? neighbours_i8_wide : neighbours_u8_wide : from->is_signed ? neighbours_i8 : neighbours_u8;
    Runs *const sum_of = wide ? from->is_signed ? runs_i8_wide : runs_u8_wide : from->is_signed ? runs_i8 : runs_u8;
    int32_t shift = 0;
    for (int64_t k = 0; k < from->count; ++k) shift -= c[k] * from->zero;
    int32_t *line = work + from->rows * (from->columns + 2);
    const int64_t above = clamped(top, from->rows), lines = clamped(top + ht - 1, from->rows) + 1 - above;
    for (int64_t y = 0; y < lines; ++y) {
        const uint8_t *data = from->data + from->row[above + y];
        int32_t *sum = work + y * wd, *inside = sum + (first - left);
        for (int64_t x = 0; x < n; ++x) inside[x] = shift;
        if (beside)
            neighbours(data + from->column[first], from->channel, from->count, c, inside, n);
        else if (runs)
            for (int64_t x = 0; x < n; ++x) inside[x] += sum_of(data + from->column[first + x], from->channel, from->count, c);
        else
            for (int64_t x = 0; x < n; ++x)
                for (int64_t k = 0; k < from->count; ++k) {
                    const uint8_t byte = data[from->column[first + x] + from->channel[k]];
                    inside[x] += c[k] * (from->is_signed ? (int8_t)byte : byte);
                }
        for (int64_t x = 0; x < first - left; ++x) sum[x] = inside[0];
        for (int64_t x = first - left + n; x < wd; ++x) sum[x] = inside[n - 1];
    }
    for (int y = y0; y < y1; ++y, out += x1 - x0) {
        const int low = floor_divided(2 * y + 1 - f, whole), part = 2 * y + 1 - f - low * whole;
        const int32_t *a = work + (clamped(low, from->rows) - above) * wd, *b = work + (clamped(low + 1, from->rows) - above) * wd;
        if (f == 4) {
            uint32_t *pixels = (uint32_t *)(line + from->columns + 4);
            (wide ? quads_wide : quads)(a, b, part, line, pixels, wd - 1);
            memcpy(out, (const uint8_t *)pixels + (x0 - (4 * left + 2)), (size_t)(x1 - x0));
            continue;
        }
        for (int64_t x = 0; x < wd; ++x) line[x] = a[x] * (whole - part) + b[x] * part;
        for (int x = x0; x < x1; ++x) {
            const int at = floor_divided(2 * x + 1 - f, whole), q = 2 * x + 1 - f - at * whole;
            out[x - x0] = line[at - left] * (whole - q) + line[at - left + 1] * q > 0;
        }
    }
}
