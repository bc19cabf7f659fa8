/* Softmax and sigmoid: walk the tiles. */
#include "reduce_tiles.h"

/* SOFT: bytes of the planes of one tile; more only if a cache line for each of so many channels needs more.
 * MANY: channels up to which softmax keeps its exponentials; above that it computes them twice. FAR_ROWS: bytes of neighbours
 * from which on softmax is faster with prefetches (measured). */
enum { SOFT = 32768, MANY = 1024, ROOM = 16 * MANY, FAR_ROWS = 1000000 };

typedef struct {
    _Alignas(LINE) float tile[ROOM], most[STRIP], factor[STRIP];
    union {
        uint8_t raw[4 * ROOM];
        _Alignas(LINE) float rows[ROOM];
    };
    double sums[STRIP];
    Movers in, out;
} SoftmaxBench;

/* Convert rows of n elements, with a pitch of `step` bytes, to float32, with a pitch of `pitch` floats. */
static void load_floats(const Level *level, const Reduction *r, const uint8_t *from, int64_t step, float *to, int64_t pitch, int64_t n,
                        int64_t rows) {
    const float one = 1, zero = 0;
    const int32_t none = 0;
    const Row row = {.shift = &r->shift, .scale = &r->scale, .divisor = &one, .before = &zero, .low = &zero, .high = &zero,
                     .after = &none, .steps = 1, .more = rows - 1, .src_step = step, .dst_step = 4 * pitch};
    fast_of(level, PATH_LOAD)->load[r->type][ONE_VALUE][UNDIVIDED](from, (uint8_t *)to, n, &row);
}

/* Copy channels from c on to the tile, as float32 planes. `first`: the place of the tile's first position in its row of the source. */
static void fetch(const Level *level, SoftmaxBench *b, const Reduction *r, const Tiling *t, const uint8_t *src, int64_t first, int64_t c,
                  int64_t channels, int64_t rows, int64_t row, int64_t pitch) {
    const int size = dtype_size[r->type];
    uint8_t *tile = r->type == F32 ? (uint8_t *)b->tile : b->raw; /* `load` cannot convert in place */
    if (r->type != F32 && r->from.count == 1 && rows == 1 && row >= 16 && t->row.s == size) {
        const int64_t step = r->from.loops[0].s;
        load_floats(level, r, src + c * step, step, b->tile, pitch, row, channels);
        return;
    }
    reduction_gather(&b->in, r, t, src, first, c, channels, rows, row, tile, pitch * size);
    if (r->type != F32) load_floats(level, r, tile, 0, b->tile, 0, channels * pitch, 1);
}

/* Move the tile to the destination, multiplied by `factor`, or unchanged. */
static void deliver(const Fast *loops, SoftmaxBench *b, const Reduction *r, const Tiling *t, uint8_t *dst, int64_t c,
                    int64_t channels, int64_t rows, int64_t row, int64_t pitch, const float *factor) {
    const int64_t step = r->to.loops[r->to.count - 1].s;
    const int direct = factor && rows == 1 && (row == 1 || t->row.d == 4);
    if (factor && !direct) loops->scale(b->tile, pitch, channels, pitch, factor, (uint8_t *)b->tile, 4 * pitch, 0);
    if (!direct && r->past && rows == 1 && channels == r->channels && r->to.count == 1 && step == 4 && t->row.d == 4 * channels) {
        const Tiling dense = {.row = {row, 0, 4 * channels, 0}};
        reduction_move(&b->out, 4, 0, (uint8_t *)b->tile, 4 * pitch, b->raw, (Loop){channels, 4, 0, 0}, (Loop){1, 0, 0, 0}, &dense, 1, row);
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
            reduction_move(&b->out, 4, 0, (uint8_t *)planes, 4 * pitch, dst + at, (Loop){n, step, 0, 0}, (Loop){1, 0, 0, 0}, t, rows, row);
    }
}

/* What the next tile reads, if it consists of floats whose channels or positions are neighbours, or of blocks of channels. */
static Ahead ahead_of(const Reduction *r, const Tiling *t, const uint8_t *src) {
    const int64_t step = r->from.loops[0].s, next = t->rows.n > 1 ? t->rows_n * t->rows.s : t->row_n * t->row.s;
    const Loop run = r->from.loops[r->from.count - 1];
    const int blocks = r->from.count == 2 && run.s == 4 && t->row.s == 4 * run.n && run.n % 4 == 0;
    if (r->type != F32) return (Ahead){NULL, 0, 0, 0, 0};
    if (blocks) return (Ahead){src + next, LINE, LINE * run.n, run.n, step - LINE * run.n};
    if (r->from.count > 1) return (Ahead){NULL, 0, 0, 0, 0};
    if (t->row.s == 4) return (Ahead){src + next, step, LINE, INT64_MAX, 0};
    if (step == 4 && t->row.s == 4 * r->channels) return (Ahead){src + next, LINE, LINE * r->channels, INT64_MAX, 0};
    return (Ahead){NULL, 0, 0, 0, 0};
}

/* Up to 8 channels stay in registers throughout. If a side has no planes, they are in the tile. */
static void softmax_in_registers(const Level *level, SoftmaxBench *b, const Reduction *r, const Tiling *t, const uint8_t *src, int64_t first,
                                 uint8_t *dst, int64_t rows, int64_t row) {
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
                          reads || writes ? row : pitch, writes && r->past, reads ? none : ahead_of(r, t, src));
    if (!writes) deliver(loops, b, r, t, dst, 0, r->channels, rows, row, pitch, NULL);
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

void softmax_run(const Level *level, const Reduction *r, const uint8_t *src, uint8_t *dst, int64_t part, int64_t parts) {
    Box box = r->positions;
    if (parts > 1 && !box_cut(&box, part, parts)) return;
    SoftmaxBench b;
    if (softmax_path(level, r) == PATH_SOFTMAX_ACROSS) {
        softmax_across(level, &b, r, &box, src, dst);
        return;
    }
    const Fast *loops = fast_of(level, PATH_SOFTMAX);
    const int64_t all_channels = r->channels, each = at_most(all_channels, MANY);
    const int64_t positions = positions_of(each, 4, SOFT);
    const Tiling t = tiling_joins(r, &box) ? tiling_joined(&box, positions) : reduction_tiling(&box, 0, positions);
    const Ahead none = {NULL, 0, 0, 0, 0};
    b.in.level = b.out.level = level, b.in.planned = b.out.planned = 0;
    ODOMETER(box.loops, t.count, box.src, box.dst, 0, TILES(t, row, rows, 16, {
        const uint8_t *s = src + src_ + tile_src;
        uint8_t *d = dst + dst_ + tile_dst;
        const int64_t pitch = up_to(rows * row, 16), first = t.part ? i_ % t.part : 0;
        const int passes = all_channels <= SOFTMAX_IN_REGISTERS ? 0 : 3;
        if (!passes) softmax_in_registers(level, &b, r, &t, s, first, d, rows, row);
        /* Maxima, sums, results; if there are more channels than fit in a tile, each step reads the source again. */
        for (int pass = 0; pass < passes; ++pass)
            for (int64_t c = 0; c < all_channels; c += each) {
                const int64_t channels = at_most(all_channels - c, each);
                if (pass == 0 || all_channels > each) fetch(level, &b, r, &t, s, first, c, channels, rows, row, pitch);
                if (pass == 0) loops->maxima(b.tile, pitch, channels, pitch, b.most, !c);
                if (pass == 1 || (pass == 2 && all_channels > each))
                    loops->exponentials(b.tile, pitch, channels, pitch, b.most, b.sums, !c || pass == 2,
                                        pass == 1 && c + each >= all_channels ? b.factor : NULL,
                                        all_channels > each ? none : ahead_of(r, &t, s));
                if (pass == 2) deliver(loops, &b, r, &t, d, c, channels, rows, row, pitch, b.factor);
            }
    }));
    if (r->past) fence();
}

void sigmoid_run(const Level *level, const Reduction *r, const uint8_t *src, uint8_t *dst, int64_t part, int64_t parts) {
    Box box = r->positions;
    if (parts > 1 && !box_cut(&box, part, parts)) return;
    Sigmoid *const loop = fast_of(level, PATH_SIGMOID)->sigmoid;
    const Loop last = box.loops[box.count - 1];
    const int direct = r->type == F32 && last.s == 4 && last.d == 4;
    const Tiling t = reduction_tiling(&box, direct, direct ? INT64_MAX : STRIP);
    SoftmaxBench b;
    b.in.level = b.out.level = level, b.in.planned = b.out.planned = 0;
    uint8_t *const tile = (uint8_t *)b.tile;
    ODOMETER(box.loops, t.count, box.src, box.dst, 0, TILES(t, row, rows, 1, {
        const uint8_t *s = src + src_ + tile_src;
        uint8_t *d = dst + dst_ + tile_dst;
        const int reads = rows == 1 && (row == 1 || t.row.s == 4) && r->type == F32, writes = rows == 1 && (row == 1 || t.row.d == 4);
        if (!reads) fetch(level, &b, r, &t, s, 0, 0, 1, rows, row, up_to(rows * row, 16));
        loop(reads ? s : tile, writes ? d : tile, rows * row, writes && r->past && s != d);
        if (!writes) deliver(NULL, &b, r, &t, d, 0, 1, rows, row, rows * row, NULL);
    }));
    if (r->past) fence();
}
