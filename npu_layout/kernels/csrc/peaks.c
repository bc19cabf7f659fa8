/* Find peaks. If the columns, and the loops inside them, are neighbours, a row of all of them is one run of elements, and the
 * element of the next column is `x` bytes away: rows of NCHW, NHWC and CHWN are the same loop. What is between columns is read
 * with them, up to the last element of a row, and what is found there is dropped. Elements that are stored otherwise are copied to a tile
 * first, with their neighbours. */
#include "peaks.h"

#include <math.h>
#include <string.h>

#include "feature_map.h"
#include "move.h"

enum { TILE = 12288, WIDEST = 4096, AT_LEAST = 256 }; /* elements */
enum { SPARSE = 16 };                                  /* one in so many */

typedef struct {
    const Level *level;
    const Heatmaps *maps;
    Peak *peak;
    Peaks *peaks;
    int64_t inside, size; /* elements from one column to the next; bytes of an element */
    int64_t live, all;    /* of `inside`, those that are elements of planes; from the first element of a row to its last */
    int inner;
    Loop inners[MAX_LOOPS]; /* the loops inside the columns, the innermost first */
    const uint8_t *src;     /* of the current plane, and its index */
    int64_t plane;
    Nearby nearby[16];      /* indexed by which of the left, right, upper and lower neighbours exist; for rows of this pitch */
    int64_t pitch;
    int64_t least; /* as Nearby's */
    Loop bands;    /* blocks of channels whose rows follow each other in memory, or one */
    int unchecked; /* the elements listed have been compared with the threshold only */
    int32_t found[WIDEST];
} Search;

static double value(Dtype type, const uint8_t *p) {
    int16_t h;
    uint16_t u;
    int32_t w;
    float f;
    if (type <= U8) return type == I8 ? (double)(int8_t)*p : (double)*p;
    memcpy(&u, p, 2), memcpy(&h, p, 2);
    if (type == I16) return h;
    if (type == U16) return u;
    if (type == BF16) {
        w = (int32_t)((uint32_t)u << 16);
        memcpy(&f, &w, 4);
        return f;
    }
    if (type == F16) {
        const int exponent = u >> 10 & 31, sign = u >> 15;
        uint32_t bits = (uint32_t)(u & 0x7FFF) << 13;
        bits |= exponent == 31 ? 0x7F800000u : 0;
        memcpy(&f, &bits, 4);
        if (exponent < 31) f *= 0x1p112f;
        return sign ? -f : f;
    }
    memcpy(&w, p, 4), memcpy(&f, p, 4);
    return type == I32 ? (double)w : (double)f;
}

/* Whether a peak among its eight neighbours is a peak of its whole window. */
static int stands_out(const Heatmaps *maps, const uint8_t *plane, int64_t y, int64_t x) {
    const int64_t r = maps->radius;
    const double v = value(maps->type, plane + y * maps->y + x * maps->x);
    for (int64_t j = y < r ? 0 : y - r; j <= y + r && j < maps->height; ++j)
        for (int64_t i = x < r ? 0 : x - r; i <= x + r && i < maps->width; ++i) {
            const double other = value(maps->type, plane + j * maps->y + i * maps->x);
            const int earlier = j < y || (j == y && i < x);
            if (earlier ? !(v > other) : !(v >= other)) return 0;
        }
    return 1;
}

/* Whether the element at p, which has all eight neighbours, is a peak among them; without a branch. */
#define STANDS(name, type, KEY)                                                                                            \
    static inline type at_##name(const uint8_t *p) {                                                                  \
        type v;                                                                                                       \
        memcpy(&v, p, sizeof v);                                                                                      \
        return (type)KEY(v);                                                                                          \
    }                                                                                                                 \
    static inline int stands_##name(const uint8_t *p, int64_t y, int64_t x) {                                         \
        const type v = at_##name(p);                                                                                  \
        return (v > at_##name(p - y - x)) & (v > at_##name(p - y)) & (v > at_##name(p - y + x)) &                     \
               (v > at_##name(p - x)) & (v >= at_##name(p + x)) & (v >= at_##name(p + y - x)) &                       \
               (v >= at_##name(p + y)) & (v >= at_##name(p + y + x));                                                 \
    }
#define AS_IT_IS(v) (v)
#define OF_F16(v) sorted_half((uint16_t)(v), 0x7C00)
#define OF_BF16(v) sorted_half((uint16_t)(v), 0x7F80)
STANDS(i8, int8_t, AS_IT_IS)
STANDS(u8, uint8_t, AS_IT_IS)
STANDS(i16, int16_t, AS_IT_IS)
STANDS(u16, uint16_t, AS_IT_IS)
STANDS(i32, int32_t, AS_IT_IS)
STANDS(f16, int16_t, OF_F16)
STANDS(bf16, int16_t, OF_BF16)
STANDS(f32, float, AS_IT_IS)

static int stands(Dtype type, const uint8_t *p, int64_t y, int64_t x) {
    switch (type) {
        case I8: return stands_i8(p, y, x);
        case U8: return stands_u8(p, y, x);
        case I16: return stands_i16(p, y, x);
        case U16: return stands_u16(p, y, x);
        case I32: return stands_i32(p, y, x);
        case F16: return stands_f16(p, y, x);
        case BF16: return stands_bf16(p, y, x);
        default: return stands_f32(p, y, x);
    }
}

static void note(Search *s, int64_t y, int64_t lane) {
    const Heatmaps *maps = s->maps;
    int64_t x = lane, rest = 0, plane = s->plane, at = 0;
    if (s->inside > 1) x = lane / s->inside, rest = lane % s->inside;
    if (rest >= s->live) return;
    for (int i = 0; i < s->inner; ++i) {
        const int64_t digit = rest % s->inners[i].n;
        rest /= s->inners[i].n;
        plane += digit * s->inners[i].p, at += digit * s->inners[i].s;
    }
    if ((s->unchecked || maps->radius > 1) && !stands_out(maps, s->src + at, y, x)) return;
    const int64_t code = (plane << maps->y_bits | y) << maps->x_bits | x;
    if (code < s->peaks->last) s->peaks->unsorted = 1;
    s->peaks->last = code;
    if (s->peaks->count < s->peaks->room) s->peaks->codes[s->peaks->count] = code;
    ++s->peaks->count;
}

enum { LEFT = 1, RIGHT = 2, UP = 4, DOWN = 8 };

static void look_around(Search *s, int64_t pitch) {
    const int64_t x = s->inside * s->size;
    s->pitch = pitch;
    for (int sides = 0; sides < 16; ++sides) {
        Nearby n = {.least = s->least, .threshold = s->maps->threshold};
        if (sides & LEFT) n.earlier[n.earliers++] = -x;
        if (sides & RIGHT) n.later[n.laters++] = x;
        for (int i = sides & LEFT ? -1 : 0; i <= (sides & RIGHT ? 1 : 0); ++i) {
            if (sides & UP) n.earlier[n.earliers++] = i * x - pitch;
            if (sides & DOWN) n.later[n.laters++] = i * x + pitch;
        }
        s->nearby[sides] = n;
    }
}

/* Elements `from` to `to` of row y; p: the first of them, up and down rows of `pitch` bytes. */
static void row(Search *s, const uint8_t *p, int64_t pitch, int64_t y, int64_t from, int64_t to) {
    const int64_t last = s->all - s->inside;
    const int beside = (y > 0 ? UP : 0) | (y < s->maps->height - 1 ? DOWN : 0);
    if (pitch != s->pitch) look_around(s, pitch);
    for (int64_t end; from < to; p += (end - from) * s->size, from = end) {
        const int left = from >= s->inside, right = from < last;
        end = left ? to : at_most(s->inside, to);
        if (right && end > last) end = last;
        if (end > from + WIDEST) end = from + WIDEST;
        const Nearby *nearby = s->nearby + (beside | (left ? LEFT : 0) | (right ? RIGHT : 0));
        const int64_t count = s->peak(p, end - from, nearby, s->found);
        for (int64_t i = 0; i < count; ++i) note(s, y, from + s->found[i]);
    }
}

/* The rows of a plane, as many at a time as are one run, with gaps behind rows that are shorter than these. If only some elements are above the threshold and no less than those of
 * the rows beside, only these are compared with all neighbours, one by one. */
static void plane_rows(Search *s) {
    const Heatmaps *maps = s->maps;
    const int64_t all = s->all, dense = maps->width * s->inside, bytes = dense * s->size;
    const int joins = maps->y >= bytes && maps->y < 2 * bytes && maps->y % s->size == 0;
    const int64_t pitch = joins ? maps->y / s->size : dense, most = joins && pitch <= WIDEST ? WIDEST / pitch : 1;
    const int small = most >= maps->height; /* all rows at once, compared with the threshold alone */
    for (int64_t y = 0, rows; y < maps->height; y += rows) {
        const uint8_t *p = s->src + y * maps->y;
        const int beside = small ? 0 : (y > 0 ? UP : 0) | (y < maps->height - 1 ? DOWN : 0);
        rows = small ? maps->height : beside == (UP | DOWN) ? at_most(most, maps->height - 1 - y) : 1;
        int64_t count = all <= WIDEST ? s->peak(p, (rows - 1) * pitch + all, s->nearby + beside, s->found) : all;
        if (count * SPARSE > rows * all) {
            for (int64_t j = 0; j < rows; ++j) row(s, p + j * maps->y, maps->y, y + j, 0, all);
            continue;
        }
        for (int64_t i = 0; i < count; ++i) {
            const int64_t j = rows == 1 ? 0 : (uint32_t)s->found[i] / (uint32_t)pitch, lane = s->found[i] - j * pitch;
            if (lane >= all) continue; /* in the gap behind a row */
            const int inner = y + j > 0 && y + j < maps->height - 1 && lane >= s->inside && lane < all - s->inside;
            if (inner && !stands(maps->type, p + s->found[i] * s->size, maps->y, s->inside * s->size)) continue;
            s->unchecked = !inner;
            note(s, y + j, lane);
        }
        s->unchecked = 0;
    }
}

/* As plane_rows, of blocks of channels whose rows follow each other: row by row of all of them, as they are in memory. */
static void band_rows(Search *s) {
    const Heatmaps *maps = s->maps;
    const uint8_t *const src = s->src;
    const int64_t plane = s->plane, all = s->all, pitch = s->bands.s / s->size, most = WIDEST / pitch;
    for (int64_t y = 0; y < maps->height; ++y)
        for (int64_t b = 0, n; b < s->bands.n; b += n) {
            const uint8_t *p = src + y * maps->y + b * s->bands.s;
            const int beside = (y > 0 ? UP : 0) | (y < maps->height - 1 ? DOWN : 0);
            n = at_most(s->bands.n - b, most);
            const int64_t count = s->peak(p, (n - 1) * pitch + all, s->nearby + beside, s->found);
            for (int64_t i = 0; count * SPARSE > n * all && i < n; ++i) {
                s->src = src + (b + i) * s->bands.s, s->plane = plane + (b + i) * s->bands.p;
                row(s, p + i * s->bands.s, maps->y, y, 0, all);
            }
            for (int64_t i = 0; count * SPARSE <= n * all && i < count; ++i) {
                const int64_t j = (uint32_t)s->found[i] / (uint32_t)pitch, lane = s->found[i] - j * pitch;
                const int inner = beside == (UP | DOWN) && lane >= s->inside && lane < all - s->inside;
                if (lane >= all || (inner && !stands(maps->type, p + s->found[i] * s->size, maps->y, s->inside * s->size))) continue;
                s->src = src + (b + j) * s->bands.s, s->plane = plane + (b + j) * s->bands.p, s->unchecked = !inner;
                note(s, y, lane);
            }
            s->unchecked = 0;
        }
}

/* The loop over such blocks, of those around a row; it is removed from them. */
static Loop take_bands(const Search *s, Loop *outer, int *count) {
    const Loop one = {1, 0, 0, 0};
    const int64_t bytes = s->maps->width * s->inside * s->size;
    for (int i = 0; i < *count; ++i) {
        const Loop k = outer[i];
        if (k.n == 1 || k.s != bytes || bytes > WIDEST / 2 * s->size || s->maps->y < k.n * bytes) continue;
        memmove(outer + i, outer + i + 1, (size_t)(--*count - i) * sizeof *outer);
        return k;
    }
    return one;
}

/* Rows and elements in tiles, each tile with its neighbours. */
static void tiles(Search *s, int dense) {
    const Heatmaps *maps = s->maps;
    const int from = (int)s->size;
    const int64_t all = s->all, step = dense ? from : maps->x;
    const int64_t most = s->inside > AT_LEAST ? s->inside : AT_LEAST, wide = most + 2 * s->inside, high = TILE / wide - 2;
    uint8_t tile[4 * TILE + 64];
    for (int64_t y0 = 0; y0 < maps->height; y0 += high)
        for (int64_t l0 = 0; l0 < all; l0 += most) {
            const int64_t y1 = y0 + high < maps->height ? y0 + high : maps->height, l1 = l0 + most < all ? l0 + most : all;
            const int64_t ya = y0 ? y0 - 1 : 0, yb = y1 < maps->height ? y1 + 1 : y1;
            const int64_t la = l0 ? l0 - s->inside : 0, lb = all - l1 > s->inside ? l1 + s->inside : all, n = lb - la;
            Box box = {0, {{0, 0, 0, 0}}, 0, 0, 0};
            if (yb - ya > 1) box.loops[box.count++] = (Loop){yb - ya, maps->y, n * from, 0};
            if (n > 1) box.loops[box.count++] = (Loop){n, step, from, 0};
            Move move;
            move_plan(&move, &box, from, 0);
            move_run(s->level, &move, s->src + ya * maps->y + la * step, tile);
            for (int64_t y = y0; y < y1; ++y)
                row(s, tile + ((y - ya) * n + l0 - la) * s->size, n * s->size, y, l0, l1);
        }
}

/* Whether columns of `live` elements are read with what is between them. */
static int pays(int64_t live, int64_t inside, int64_t size) {
    enum { NEAR = 64 };
    return inside > live && (inside <= 2 * live || inside * size <= NEAR);
}

/* Of floats of 16 bits the least number above the threshold that sorts as they do. */
static int64_t least_of(const Heatmaps *maps) {
    if (maps->type != F16 && maps->type != BF16) return maps->least;
    const int32_t infinity = maps->type == F16 ? 0x7C00 : 0x7F80;
    int32_t low = -infinity, high = infinity + 1;
    while (low < high) {
        const int32_t middle = (low + high + 0x20000) / 2 - 0x10000;
        const uint16_t bits = (uint16_t)(middle < 0 ? 0x8000 | -middle : middle);
        if (value(maps->type, (const uint8_t *)&bits) > maps->threshold) high = middle;
        else low = middle + 1;
    }
    return low;
}

void peaks_find(const Level *level, const Heatmaps *maps, const uint8_t *src, Peaks *peaks) {
    const int size = dtype_size[maps->type];
    Search s;
    s.level = level, s.maps = maps, s.peaks = peaks;
    s.peak = fast_of(level, PATH_PEAKS)->peak[maps->type];
    s.size = size, s.least = least_of(maps);
    s.inner = 0, s.inside = 1, s.unchecked = 0;
    Loop outer[MAX_LOOPS] = {{0, 0, 0, 0}};
    int count = 0;
    for (int i = 0; i < maps->planes.count; ++i) { /* by the planes' indices, so that the peaks are found in order if possible */
        int at = count++;
        for (; at > 0 && outer[at - 1].p < maps->planes.loops[i].p; --at) outer[at] = outer[at - 1];
        outer[at] = maps->planes.loops[i];
    }
    Loop left[MAX_LOOPS];
    int lefts = count;
    memcpy(left, outer, sizeof left);
    for (int i = 0; i < lefts; ++i)
        if (left[i].n > 1 && left[i].s == s.inside * size && (maps->width == 1 || s.inside * size < maps->x)) {
            s.inners[s.inner++] = left[i], s.inside *= left[i].n;
            memmove(left + i, left + i + 1, (size_t)(--lefts - i) * sizeof *left);
            i = -1;
        }
    s.live = s.inside;
    if (maps->width > 1 && maps->x % size == 0 && pays(s.live, maps->x / size, size)) s.inside = maps->x / size;
    int dense = (maps->width == 1 || maps->x == s.inside * size) && s.inside <= WIDEST;
    if (dense) {
        memcpy(outer, left, sizeof left);
        count = lefts;
    } else {
        s.inner = 0, s.inside = s.live = 1;
        dense = maps->width == 1;
    }
    s.all = (maps->width - 1) * s.inside + s.live;
    s.bands = dense ? take_bands(&s, outer, &count) : (Loop){1, 0, 0, 0};
    look_around(&s, maps->y);
    ODOMETER(outer, count, maps->planes.src, 0, maps->planes.param, {
        (void)dst_;
        s.src = src + src_;
        s.plane = param_;
        if (s.bands.n > 1)
            band_rows(&s);
        else if (dense)
            plane_rows(&s);
        else
            tiles(&s, dense);
    });
}

int peaks_sort(Peaks *peaks, int64_t *other) {
    int64_t *from = peaks->codes, *to = other, most = 0;
    for (int64_t i = 0; i < peaks->count; ++i) most = from[i] > most ? from[i] : most;
    for (int shift = 0; shift < 64 && most >> shift; shift += 8) {
        int64_t starts[257] = {0};
        for (int64_t i = 0; i < peaks->count; ++i) ++starts[(from[i] >> shift & 255) + 1];
        for (int i = 0; i < 256; ++i) starts[i + 1] += starts[i];
        for (int64_t i = 0; i < peaks->count; ++i) to[starts[from[i] >> shift & 255]++] = from[i];
        int64_t *swapped = from;
        from = to, to = swapped;
    }
    return from == other;
}

/* The offset from a pixel along one axis, if it has both neighbours. */
static double moved(Dtype type, const uint8_t *p, int64_t step, double v, Refinement refinement) {
    const double before = value(type, p - step), behind = value(type, p + step);
    if (refinement == QUARTER) return behind > before ? 0.25 : behind < before ? -0.25 : 0;
    const double way = 0.5 * (before - behind) / (before - 2 * v + behind);
    return isfinite(way) ? way : 0;
}

void peak_top(Dtype type, const uint8_t *src, const int64_t extents[4], const int64_t steps[4], const int64_t index[4],
              Refinement refinement, double top[5]) {
    for (int i = 0; i < 4; ++i) src += index[i] * steps[i];
    const double v = value(type, src);
    top[0] = (double)index[0], top[1] = (double)index[1], top[2] = (double)index[3], top[3] = (double)index[2], top[4] = v;
    for (int axis = 3, to = 2; refinement && axis > 1; --axis, ++to)
        if (index[axis] > 0 && index[axis] < extents[axis] - 1) top[to] += moved(type, src, steps[axis], v, refinement);
}
