/* Argmax and top_k: walk the tiles. */
#include "reduce_tiles.h"

#include <string.h>

/* TILE: bytes of the planes of one tile; more only if a cache line for each of so many channels needs more.
 * ACROSS: neighbouring channels from which on argmax is faster without planes (measured). FOLDED: bytes of the positions of a
 * tile of blocks. FEW_BLOCKS: blocks from which on they are compared before their lanes (measured). PLACES: channels whose places
 * are computed once. */
enum { TILE = 16384, ACROSS = 9, FOLDED = 6144, FEW_BLOCKS = 5, MOST_RUNS = 10, PLACES = 512 };

/* Blocks that one call compares, so few that their number fits in an element with a sign. */
static int64_t most_blocks(int size) { return size == 1 ? 126 : 32766; }

typedef struct {
    _Alignas(LINE) uint8_t tile[TILE + PAGE + LINE], best[4 * STRIP + LINE], at[4 * STRIP + LINE];
    uint8_t lanes[FOLDED + LINE], blocks[FOLDED + LINE]; /* of blocks: the largest of each lane, and one more than its block */
    Index where[STRIP];
    Movers movers, folds;
    int64_t place[PLACES];
} ArgmaxBench;

/* Whether the source contains planes that are better read in place. */
static int has_planes(const Reduction *r, const Box *box) {
    const Loop inner = box->loops[box->count - 1];
    const int size = dtype_size[r->type];
    return r->from.count == 1 && inner.s == size && inner.n * size >= LINE;
}

/* Whether many such planes have rows of a few vectors with gaps that are shorter still: some rows are read as one, with the gaps. */
static int has_short_rows(const Level *level, const Reduction *r, const Box *box) {
    enum { MANY = 32 };
    if (box->count < 2 || r->channels < MANY) return 0;
    const int64_t bytes = box->loops[box->count - 1].n * dtype_size[r->type], pitch = box->loops[box->count - 2].s;
    return bytes < 4 * level->vector && pitch > bytes && pitch < 2 * bytes && pitch % dtype_size[r->type] == 0;
}

/* Whether channels are in whole blocks, and the blocks of neighbouring positions follow each other. */
static int in_blocks(const Reduction *r, const Box *box) {
    const Loop inner = box->loops[box->count - 1], run = r->from.loops[1];
    const int64_t size = dtype_size[r->type], block = run.n * size;
    return r->from.count == 2 && run.s == size && inner.s == block && r->channels >= FEW_BLOCKS * run.n &&
           run.n * LINE <= FOLDED && inner.n * block >= LINE;
}

/* Whether blocks consist of whole vectors of floats. */
static int in_runs(const Level *level, const Reduction *r) {
    const Loop run = r->from.loops[1];
    return r->from.count == 2 && run.s == 4 && run.n * 4 % level->vector == 0 && r->channels >= run.n &&
           r->channels * 4 <= MOST_RUNS * level->vector;
}

/* Whether a vector has the blocks of floats of several neighbouring positions. */
static int in_parts(const Level *level, const Reduction *r, const Box *box) {
    const Loop run = r->from.loops[1], inner = box->loops[box->count - 1];
    const int64_t bytes = run.n * 4;
    return r->from.count == 2 && run.s == 4 && (run.n == 4 || run.n == 8) && bytes < level->vector && inner.s == bytes &&
           r->channels > run.n && r->channels <= ACROSS_BLOCKS * run.n && fast_of(level, PATH_ACROSS)->across_blocks;
}

/* The level whose vectors blocks of floats fill: of 32 bytes if they do not fill longer ones. */
static const Level *level_of(const Level *level, const Reduction *r) {
    enum { LEAST_VECTOR = 32 };
    const Level *narrower = level_below(level);
    const int shorter = r->type == F32 && !in_runs(level, r) && !in_parts(level, r, &r->positions) && narrower && narrower->vector >= LEAST_VECTOR;
    return shorter && in_runs(narrower, r) ? narrower : level;
}

static int path_of(const Level *level, const Reduction *r, const Box *box) {
    const int across = r->type == F32 && r->channels >= ACROSS && ((neighbours(r) && !has_planes(r, box)) || in_runs(level, r) || in_parts(level, r, box));
    return fast_of(level, PATH_ACROSS)->across && across ? PATH_ACROSS : in_blocks(r, box) ? PATH_ARGMAX_BLOCKS : PATH_ARGMAX;
}
int argmax_path(const Level *level, const Reduction *r) { return path_of(level_of(level, r), r, &r->positions); }

/* Find the largest of whole blocks, all lanes at once, then of the lanes; return how many channels these were. */
static int64_t fold_blocks(const Fast *loops, const Reduction *r, const Tiling *t, const uint8_t *src, int64_t rows, int64_t row,
                           ArgmaxBench *b, Index *where) {
    const Loop run = r->from.loops[1];
    const int64_t size = dtype_size[r->type], n = rows * row, bytes = row * run.n * size, pitch = up_to(n * size, LINE);
    const int64_t blocks = at_most(r->channels / run.n, most_blocks((int)size));
    const Tiling positions = {.row = {n, run.n * size, 0, 0}};
    uint8_t *const planes[2] = {b->tile, b->tile + run.n * pitch}, *const from[2] = {b->lanes, b->blocks};
    for (int64_t j = 0; j < rows; ++j)
        loops->largest[r->type](src + j * t->rows.s, r->from.loops[0].s, blocks, bytes, b->lanes + j * bytes, b->blocks + j * bytes, 1);
    for (int i = 0; i < 2; ++i) reduction_move(&b->folds, (int)size, 1, planes[i], pitch, from[i], run, (Loop){1, 0, 0, 0}, &positions, 1, n);
    loops->fold[r->type](planes[0], planes[1], pitch, run.n, n, b->best, where);
    return blocks * run.n;
}

static void across_row(const Fast *loops, const Reduction *r, const uint8_t *src, int64_t step, int64_t n, Index *where) {
    const Loop far = r->from.loops[0], run = r->from.loops[1];
    if (r->from.count == 1) loops->across(src, step, n, r->channels, where);
    else if (run.n * 4 < loops->step) loops->across_blocks(src, n, r->channels, run.n, far.s, where);
    else loops->across_runs(src, step, n, r->channels, run.n, far.s, where);
}

/* Compare channels from c on, as planes; the largest of those before are in the bench. */
static void compare_planes(const Fast *loops, const Reduction *r, const Tiling *t, const uint8_t *src, int64_t c, int64_t rows,
                           int64_t row, int direct, ArgmaxBench *b, Index *where) {
    const int size = dtype_size[r->type];
    const int64_t n = direct ? (rows - 1) * t->rows.s / size + row : rows * row, pitch = up_to(n * size, LINE);
    const int64_t step = r->from.loops[0].s, room = TILE / pitch;
    for (int64_t channels; c < r->channels; c += channels) {
        channels = at_most(r->channels - c, direct ? CHUNK : at_most(CHUNK, room));
        if (c) memset(b->at, 0, (size_t)pitch);
        if (direct) {
            loops->largest[r->type](src + c * step, step, channels, n * size, b->best, b->at, !c);
        } else {
            reduction_gather(&b->movers, r, t, src, 0, c, channels, rows, row, b->tile, pitch);
            loops->largest[r->type](b->tile, pitch, channels, pitch, b->best, b->at, !c);
        }
        loops->widen[size / 2](b->at, n, c - 1, !c, where);
    }
}

/* Copy the elements that were found. */
static void values_at(const Reduction *r, const int64_t *place, const uint8_t *src, int64_t s, int64_t n, const Index *where,
                      uint8_t *to, int64_t p) {
    const int size = dtype_size[r->type], known = r->channels <= PLACES;
    int64_t run;
    for (int64_t i = 0; i < n; ++i, src += s, to += p) {
        const uint8_t *from = src + (known ? place[where[i]] : channel_at(&r->from, where[i], &run));
        if (size == 1) *to = *from;
        else if (size == 2) memcpy(to, from, 2);
        else memcpy(to, from, 4);
    }
}

static int64_t argmax_tile(const Level *level, int path, const Reduction *r, const Box *box) {
    const Loop *row = box->loops + box->count - 1;
    if (path == PATH_ARGMAX && has_planes(r, box) && has_short_rows(level, r, box)) return STRIP * dtype_size[r->type] / row[-1].s * row->n;
    if (path == PATH_ACROSS || (path == PATH_ARGMAX && has_planes(r, box))) return STRIP;
    const int size = dtype_size[r->type];
    const int64_t planes = positions_of(at_most(r->channels, CHUNK), size, TILE);
    if (path == PATH_ARGMAX) return planes;
    const int64_t block = r->from.loops[1].n, folded = positions_of(block, size, FOLDED);
    return r->channels / block > most_blocks(size) ? at_most(planes, folded) : folded;
}

/* `values`: where the largest elements go, or NULL. */
static void argmax_walk(const Level *level, const Reduction *r, const uint8_t *src, uint8_t *dst, uint8_t *values, int64_t part, int64_t parts) {
    Box box = r->positions;
    if (parts > 1 && !box_cut(&box, part, parts)) return;
    level = level_of(level, r);
    const int path = path_of(level, r, &box), size = dtype_size[r->type], direct = path == PATH_ARGMAX && has_planes(r, &box);
    const Fast *loops = fast_of(level, path);
    const int64_t least = path == PATH_ARGMAX_BLOCKS ? (LINE - 1) / (r->from.loops[1].n * size) + 1 : LINE / size;
    const int whole_rows = direct && has_short_rows(level, r, &box);
    const Tiling t = reduction_tiling(&box, direct && !whole_rows, argmax_tile(level, path, r, &box));
    const int64_t apart = whole_rows ? t.rows.s / size : 0; /* positions, with gaps, from row to row in `where` */
    ArgmaxBench b;
    b.movers.level = b.folds.level = level, b.movers.rows = b.folds.rows = NULL, b.movers.planned = b.folds.planned = 0;
    for (int64_t c = 0, run; values && c < at_most(r->channels, PLACES); ++c) b.place[c] = channel_at(&r->from, c, &run);
    ODOMETER(box.loops, t.count, box.src, box.dst, box.param, TILES(t, row, rows, least, {
        const uint8_t *s = src + src_ + tile_src;
        uint8_t *d = dst + dst_ + tile_dst;
        const int64_t tile_param = i_ * t.row.p + j_ * t.rows.p;
        const int dense = (row == 1 || t.row.d == 8) && (rows == 1 || (!apart && t.rows.d == 8 * row));
        const int64_t next_row = apart ? apart : row;
        Index *where = dense ? (Index *)(void *)d : b.where;
        int64_t done = 0;
        if (path == PATH_ARGMAX_BLOCKS) done = fold_blocks(loops, r, &t, s, rows, row, &b, where);
        for (int64_t j = 0; path == PATH_ACROSS && j < rows; ++j, done = r->channels)
            across_row(loops, r, s + j * t.rows.s, t.row.s, row, where + j * row);
        compare_planes(loops, r, &t, s, done, rows, row, direct, &b, where);
        for (int64_t j = 0; values && j < rows; ++j)
            values_at(r, b.place, s + j * t.rows.s, t.row.s, row, where + j * next_row, values + param_ + tile_param + j * t.rows.p, t.row.p);
        for (int64_t j = 0; !dense && j < rows; ++j)
            for (int64_t i = 0; i < row; ++i) *(Index *)(void *)(d + j * t.rows.d + i * t.row.d) = where[j * next_row + i];
    }));
}

void argmax_run(const Level *level, const Reduction *r, const uint8_t *src, uint8_t *dst, int64_t part, int64_t parts) {
    argmax_walk(level, r, src, dst, NULL, part, parts);
}

/* KEPT: values up to which top_k works on planes, MOST: positions of a tile, and AT_ONCE of those whose keys are in L1, MOST_WHOLE: channels up
 * to which a tile has all of them, FEW_ACROSS: positions below which neighbouring channels are not moved (measured). */
enum { KEPT = 16, MOST = 256, MOST_WHOLE = TILE / LINE, FEW_ACROSS = 16 };
typedef struct {
    _Alignas(LINE) uint8_t tile[GATHERED_ROOM], rows[JOINED];
    int32_t keys[TILE / 4 + LINE], best[KEPT * MOST], at[KEPT * MOST];
    Movers movers;
} TopKBench;

int top_k_path(const Level *level, const Reduction *r) {
    int64_t positions = 1;
    for (int i = 0; i < r->positions.count; ++i) positions *= r->positions.loops[i].n;
    if (r->k > KEPT || (neighbours(r) && positions < FEW_ACROSS)) return PATH_TOP_K_ACROSS;
    return r->k > 1 ? PATH_TOP_K : argmax_path(level, r);
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
    const int path = top_k_path(level, r);
    if (path != PATH_TOP_K && path != PATH_TOP_K_ACROSS) {
        argmax_walk(level, r, src, dst, values, part, parts);
        return;
    }
    Box box = r->positions;
    if (parts > 1 && !box_cut(&box, part, parts)) return;
    const int size = dtype_size[r->type], across = path == PATH_TOP_K_ACROSS, reads = across && neighbours(r);
    const Fast *loops = fast_of(level, path);
    const int64_t each = at_most(r->channels, across ? TILE / 4 : r->channels <= MOST_WHOLE ? MOST_WHOLE : CHUNK);
    const int joins = !across && each == r->channels && tiling_joins(r, &box);
    const int64_t some = at_most(positions_of(each, 4, TILE), MOST);
    const int64_t wide = r->from.count > 1 || size < 4 ? at_most(positions_of(each + each / PADS, size, GATHERED), MOST) : some;
    const int64_t positions = across ? 1 : wide > some ? wide : some;
    const Tiling t = joins ? tiling_joined(&box, positions) : reduction_tiling(&box, 0, positions);
    TopKBench b;
    b.movers.level = level, b.movers.rows = b.rows, b.movers.planned = 0;
    ODOMETER(box.loops, t.count, box.src, box.dst, box.param, TILES(t, row, rows, across ? 1 : LINE / 4, {
        const uint8_t *s = src + src_ + tile_src;
        uint8_t *d = dst + dst_ + tile_dst;
        uint8_t *v = values + param_ + i_ * t.row.p + j_ * t.rows.p;
        const int64_t n = rows * row, pitch = up_to(n, 16), step = across ? size : up_to(pitch * size, LINE) | LINE;
        int64_t kept = 0;
        for (int64_t c = 0; c < r->channels; c += each) {
            const int64_t channels = at_most(r->channels - c, each);
            if (!reads) reduction_gather(&b.movers, r, &t, s, t.part ? i_ % t.part : 0, c, channels, rows, row, b.tile, step);
            if (across) {
                loops->keys[r->type](reads ? s + c * size : b.tile, 0, 1, channels, b.keys);
                kept = loops->top_k_across(b.keys, channels, r->k, c, kept, b.best, b.at);
            }
            for (int64_t i = 0, some_n; !across && i < pitch; i += some_n) {
                some_n = at_most(pitch - i, some);
                loops->keys[r->type](b.tile + i * size, step, channels, some_n, b.keys);
                loops->top_k(b.keys, some_n, channels, pitch, r->k, c, b.best + i, b.at + i);
            }
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
