/* The walk of argmax, top_k and softmax: channels of some positions come to a tile in L1 as planes, by the movers, whatever
 * their layout; one loop works on the planes, and what comes out is moved to where it belongs. Planes that are in the source
 * already are read there by argmax, and by softmax of up to 8 channels, which writes planes where they belong too. Many
 * neighbouring channels stay as they are. The arithmetic of all is the same. */
#include "reduce.h"

#include <string.h>

#include "move.h"

/* TILE, SOFT: bytes of the planes that argmax and softmax work on at a time, more only where a cache line of each of so
 * many channels needs it. MANY: channels up to which softmax keeps its exponentials; above it computes them twice.
 * ACROSS: neighbouring channels from which on argmax is faster without planes; FAR_ROWS: bytes of neighbours from which on
 * softmax is faster with prefetches; both measured. */
enum { TILE = 16384, SOFT = 32768, MANY = 1024, ROOM = 16 * MANY, LINE = 64, ACROSS = 9, FAR_ROWS = 4000000 };

static int64_t up_to(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

static int merges(const Loop *outer, const Loop *inner) {
    return outer->s == inner->n * inner->s && outer->d == inner->n * inner->d && outer->p == inner->n * inner->p;
}

/* Merge what is one walk; loops of one step go. */
static int merged(Loop *loops, int count) {
    int kept = 0;
    for (int i = 0; i < count; ++i) {
        if (loops[i].n == 1) continue;
        if (kept && merges(loops + kept - 1, loops + i)) {
            loops[i].n *= loops[kept - 1].n;
            --kept;
        }
        loops[kept++] = loops[i];
    }
    return kept;
}

void reduction_plan(Reduction *r) {
    Box *box = &r->positions;
    for (int i = 0; i < box->count; ++i) {
        Loop *k = box->loops + i;
        if (k->s < 0) box_flip(box, k);
        for (int j = i; j > 0 && box->loops[j - 1].s < box->loops[j].s; --j) {
            const Loop moved = box->loops[j];
            box->loops[j] = box->loops[j - 1], box->loops[j - 1] = moved;
        }
    }
    box->count = merged(box->loops, box->count);
    if (!box->count) box->loops[box->count++] = (Loop){1, dtype_size[r->type], 0, 0};
    Digits *sides[2] = {&r->from, &r->to};
    for (int i = 0; i < 2; ++i) {
        sides[i]->count = merged(sides[i]->loops, sides[i]->count);
        if (!sides[i]->count) sides[i]->loops[sides[i]->count++] = (Loop){1, 0, 0, 0};
    }
}

/* Where channel c is, and how many from it on are in equal steps. */
static int64_t channel_at(const Digits *digits, int64_t c, int64_t *run) {
    const Loop *inner = digits->loops + digits->count - 1;
    int64_t at = 0;
    *run = inner->n - c % inner->n;
    if (digits->count == 1) return c * inner->s;
    for (const Loop *k = inner; k >= digits->loops; c /= k->n, --k) at += (k == digits->loops ? c : c % k->n) * k->s;
    return at;
}

/* Which positions a tile has: `rows` times `row`. */
typedef struct {
    Loop row, rows;
    int64_t row_n, rows_n; /* in a whole tile */
    int count;             /* loops around them */
} Tiling;

static Tiling tiling(const Box *box, int one_row, int64_t positions) {
    Tiling t = {box->loops[box->count - 1], {1, 0, 0, 0}, 0, 1, box->count - 1};
    t.row_n = at_most(t.row.n, positions);
    if (one_row || !t.count || t.row_n < t.row.n) return t;
    t.rows = box->loops[--t.count];
    t.rows_n = at_most(t.rows.n, positions / t.row_n);
    return t;
}

/* Positions of `bytes` bytes for each channel, whole cache lines of planes. */
static int64_t positions_of(int64_t channels, int64_t size, int64_t bytes) {
    const int64_t line = LINE / size, n = bytes / (channels * size) / line * line;
    return n < line ? line : at_most(n, STRIP);
}

/* The next `most` of what is left, or half where less than a vector would remain. */
static int64_t next(int64_t left, int64_t most, int64_t least) {
    return left > most && left < most + least ? most / 2 : at_most(left, most);
}

#define TILES(tiling, tile_row, tile_rows, least, ...)                                                              \
    for (int64_t i_ = 0, tile_row; i_ < (tiling).row.n; i_ += tile_row) {                                           \
        tile_row = next((tiling).row.n - i_, (tiling).row_n, least);                                                \
        for (int64_t j_ = 0; j_ < (tiling).rows.n; j_ += (tiling).rows_n) {                                         \
            const int64_t tile_rows = at_most((tiling).rows.n - j_, (tiling).rows_n);                               \
            const int64_t tile_src = i_ * (tiling).row.s + j_ * (tiling).rows.s;                                    \
            const int64_t tile_dst = i_ * (tiling).row.d + j_ * (tiling).rows.d;                                    \
            __VA_ARGS__                                                                                             \
        }                                                                                                           \
    }

/* Moves between a tile and memory, planned for the last few extents. */
typedef struct {
    const Level *level;
    int planned;
    int64_t key[4][4];
    Move move[4];
} Movers;

/* `channels` planes of rows x row elements, `pitch` bytes apart in the tile and `step` in memory. */
static void tile_move(Movers *m, int size, int in, uint8_t *tile, int64_t pitch, uint8_t *memory, int64_t step,
                      int64_t channels, const Tiling *t, int64_t rows, int64_t row) {
    const int64_t key[4] = {in + 2 * channels, rows, row, pitch};
    int slot = 0;
    while (slot < 4 && slot < m->planned && memcmp(m->key[slot], key, sizeof key)) ++slot;
    if (slot == 4 || slot == m->planned) {
        slot = m->planned++ % 4;
        if (m->planned > 4) m->planned = 4 + m->planned % 4;
        memcpy(m->key[slot], key, sizeof key);
        Box box;
        box_clear(&box);
        const Loop loops[3] = {{channels, step, pitch, 0},
                               {rows, in ? t->rows.s : t->rows.d, row * size, 0},
                               {row, in ? t->row.s : t->row.d, size, 0}};
        for (int i = 0; i < 3; ++i) {
            Loop k = loops[i];
            if (!in) k.s = loops[i].d, k.d = loops[i].s;
            box_add(&box, k);
        }
        box.count = merged(box.loops, box.count);
        move_plan(m->move + slot, &box, size, 0);
    }
    if (in)
        move_run(m->level, m->move + slot, memory, tile);
    else
        move_run(m->level, m->move + slot, tile, memory);
}

static void gather(Movers *m, const Reduction *r, const Tiling *t, const uint8_t *src, int64_t c, int64_t channels,
                   int64_t rows, int64_t row, uint8_t *tile, int64_t pitch) {
    for (int64_t i = 0, n; i < channels; i += n) {
        const int64_t at = channel_at(&r->from, c + i, &n);
        n = at_most(n, channels - i);
        tile_move(m, dtype_size[r->type], 1, tile + i * pitch, pitch, (uint8_t *)src + at,
                  r->from.loops[r->from.count - 1].s, n, t, rows, row);
    }
}

typedef struct {
    uint8_t tile[TILE + LINE], best[4 * STRIP + LINE], at[4 * STRIP + LINE];
    Index where[STRIP];
    Movers movers;
} ArgmaxBench;

/* Whether the source holds planes that are worth to be read there. */
static int has_planes(const Reduction *r, const Box *box) {
    const Loop inner = box->loops[box->count - 1];
    const int size = dtype_size[r->type];
    return r->from.count == 1 && inner.s == size && inner.n * size >= LINE;
}

/* Whether channels are neighbours in the source. */
static int neighbours(const Reduction *r) { return r->from.count == 1 && r->from.loops[0].s == dtype_size[r->type]; }

int argmax_path(const Level *level, const Reduction *r) {
    const int across = r->type == F32 && r->channels >= ACROSS && neighbours(r) && !has_planes(r, &r->positions);
    return level->fast[PATH_ACROSS].across && across ? PATH_ACROSS : PATH_ARGMAX;
}

void argmax_run(const Level *level, const Reduction *r, const uint8_t *src, uint8_t *dst, int64_t part, int64_t parts) {
    Box box = r->positions;
    if (parts > 1 && !box_cut(&box, part, parts)) return;
    const Fast *loops = level->fast + argmax_path(level, r);
    const int size = dtype_size[r->type];
    const int across = loops == level->fast + PATH_ACROSS, direct = !across && has_planes(r, &box);
    const int64_t each = at_most(r->channels, CHUNK);
    const Tiling t = tiling(&box, direct, direct || across ? STRIP : positions_of(each, size, TILE));
    ArgmaxBench b;
    b.movers.level = level, b.movers.planned = 0;
    ODOMETER(box.loops, t.count, box.src, box.dst, 0, TILES(t, row, rows, LINE / size, {
        const uint8_t *s = src + src_ + tile_src;
        uint8_t *d = dst + dst_ + tile_dst;
        const int64_t n = rows * row, pitch = up_to(n * size, LINE);
        const int dense = (row == 1 || t.row.d == 8) && (rows == 1 || t.rows.d == 8 * row);
        Index *where = dense ? (Index *)(void *)d : b.where;
        for (int64_t j = 0; across && j < rows; ++j)
            loops->across(s + j * t.rows.s, t.row.s, row, r->channels, where + j * row);
        for (int64_t c = 0; !across && c < r->channels; c += each) {
            const int64_t channels = at_most(r->channels - c, each), step = r->from.loops[0].s;
            if (c) memset(b.at, 0, (size_t)pitch);
            if (direct) {
                loops->largest[r->type](s + c * step, step, channels, n * size, b.best, b.at, !c);
            } else {
                gather(&b.movers, r, &t, s, c, channels, rows, row, b.tile, pitch);
                loops->largest[r->type](b.tile, pitch, channels, pitch, b.best, b.at, !c);
            }
            loops->widen[size / 2](b.at, n, c - 1, !c, where);
        }
        for (int64_t j = 0; !dense && j < rows; ++j)
            for (int64_t i = 0; i < row; ++i) *(Index *)(void *)(d + j * t.rows.d + i * t.row.d) = where[j * row + i];
    }));
}

/* KEPT: values up to which top_k works on planes, MOST: positions of a tile, FEW_ACROSS: positions below which neighbouring
 * channels stay where they are (measured). */
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

/* Channels and values of n positions in a row, from numbers in rows of `pitch`. The channels are where `from` has them. */
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
    const Tiling t = tiling(&box, 0, across ? 1 : at_most(positions_of(each, 4, TILE), MOST));
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
            if (!reads) gather(&b.movers, r, &t, s, c, channels, rows, row, b.tile, step);
            loops->keys[r->type](reads ? s + c * size : b.tile, across ? channels : channels * pitch, b.keys);
            if (across) kept = loops->top_k_across(b.keys, channels, r->k, c, kept, b.best, b.at);
            else loops->top_k(b.keys, pitch, channels, pitch, r->k, c, b.best, b.at);
        }
        /* From the tile, where it has all: planes in the source may share sets of the cache. */
        const int whole = !across && each == r->channels;
        const Digits planes = {1, {{each, step, 0, 0}}};
        for (int64_t j = 0; j < rows; ++j) {
            const Loop results = {row, whole ? size : t.row.s, t.row.d, t.row.p};
            top_k_results(r, b.at + j * row, across ? 1 : pitch, results, row, whole ? &planes : &r->from,
                       whole ? b.tile + j * row * size : s + j * t.rows.s, d + j * t.rows.d, v + j * t.rows.p);
        }
    }));
}

typedef struct {
    _Alignas(LINE) float tile[ROOM], most[STRIP], factor[STRIP];
    union {
        uint8_t raw[4 * ROOM];
        _Alignas(LINE) float rows[ROOM];
    };
    double sums[STRIP];
    Movers in, out;
} SoftmaxBench;

/* Rows of n elements, `step` bytes apart, to float32, `pitch` floats apart. */
static void load_floats(const Level *level, const Reduction *r, const uint8_t *from, int64_t step, float *to, int64_t pitch, int64_t n,
                        int64_t rows) {
    const float one = 1, zero = 0;
    const int32_t none = 0;
    const Row row = {.shift = &r->shift, .scale = &r->scale, .divisor = &one, .before = &zero, .low = &zero, .high = &zero,
                     .after = &none, .steps = 1, .more = rows - 1, .src_step = step, .dst_step = 4 * pitch};
    level->fast[PATH_LOAD].load[r->type][ONE_VALUE][UNDIVIDED](from, (uint8_t *)to, n, &row);
}

/* Channels from c on as float32 planes in the tile. */
static void fetch(const Level *level, SoftmaxBench *b, const Reduction *r, const Tiling *t, const uint8_t *src, int64_t c,
                  int64_t channels, int64_t rows, int64_t row, int64_t pitch) {
    const int size = dtype_size[r->type];
    uint8_t *tile = r->type == F32 ? (uint8_t *)b->tile : b->raw; /* load works on none in place */
    if (r->type != F32 && r->from.count == 1 && rows == 1 && row >= 16 && t->row.s == size) {
        const int64_t step = r->from.loops[0].s;
        load_floats(level, r, src + c * step, step, b->tile, pitch, row, channels);
        return;
    }
    gather(&b->in, r, t, src, c, channels, rows, row, tile, pitch * size);
    if (r->type != F32) load_floats(level, r, tile, 0, b->tile, 0, channels * pitch, 1);
}

/* The tile to where it belongs, times `factor`, or as it is. */
static void deliver(const Fast *loops, SoftmaxBench *b, const Reduction *r, const Tiling *t, uint8_t *dst, int64_t c,
                    int64_t channels, int64_t rows, int64_t row, int64_t pitch, const float *factor) {
    const int64_t step = r->to.loops[r->to.count - 1].s;
    const int direct = factor && rows == 1 && (row == 1 || t->row.d == 4);
    if (factor && !direct) loops->scale(b->tile, pitch, channels, pitch, factor, (uint8_t *)b->tile, 4 * pitch, 0);
    if (!direct && r->past && rows == 1 && channels == r->channels && r->to.count == 1 && step == 4 && t->row.d == 4 * channels) {
        const Tiling dense = {.row = {row, 0, 4 * channels, 0}};
        tile_move(&b->out, 4, 0, (uint8_t *)b->tile, 4 * pitch, b->raw, 4, channels, &dense, 1, row);
        loops->copy(b->raw, dst, 4 * channels * row);
        return;
    }
    for (int64_t i = 0, n; i < channels; i += n) {
        const int64_t at = channel_at(&r->to, c + i, &n);
        float *planes = b->tile + i * pitch;
        n = at_most(n, channels - i);
        if (direct)
            loops->scale(planes, pitch, n, row, factor, dst + at, step, r->past);
        else
            tile_move(&b->out, 4, 0, (uint8_t *)planes, 4 * pitch, dst + at, step, n, t, rows, row);
    }
}

/* What the tile after this one reads: of floats whose channels or positions are neighbours. */
static Ahead ahead_of(const Reduction *r, const Tiling *t, const uint8_t *src) {
    const int64_t step = r->from.loops[0].s, next = t->rows.n > 1 ? t->rows_n * t->rows.s : t->row_n * t->row.s;
    if (r->type != F32 || r->from.count > 1) return (Ahead){NULL, 0, 0};
    if (t->row.s == 4) return (Ahead){src + next, step, LINE};
    if (step == 4 && t->row.s == 4 * r->channels) return (Ahead){src + next, LINE, LINE * r->channels};
    return (Ahead){NULL, 0, 0};
}

/* Up to 8 channels stay in registers all the way. Planes that a side lacks are in the tile. */
static void softmax_in_registers(const Level *level, SoftmaxBench *b, const Reduction *r, const Tiling *t, const uint8_t *src, uint8_t *dst,
                           int64_t rows, int64_t row) {
    const Fast *loops = level->fast + PATH_SOFTMAX;
    const int64_t pitch = up_to(rows * row, 16);
    const int planes = rows == 1 && row >= 16;
    const int reads = planes && r->type == F32 && r->from.count == 1 && t->row.s == 4;
    const int writes = planes && r->to.count == 1 && t->row.d == 4;
    uint8_t *const tile = (uint8_t *)b->tile, *const to = writes ? dst : tile;
    const uint8_t *const from = reads ? src : tile;
    const Ahead none = {NULL, 0, 0};
    if (!reads) fetch(level, b, r, t, src, 0, r->channels, rows, row, pitch);
    loops->softmax_in_registers(from, reads ? r->from.loops[0].s : 4 * pitch, to, writes ? r->to.loops[0].s : 4 * pitch, r->channels,
                          reads || writes ? row : pitch, writes && r->past, reads ? none : ahead_of(r, t, src));
    if (!writes) deliver(loops, b, r, t, dst, 0, r->channels, rows, row, pitch, NULL);
}

/* Neighbouring channels in place, of four positions at a time where the benches have room for them. */
static void softmax_across(const Level *level, SoftmaxBench *b, const Reduction *r, const Box *box, const uint8_t *src, uint8_t *dst) {
    const Loop row = box->loops[box->count - 1];
    const int64_t room = r->channels + 16, rows = 4 * room > ROOM ? 1 : 8 * room > ROOM ? 4 : at_most(ROOM / room, 32);
    SoftmaxAcross *const loop = level->fast[PATH_SOFTMAX_ACROSS].softmax_across;
    int64_t bytes = 4 * r->channels;
    for (int i = 0; i < r->positions.count; ++i) bytes *= r->positions.loops[i].n;
    const int far = r->type == F32 && bytes >= FAR_ROWS;
    ODOMETER(box->loops, box->count - 1, box->src, box->dst, 0, {
        const uint8_t *s = src + src_;
        uint8_t *d = dst + dst_;
        if (r->type == F32) loop(s, row.s, d, row.d, row.n, r->channels, b->tile, rows > 1 ? b->rows : NULL, far);
        for (int64_t i = 0, n; r->type != F32 && i < row.n; i += n, s += n * row.s, d += n * row.d) {
            n = at_most(row.n - i, rows);
            load_floats(level, r, s, row.s, b->rows, room, r->channels, n);
            loop((const uint8_t *)b->rows, 4 * room, d, row.d, n, r->channels, b->tile, rows > 1 ? b->tile + 4 * room : NULL, 0);
        }
    });
}

/* Neighbouring channels stay where they are, where their vectors are mostly full (measured). */
int softmax_path(const Level *level, const Reduction *r) {
    const int64_t channels = r->channels, lanes = level->vector / 4;
    const int stays = neighbours(r) && r->to.count == 1 && r->to.loops[0].s == 4;
    const int64_t least = r->type != F32 ? 64 : lanes > 8 ? 2 * lanes : 16;
    const int full = channels >= least && up_to(channels, lanes) <= channels + channels / (lanes > 4 ? 6 : 12);
    const int fits = channels + 16 <= ROOM;
    return level->fast[PATH_SOFTMAX_ACROSS].softmax_across && stays && full && fits ? PATH_SOFTMAX_ACROSS : PATH_SOFTMAX;
}

void softmax_run(const Level *level, const Reduction *r, const uint8_t *src, uint8_t *dst, int64_t part, int64_t parts) {
    Box box = r->positions;
    if (parts > 1 && !box_cut(&box, part, parts)) return;
    SoftmaxBench b;
    if (softmax_path(level, r) == PATH_SOFTMAX_ACROSS) {
        softmax_across(level, &b, r, &box, src, dst);
        return;
    }
    const Fast *loops = level->fast + PATH_SOFTMAX;
    const int64_t all_channels = r->channels, each = at_most(all_channels, MANY);
    const Tiling t = tiling(&box, 0, positions_of(each, 4, SOFT));
    const Ahead none = {NULL, 0, 0};
    b.in.level = b.out.level = level, b.in.planned = b.out.planned = 0;
    ODOMETER(box.loops, t.count, box.src, box.dst, 0, TILES(t, row, rows, 16, {
        const uint8_t *s = src + src_ + tile_src;
        uint8_t *d = dst + dst_ + tile_dst;
        const int64_t pitch = up_to(rows * row, 16);
        const int passes = all_channels <= SOFTMAX_IN_REGISTERS ? 0 : 3;
        if (!passes) softmax_in_registers(level, &b, r, &t, s, d, rows, row);
        /* Largest, sums, results; where the channels are more than a tile's, each from the source again. */
        for (int pass = 0; pass < passes; ++pass)
            for (int64_t c = 0; c < all_channels; c += each) {
                const int64_t channels = at_most(all_channels - c, each);
                if (pass == 0 || all_channels > each) fetch(level, &b, r, &t, s, c, channels, rows, row, pitch);
                if (pass == 0) loops->maxima(b.tile, pitch, channels, pitch, b.most, !c);
                if (pass == 1 || (pass == 2 && all_channels > each))
                    loops->exponentials(b.tile, pitch, channels, pitch, b.most, b.sums, !c || pass == 2,
                                        pass == 1 && c + each >= all_channels ? b.factor : NULL,
                                        all_channels > each ? none : ahead_of(r, &t, s));
                if (pass == 2) deliver(loops, &b, r, &t, d, c, channels, rows, row, pitch, b.factor);
            }
    }));
    if (r->past) level->fence();
}

void sigmoid_run(const Level *level, const Reduction *r, const uint8_t *src, uint8_t *dst, int64_t part, int64_t parts) {
    Box box = r->positions;
    if (parts > 1 && !box_cut(&box, part, parts)) return;
    Sigmoid *const loop = level->fast[PATH_SIGMOID].sigmoid;
    const Loop last = box.loops[box.count - 1];
    const int direct = r->type == F32 && last.s == 4 && last.d == 4;
    const Tiling t = tiling(&box, direct, direct ? INT64_MAX : STRIP);
    SoftmaxBench b;
    b.in.level = b.out.level = level, b.in.planned = b.out.planned = 0;
    uint8_t *const tile = (uint8_t *)b.tile;
    ODOMETER(box.loops, t.count, box.src, box.dst, 0, TILES(t, row, rows, 1, {
        const uint8_t *s = src + src_ + tile_src;
        uint8_t *d = dst + dst_ + tile_dst;
        const int reads = rows == 1 && (row == 1 || t.row.s == 4) && r->type == F32, writes = rows == 1 && (row == 1 || t.row.d == 4);
        if (!reads) fetch(level, &b, r, &t, s, 0, 1, rows, row, up_to(rows * row, 16));
        loop(reads ? s : tile, writes ? d : tile, rows * row, writes && r->past && s != d);
        if (!writes) deliver(NULL, &b, r, &t, d, 0, 1, rows, row, rows * row, NULL);
    }));
    if (r->past) level->fence();
}
