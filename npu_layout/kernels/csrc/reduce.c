/* Argmax and top_k: walk the tiles. */
#include "reduce_tiles.h"

#include <string.h>

/* TILE: bytes of the planes of one tile; more only if a cache line for each of so many channels needs more.
 * ACROSS: neighbouring channels from which on argmax is faster without planes (measured). */
enum { TILE = 16384, ACROSS = 9 };

typedef struct {
    uint8_t tile[TILE + LINE], best[4 * STRIP + LINE], at[4 * STRIP + LINE];
    Index where[STRIP];
    Movers movers;
} ArgmaxBench;

/* Whether the source contains planes that are better read in place. */
static int has_planes(const Reduction *r, const Box *box) {
    const Loop inner = box->loops[box->count - 1];
    const int size = dtype_size[r->type];
    return r->from.count == 1 && inner.s == size && inner.n * size >= LINE;
}

/* Whether channels are in blocks that the loop across them reads. */
static int in_blocks(const Level *level, const Reduction *r) {
    const Loop run = r->from.loops[1];
    return r->from.count == 2 && run.s == 4 && run.n * 4 % level->vector == 0;
}

int argmax_path(const Level *level, const Reduction *r) {
    const int near = neighbours(r) || in_blocks(level, r);
    const int across = r->type == F32 && r->channels >= ACROSS && near && !has_planes(r, &r->positions);
    return level->fast[PATH_ACROSS].across && across ? PATH_ACROSS : PATH_ARGMAX;
}

void argmax_run(const Level *level, const Reduction *r, const uint8_t *src, uint8_t *dst, int64_t part, int64_t parts) {
    Box box = r->positions;
    if (parts > 1 && !box_cut(&box, part, parts)) return;
    const Fast *loops = level->fast + argmax_path(level, r);
    const int size = dtype_size[r->type];
    const int across = loops == level->fast + PATH_ACROSS, direct = !across && has_planes(r, &box);
    const int64_t each = at_most(r->channels, CHUNK);
    const Tiling t = reduction_tiling(&box, direct, direct || across ? STRIP : positions_of(each, size, TILE));
    ArgmaxBench b;
    b.movers.level = level, b.movers.planned = 0;
    ODOMETER(box.loops, t.count, box.src, box.dst, 0, TILES(t, row, rows, LINE / size, {
        const uint8_t *s = src + src_ + tile_src;
        uint8_t *d = dst + dst_ + tile_dst;
        const int64_t n = rows * row, pitch = up_to(n * size, LINE);
        const int dense = (row == 1 || t.row.d == 8) && (rows == 1 || t.rows.d == 8 * row);
        Index *where = dense ? (Index *)(void *)d : b.where;
        for (int64_t j = 0; across && j < rows; ++j) {
            const Loop far = r->from.loops[0], run = r->from.loops[1];
            if (r->from.count == 1) loops->across(s + j * t.rows.s, t.row.s, row, r->channels, where + j * row);
            else loops->across_runs(s + j * t.rows.s, t.row.s, row, r->channels, run.n, far.s, where + j * row);
        }
        for (int64_t c = 0; !across && c < r->channels; c += each) {
            const int64_t channels = at_most(r->channels - c, each), step = r->from.loops[0].s;
            if (c) memset(b.at, 0, (size_t)pitch);
            if (direct) {
                loops->largest[r->type](s + c * step, step, channels, n * size, b.best, b.at, !c);
            } else {
                reduction_gather(&b.movers, r, &t, s, c, channels, rows, row, b.tile, pitch);
                loops->largest[r->type](b.tile, pitch, channels, pitch, b.best, b.at, !c);
            }
            loops->widen[size / 2](b.at, n, c - 1, !c, where);
        }
        for (int64_t j = 0; !dense && j < rows; ++j)
            for (int64_t i = 0; i < row; ++i) *(Index *)(void *)(d + j * t.rows.d + i * t.row.d) = where[j * row + i];
    }));
}

/* KEPT: values up to which top_k works on planes, MOST: positions of a tile, FEW_ACROSS: positions below which neighbouring
 * channels are not moved (measured). */
enum { KEPT = 16, MOST = 256, FEW_ACROSS = 16 };
typedef struct {
    uint8_t tile[TILE + LINE];
    int32_t keys[TILE / 4 + LINE], best[KEPT * MOST], at[KEPT * MOST];
    Movers movers;
} TopKBench;

int top_k_path(const Reduction *r) {
    int64_t positions = 1;
    for (int i = 0; i < r->positions.count; ++i) positions *= r->positions.loops[i].n;
    return r->k > KEPT || (neighbours(r) && positions < FEW_ACROSS) ? PATH_TOP_K_ACROSS : PATH_TOP_K;
}

/* Write channels and values of n positions in a row, from numbers in rows of `pitch`; the values are read from `from`. */
static void top_k_results(const Reduction *r, const int32_t *at, int64_t pitch, Loop row, int64_t n, const Digits *from,
                       const uint8_t *src, uint8_t *dst, uint8_t *values) {
    const int size = dtype_size[r->type], one = from->count == 1;
    const int64_t step = from->loops[0].s;
    for (int64_t j = 0; j < r->k; ++j, at += pitch, dst += r->number_step, values += r->value_step)
        for (int64_t i = 0, run; i < n; ++i) {
            const uint8_t *value = src + i * row.s + (one ? at[i] * step : channel_at(from, at[i], &run));
            uint8_t *const to = values + i * row.p;
            *(Index *)(void *)(dst + i * row.d) = at[i];
            if (size == 4) memcpy(to, value, 4);
            else if (size == 2) memcpy(to, value, 2);
            else *to = *value;
        }
}

void top_k_run(const Level *level, const Reduction *r, const uint8_t *src, uint8_t *dst, uint8_t *values, int64_t part, int64_t parts) {
    Box box = r->positions;
    if (parts > 1 && !box_cut(&box, part, parts)) return;
    const int path = top_k_path(r), size = dtype_size[r->type], across = path == PATH_TOP_K_ACROSS, reads = across && neighbours(r);
    const Fast *loops = level->fast + path;
    const int64_t each = at_most(r->channels, across ? TILE / 4 : CHUNK);
    const Tiling t = reduction_tiling(&box, 0, across ? 1 : at_most(positions_of(each, 4, TILE), MOST));
    TopKBench b;
    b.movers.level = level, b.movers.planned = 0;
    ODOMETER(box.loops, t.count, box.src, box.dst, box.param, TILES(t, row, rows, across ? 1 : LINE / 4, {
        const uint8_t *s = src + src_ + tile_src;
        uint8_t *d = dst + dst_ + tile_dst;
        uint8_t *v = values + param_ + i_ * t.row.p + j_ * t.rows.p;
        const int64_t n = rows * row, pitch = up_to(n, 16), step = across ? size : pitch * size;
        int64_t kept = 0;
        for (int64_t c = 0; c < r->channels; c += each) {
            const int64_t channels = at_most(r->channels - c, each);
            if (!reads) reduction_gather(&b.movers, r, &t, s, c, channels, rows, row, b.tile, step);
            loops->keys[r->type](reads ? s + c * size : b.tile, across ? channels : channels * pitch, b.keys);
            if (across) kept = loops->top_k_across(b.keys, channels, r->k, c, kept, b.best, b.at);
            else loops->top_k(b.keys, pitch, channels, pitch, r->k, c, b.best, b.at);
        }
        /* From the tile, if it has all channels, because planes in the source may share sets of the cache. */
        const int whole = !across && each == r->channels;
        const Digits planes = {1, {{each, step, 0, 0}}};
        for (int64_t j = 0; j < rows; ++j) {
            const Loop results = {row, whole ? size : t.row.s, t.row.d, t.row.p};
            top_k_results(r, b.at + j * row, across ? 1 : pitch, results, row, whole ? &planes : &r->from,
                       whole ? b.tile + j * row * size : s + j * t.rows.s, d + j * t.rows.d, v + j * t.rows.p);
        }
    }));
}
