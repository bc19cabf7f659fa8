/* Softmax and sigmoid: walk the tiles. */
#include "reduce_tiles.h"

/* SOFT: bytes of the planes of one tile; more only if a cache line for each of so many channels needs more.
 * LEAST_ROW: neighbouring positions from which on planes are read in place. FEW_POSITIONS: those below which they are not gathered.
 * MANY: channels up to which softmax keeps its exponentials; above that it computes them twice. FAR_ROWS: bytes of neighbours
 * from which on softmax is faster with prefetches (measured). */
enum { SOFT = 32768, LEAST_ROW = 64, FEW_POSITIONS = 16, MANY = 1024, ROOM = 16 * MANY, FAR_ROWS = 1000000 };

typedef struct {
    _Alignas(LINE) float tile[ROOM + ROOM / PADS], most[STRIP], factor[STRIP];
    union {
        uint8_t raw[GATHERED_ROOM];
        _Alignas(LINE) float rows[ROOM];
    };
    _Alignas(LINE) uint8_t parts[4 * ROOM];
    double sums[STRIP];
    Movers in, out;
} SoftmaxBench;

static void prepare(SoftmaxBench *b, const Level *level) {
    b->in.level = b->out.level = level, b->in.rows = b->parts, b->out.rows = NULL, b->in.planned = b->out.planned = 0;
}

/* Convert rows of n elements, with a pitch of `step` bytes, to float32, with a pitch of `pitch` floats. */
static void load_floats(const Level *level, const Reduction *r, const uint8_t *from, int64_t step, float *to, int64_t pitch, int64_t n,
                        int64_t rows) {
    const float one = 1, zero = 0;
    const int32_t none = 0;
    const Row row = {.shift = &r->shift, .scale = &r->scale, .divisor = &one, .before = &zero, .low = &zero, .high = &zero,
                     .after = &none, .steps = 1, .more = rows - 1, .src_step = step, .dst_step = 4 * pitch};
    fast_of(level, PATH_LOAD)->load[r->type][ONE_VALUE][UNDIVIDED](from, (uint8_t *)to, n, &row);
}

/* Whether planes are converted from where they are; `load` cannot convert in place. */
static int loads_planes(const Reduction *r, const Tiling *t, int64_t rows, int64_t row) {
    return r->type != F32 && r->from.count == 1 && rows == 1 && row >= 16 && t->row.s == dtype_size[r->type];
}

/* Copy channels from c on to the tile, as float32 planes. `first`: the place of the tile's first position in its row of the source. */
static void fetch(const Level *level, SoftmaxBench *b, const Reduction *r, const Tiling *t, const uint8_t *src, int64_t first, int64_t c,
                  int64_t channels, int64_t rows, int64_t row, int64_t pitch) {
    const int size = dtype_size[r->type];
    const int64_t step = r->from.loops[0].s;
    if (loads_planes(r, t, rows, row)) {
        load_floats(level, r, src + c * step, step, b->tile, pitch, row, channels);
        return;
    }
    reduction_gather(&b->in, r, t, src, first, c, channels, rows, row, r->type == F32 ? (uint8_t *)b->tile : b->raw, pitch * size);
    if (r->type != F32) load_floats(level, r, b->raw, 0, b->tile, 0, channels * pitch, 1);
}

/* Stored planes with a pitch of `step` bytes: those of the source, or those gathered in `raw`. */
typedef struct {
    const uint8_t *at;
    int64_t step;
} Planes;

static Planes stored_planes(SoftmaxBench *b, const Reduction *r, const Tiling *t, const uint8_t *src, int64_t first, int64_t c, int64_t channels,
                            int64_t rows, int64_t row, int parted) {
    const int64_t step = r->from.loops[0].s, least = up_to(rows * row, 16) * dtype_size[r->type], pitch = parted ? up_to(least, LINE) | LINE : least;
    if (loads_planes(r, t, rows, row)) return (Planes){src + c * step, step};
    reduction_gather(&b->in, r, t, src, first, c, channels, rows, row, b->raw, pitch);
    return (Planes){b->raw, pitch};
}

/* Whether positions are one row of the destination, whose planes are then written in place. */
static int is_flat(const Tiling *t, int64_t rows, int64_t row) {
    return (row == 1 || t->row.d == 4) && (rows == 1 || t->rows.d == 4 * row);
}

/* Move planes to the destination, multiplied by `factor`, or unchanged. */
static void deliver(const Fast *loops, SoftmaxBench *b, const Reduction *r, const Tiling *t, float *planes, int64_t pitch, uint8_t *dst,
                    int64_t c, int64_t channels, int64_t rows, int64_t row, const float *factor) {
    const int64_t step = r->to.loops[r->to.count - 1].s;
    const int direct = factor && is_flat(t, rows, row);
    if (factor && !direct) loops->scale(planes, pitch, channels, up_to(rows * row, 16), factor, (uint8_t *)planes, 4 * pitch, 0);
    const int fits = 4 * channels * row <= (int64_t)sizeof b->parts;
    if (!direct && fits && r->past && rows == 1 && channels == r->channels && r->to.count == 1 && step == 4 && t->row.d == 4 * channels) {
        const Tiling dense = {.row = {row, 0, 4 * channels, 0}};
        reduction_move(&b->out, 4, 0, (uint8_t *)planes, 4 * pitch, b->parts, (Loop){channels, 4, 0, 0}, (Loop){1, 0, 0, 0}, &dense, 1, row);
        loops->copy(b->parts, dst, 4 * channels * row);
        return;
    }
    for (int64_t i = 0, n; i < channels; i += n, planes += n * pitch) {
        const int64_t at = channel_at(&r->to, c + i, &n);
        n = at_most(n, channels - i);
        if (direct)
            loops->scale(planes, pitch, n, rows * row, factor, dst + at, step, r->past);
        else
            reduction_move(&b->out, 4, 0, (uint8_t *)planes, 4 * pitch, dst + at, (Loop){n, step, 0, 0}, (Loop){1, 0, 0, 0}, t, rows, row);
    }
}

/* What the next tile reads from `next` on, if channels or positions are neighbours, or channels are in blocks. */
static Ahead ahead_of(const Reduction *r, const Tiling *t, const uint8_t *next) {
    const int64_t step = r->from.loops[0].s, size = dtype_size[r->type], line = 16 * size; /* of 16 positions */
    const Loop run = r->from.loops[r->from.count - 1];
    const int blocks = r->from.count == 2 && run.s == size && t->row.s == size * run.n && run.n % 4 == 0;
    if (joins_blocks(r, t)) return (Ahead){NULL, 0, 0, 0, 0};
    if (blocks) return (Ahead){next, line, line * run.n, run.n, step - line * run.n};
    if (r->from.count > 1) return (Ahead){NULL, 0, 0, 0, 0};
    if (t->row.s == size) return (Ahead){next, step, line, INT64_MAX, 0};
    const int64_t each = 16 * t->row.s / r->channels; /* of neighbours, with the gaps behind them: more than some lines would be left out */
    if (step == size && each <= LINE + LINE / 4) return (Ahead){next, each, 16 * t->row.s, INT64_MAX, 0};
    return (Ahead){NULL, 0, 0, 0, 0};
}
/* Where the tile behind one of so many positions from i on begins, counted from this one. */
static int64_t next_tile(const Box *box, const Tiling *t, int64_t i, int64_t row) {
    const int64_t here = tile_from(t, i);
    if (t->rows.n > 1) return t->rows_n * t->rows.s;
    return i + row < t->row.n || !t->count ? tile_from(t, i + row) - here : box->loops[t->count - 1].s - here;
}

/* Up to 8 channels stay in registers throughout. If a side has no planes, they are in the tile. */
static void softmax_in_registers(const Level *level, SoftmaxBench *b, const Reduction *r, const Tiling *t, const uint8_t *src, int64_t first,
                                 uint8_t *dst, int64_t rows, int64_t row, int64_t next) {
    const Fast *loops = fast_of(level, PATH_SOFTMAX);
    const int64_t pitch = up_to(rows * row, 16);
    const int planes = rows == 1 && row >= 16;
    const int reads = planes && r->type == F32 && r->from.count == 1 && t->row.s == 4;
    const int writes = planes && r->to.count == 1 && t->row.d == 4;
    uint8_t *const tile = (uint8_t *)b->tile, *const to = writes ? dst : tile;
    const uint8_t *const from = reads ? src : tile;
    const Ahead none = {NULL, 0, 0, 0, 0};
    if (!reads) fetch(level, b, r, t, src, first, 0, r->channels, rows, row, pitch);
    loops->softmax_in_registers(from, reads ? r->from.loops[0].s : 4 * pitch, to, writes ? r->to.loops[0].s : 4 * pitch, r->channels,
                          reads || writes ? row : pitch, writes && r->past, reads || r->type != F32 ? none : ahead_of(r, t, src + next));
    if (!writes) deliver(loops, b, r, t, b->tile, pitch, dst, 0, r->channels, rows, row, NULL);
}

/* Neighbouring channels in place, four positions at a time if the benches have room for them. */
static void softmax_across(const Level *level, SoftmaxBench *b, const Reduction *r, const Box *box, const uint8_t *src, uint8_t *dst) {
    const Loop row = box->loops[box->count - 1];
    const int64_t room = r->channels + 16, rows = 4 * room > ROOM ? 1 : 8 * room > ROOM ? 4 : at_most(ROOM / room, 32);
    SoftmaxAcross *const loop = fast_of(level, PATH_SOFTMAX_ACROSS)->softmax_across;
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

/* Neighbouring channels are not moved if their vectors are mostly full (measured). */
int softmax_path(const Level *level, const Reduction *r) {
    const int64_t channels = r->channels, lanes = level->vector / 4;
    const int stays = neighbours(r) && r->to.count == 1 && r->to.loops[0].s == 4;
    const int64_t least = r->type != F32 ? 64 : lanes > 8 ? 2 * lanes : 16;
    const int full = channels >= least && up_to(channels, lanes) <= channels + channels / (lanes > 4 ? 6 : 12);
    const int fits = channels + 16 <= ROOM;
    return fast_of(level, PATH_SOFTMAX_ACROSS)->softmax_across && stays && full && fits ? PATH_SOFTMAX_ACROSS : PATH_SOFTMAX;
}

/* Channels that fit in a tile: all are gathered, of more positions than the loops then take at once, `some`, if the result is flat. */
static void softmax_gathered(const Level *level, SoftmaxBench *b, const Reduction *r, const Tiling *t, const uint8_t *src, int64_t first,
                             uint8_t *dst, int64_t rows, int64_t row, int64_t some, int64_t next) {
    const Fast *loops = fast_of(level, PATH_SOFTMAX);
    const int size = dtype_size[r->type];
    const int64_t all = rows * row;
    const Planes stored = stored_planes(b, r, t, src, first, 0, r->channels, rows, row, all > some);
    Ahead ahead = ahead_of(r, t, src + next);
    for (int64_t i = 0, n; i < all; i += n, ahead.at += ahead.at ? n / 16 * ahead.line : 0) {
        n = at_most(all - i, some);
        const int64_t pitch = up_to(n, 16);
        float *planes = (float *)(void *)(b->raw + i * size);
        int64_t step = stored.step / 4;
        if (r->type != F32) {
            const int whole = stored.step == pitch * size;
            if (whole) load_floats(level, r, stored.at, 0, b->tile, 0, r->channels * pitch, 1);
            else load_floats(level, r, stored.at + i * size, stored.step, b->tile, pitch, stored.at == b->raw ? pitch : n, r->channels);
            planes = b->tile, step = pitch;
        }
        loops->maxima(planes, step, r->channels, pitch, b->most, 1);
        loops->exponentials(planes, step, r->channels, pitch, b->most, b->sums, 1, b->factor, ahead);
        deliver(loops, b, r, t, planes, step, dst + i * t->row.d, 0, r->channels, n < all ? 1 : rows, n < all ? n : row, b->factor);
    }
}

/* More channels than fit in a tile: maxima, sums, results; each step reads the source again. */
static void softmax_by_steps(const Level *level, SoftmaxBench *b, const Reduction *r, const Tiling *t, const uint8_t *src, int64_t first,
                             uint8_t *dst, int64_t rows, int64_t row) {
    const Fast *loops = fast_of(level, PATH_SOFTMAX);
    const Ahead none = {NULL, 0, 0, 0, 0};
    const int64_t pitch = up_to(rows * row, 16);
    for (int pass = 0; pass < 3; ++pass)
        for (int64_t c = 0; c < r->channels; c += MANY) {
            const int64_t channels = at_most(r->channels - c, MANY);
            fetch(level, b, r, t, src, first, c, channels, rows, row, pitch);
            if (pass == 0) loops->maxima(b->tile, pitch, channels, pitch, b->most, !c);
            else
                loops->exponentials(b->tile, pitch, channels, pitch, b->most, b->sums, !c || pass == 2,
                                    pass == 1 && c + MANY >= r->channels ? b->factor : NULL, none);
            if (pass == 2) deliver(loops, b, r, t, b->tile, pitch, dst, c, channels, rows, row, b->factor);
        }
}

/* Positions of a row that are gathered at once, `some` or more. */
static int64_t gathered_positions(const Reduction *r, int64_t channels, int64_t some) {
    const int64_t wide = positions_of(channels + channels / PADS, dtype_size[r->type], GATHERED);
    return wide > some ? wide : some;
}

void softmax_run(const Level *level, const Reduction *r, const uint8_t *src, uint8_t *dst, int64_t part, int64_t parts) {
    Box box = r->positions;
    if (parts > 1 && !box_cut(&box, part, parts)) return;
    SoftmaxBench b;
    if (softmax_path(level, r) == PATH_SOFTMAX_ACROSS) {
        softmax_across(level, &b, r, &box, src, dst);
        return;
    }
    const int64_t some = positions_of(at_most(r->channels, MANY), 4, SOFT);
    const int few = r->channels <= SOFTMAX_IN_REGISTERS, gathers = !few && r->channels <= MANY;
    const int wide = gathers && r->from.count > 1 && r->type == F32; /* others take longer so (measured) */
    const int64_t positions = wide ? gathered_positions(r, r->channels, some) : some;
    const Loop *row_loop = box.loops + box.count - 1;
    const Tiling all_rows = {.rows = box.count > 1 ? row_loop[-1] : (Loop){0, 0, 0, 0}, .row = *row_loop};
    const int planes = row_loop->s == dtype_size[r->type] && row_loop->n >= LEAST_ROW;
    const int flat = is_flat(&all_rows, box.count, row_loop->n) && !planes, one_row = planes || (!flat && row_loop->n >= some);
    const Tiling t = tiling_joins(r, &box) ? tiling_joined(&box, positions) : reduction_tiling(&box, one_row, flat || one_row ? positions : some);
    prepare(&b, level);
    ODOMETER(box.loops, t.count, box.src, box.dst, 0, TILES(t, row, rows, 16, {
        const uint8_t *s = src + src_ + tile_src;
        uint8_t *d = dst + dst_ + tile_dst;
        const int64_t first = t.part ? i_ % t.part : 0, next = next_tile(&box, &t, i_, row);
        if (few) softmax_in_registers(level, &b, r, &t, s, first, d, rows, row, next);
        else if (gathers) softmax_gathered(level, &b, r, &t, s, first, d, rows, row, some, next);
        else softmax_by_steps(level, &b, r, &t, s, first, d, rows, row);
    }));
    if (r->past) fence();
}

/* SIGMOIDS: channels that are gathered at once, fewer for longer rows of the result. HELD: floats of planes that are computed at once. */
enum { SIGMOIDS = 128, HELD = 4096 };

void sigmoid_plan(Reduction *r) {
    const Loop inner = r->positions.loops[r->positions.count - 1];
    const int one = r->from.count == 1 && r->to.count == 1 && r->positions.count < MAX_LOOPS;
    const int channels = neighbours(r) && r->to.loops[0].s == 4;
    const int positions = inner.s == dtype_size[r->type] && inner.d == 4 && inner.n >= LEAST_ROW;
    int64_t all = 1;
    for (int i = 0; i < r->positions.count; ++i) all *= r->positions.loops[i].n;
    if (r->channels == 1 || !one || !(channels || positions || all < FEW_POSITIONS)) return;
    box_add(&r->positions, (Loop){r->channels, r->from.loops[0].s, r->to.loops[0].s, 0});
    r->channels = 1, r->from.count = r->to.count = 0;
    reduction_plan(r);
}

/* Channels from c on: computed from where they were gathered to where the result has rows of positions, else in place and then moved. */
static void sigmoid_of_channels(const Level *level, SoftmaxBench *b, const Reduction *r, const Tiling *t, const uint8_t *src, int64_t first,
                                uint8_t *dst, int64_t c, int64_t channels, int64_t rows, int64_t row) {
    Sigmoid *const loop = fast_of(level, PATH_SIGMOID)->sigmoid;
    const int64_t pitch = up_to(rows * row, 16), group = r->type == F32 ? channels : HELD / pitch;
    const int writes = is_flat(t, rows, row);
    const Planes stored = stored_planes(b, r, t, src, first, c, channels, rows, row, 1);
    for (int64_t i = 0, n, run; i < channels; i += n) {
        n = at_most(channels - i, group);
        float *planes = (float *)(void *)(b->raw + i * stored.step);
        int64_t step = stored.step / 4;
        if (r->type != F32) {
            load_floats(level, r, stored.at + i * stored.step, stored.step, b->tile, pitch, stored.at == b->raw ? pitch : row, n);
            planes = b->tile, step = pitch;
        }
        for (int64_t k = 0; k < n; ++k) {
            const uint8_t *from = (const uint8_t *)(planes + k * step);
            loop(from, writes ? dst + channel_at(&r->to, c + i + k, &run) : (uint8_t *)(planes + k * step), rows * row, writes && r->past);
        }
        if (!writes) deliver(fast_of(level, PATH_SOFTMAX), b, r, t, planes, step, dst, c + i, n, rows, row, NULL);
    }
}

static void sigmoid_tiles(const Level *level, const Reduction *r, const Box *box, const uint8_t *src, uint8_t *dst) {
    const int64_t each = at_most(r->channels, SIGMOIDS), positions = at_most(gathered_positions(r, each, LINE / 4), HELD);
    const Tiling t = tiling_joins(r, box) ? tiling_joined(box, positions) : reduction_tiling(box, 0, positions);
    SoftmaxBench b;
    prepare(&b, level);
    ODOMETER(box->loops, t.count, box->src, box->dst, 0, TILES(t, row, rows, 16, {
        for (int64_t c = 0; c < r->channels; c += each)
            sigmoid_of_channels(level, &b, r, &t, src + src_ + tile_src, t.part ? i_ % t.part : 0, dst + dst_ + tile_dst, c,
                                at_most(r->channels - c, each), rows, row);
    }));
}

void sigmoid_run(const Level *level, const Reduction *r, const uint8_t *src, uint8_t *dst, int64_t part, int64_t parts) {
    Box box = r->positions;
    if (parts > 1 && !box_cut(&box, part, parts)) return;
    if (r->channels > 1) {
        sigmoid_tiles(level, r, &box, src, dst);
        if (r->past) fence();
        return;
    }
    Sigmoid *const loop = fast_of(level, PATH_SIGMOID)->sigmoid;
    const Loop last = box.loops[box.count - 1];
    const int direct = r->type == F32 && last.s == 4 && last.d == 4;
    const Tiling t = reduction_tiling(&box, direct, direct ? INT64_MAX : STRIP);
    SoftmaxBench b;
    prepare(&b, level);
    ODOMETER(box.loops, t.count, box.src, box.dst, 0, TILES(t, row, rows, 1, {
        const uint8_t *s = src + src_ + tile_src;
        uint8_t *d = dst + dst_ + tile_dst;
        const int reads = rows == 1 && (row == 1 || t.row.s == 4) && r->type == F32, writes = is_flat(&t, rows, row);
        uint8_t *const tile = (uint8_t *)b.tile;
        if (!reads) fetch(level, &b, r, &t, s, 0, 0, 1, rows, row, up_to(rows * row, 16));
        loop(reads ? s : tile, writes ? d : tile, rows * row, writes && r->past && s != d);
        if (!writes) deliver(fast_of(level, PATH_SOFTMAX), &b, r, &t, b.tile, rows * row, d, 0, 1, rows, row, NULL);
    }));
    if (r->past) fence();
}
