/* Conversions: how one is cut into tiles, and the walk over these. */
#include "convert.h"

#include <string.h>

/* Elements of a row of constant parameters from which on it is worth a conversion of its own. SHORT: at all. LEAST: where a
 * move of the narrower elements makes it, or no move makes it LONG, or in place, to float32 or from it to 16 bits without
 * parameters; LEAST_BYTES: in place, to bytes in one step. HALF: in place otherwise, or where each row has parameters
 * of its own. LONG: in any case. OFTEN: uses for which parameters are written out for each element; REPEATED: elements that
 * these are written out for where fewer begin again. */
enum { LINE = 64, SHORT = 16, LEAST = 64, LEAST_BYTES = 128, HALF = 256, LONG = 512, OFTEN = 8, REPEATED = 512 };

/* Loops, innermost first, and how many elements they go through. */
typedef struct {
    int count;
    int at[MAX_LOOPS];
    int64_t n;
} Chain;

/* The loops that go through neighbours of so many bytes in the source and in the destination; 0: a side not asked. */
static Chain neighbours(const Box *box, int64_t from, int64_t to) {
    Chain c = {0, {0}, 1};
    for (int next; c.count < box->count && (next = box_find(box, from * c.n, to * c.n)) >= 0;) {
        c.at[c.count++] = next;
        c.n *= box->loops[next].n;
    }
    return c;
}

/* The smaller one of both steps; what has pads behind it comes first. */
static int64_t nearer_step(const Loop *k, const Arithmetic *a, int64_t pad) {
    const int64_t from = dtype_size[a->from], to = dtype_size[a->to];
    return pad && k->d == to ? 0 : at_most(magnitude(k->s) / from, magnitude(k->d) / to);
}

/* Elements of a vector of any level: bytes, or floats. */
static int vector_of(const Arithmetic *a) { return a->brief ? 64 : 16; }

/* Every loop, those of the smallest steps first. */
static Chain nearest(const Box *box, const Arithmetic *a, int64_t pad) {
    Chain c = {0, {0}, 1};
    for (int i = 0; i < box->count; ++i) {
        const int64_t step = nearer_step(box->loops + i, a, pad);
        int at = c.count++;
        for (; at > 0 && step < nearer_step(box->loops + c.at[at - 1], a, pad); --at) c.at[at] = c.at[at - 1];
        c.at[at] = i;
        c.n *= box->loops[i].n;
    }
    return c;
}

static int has(const Chain *c, int loop) {
    for (int i = 0; i < c->count; ++i)
        if (c->at[i] == loop) return 1;
    return 0;
}

/* Whether no loop that a chain leaves changes the parameters. */
static int has_parameters(const Chain *c, const Box *box) {
    for (int i = 0; i < box->count; ++i)
        if (box->loops[i].p && !has(c, i)) return 0;
    return 1;
}

/* The loop of the smallest steps on one side that a chain leaves, or -1; `alike`: one that does not change the parameters. */
static int least_step(const Box *box, const Chain *but, int destination, int alike) {
    int least = -1;
    for (int i = 0; i < box->count; ++i) {
        if (has(but, i) || (alike && box->loops[i].p)) continue;
        if (least < 0 || (destination ? magnitude(box->loops[i].d) < magnitude(box->loops[least].d)
                                      : magnitude(box->loops[i].s) < magnitude(box->loops[least].s)))
            least = i;
    }
    return least;
}

/* Of n, in pieces of at most `most`: the size of one, as equal as whole lines of bytes let them be. */
static int64_t evenly(int64_t n, int64_t most) {
    if (n <= most) return n;
    const int64_t pieces = (n + most - 1) / most, each = (n + pieces - 1) / pieces, whole = (each + LINE - 1) / LINE * LINE;
    return whole <= most ? whole : each;
}

/* Whether the parameters of n elements are worth writing out: they serve several times, in this tile or in the next. */
static int serves(const Box *box, const Chain *chain, int next, int64_t n, int64_t room, int others) {
    int64_t times = 1;
    for (int i = 0; !others && i < box->count; ++i) times *= box->loops[i].n;
    if (!others && times / n >= OFTEN) return 1;
    return next < chain->count && !box->loops[chain->at[next]].p && at_most(box->loops[chain->at[next]].n, room / n) >= OFTEN;
}

/* The loops of a chain that a tile of at most `room` elements is made of; their elements. Rows of constant parameters stay
 * separate where they are long, or where to write parameters out would not pay. */
static int64_t fill_tile(Convert *c, Chain *chain, int64_t room) {
    int64_t n = 1;
    int left = 0; /* loops that change the parameters */
    for (int i = 0; i < c->box.count; ++i) left += c->box.loops[i].p != 0;
    c->dense = 0;
    for (int i = 0; i < chain->count; ++i) {
        const Loop *k = c->box.loops + chain->at[i];
        const int64_t most = k->p ? at_most(room, STRIP) / n : room / n;
        left -= k->p != 0;
        if (c->dense && most < 2) break;
        if (k->p && (n >= LONG || (n >= SHORT && !(k->n <= most && serves(&c->box, chain, i + 1, n * k->n, room, left))))) break;
        c->row_step = evenly(k->n, most);
        n *= c->row_step;
        ++c->dense;
        if (c->row_step < k->n) break;
    }
    chain->count = c->dense;
    return n;
}

/* Let the box end with `rows` (or -1) and with the loops of a chain, innermost last. */
static void put_last(Convert *c, const Chain *chain, int rows) {
    Box box = c->box;
    int taken[MAX_LOOPS] = {0}, count = 0;
    for (int i = 0; i < chain->count; ++i) taken[chain->at[i]] = 1;
    if (rows >= 0) taken[rows] = 1;
    for (int i = 0; i < box.count; ++i)
        if (!taken[i]) c->box.loops[count++] = box.loops[i];
    if (rows >= 0) c->box.loops[count++] = box.loops[rows];
    for (int i = chain->count - 1; i >= 0; --i) c->box.loops[count++] = box.loops[chain->at[i]];
    c->inner = chain->count + (rows >= 0);
}

static int64_t tile_extent(const Convert *c, int i, int64_t rows_n, int64_t row_n) {
    const int first = c->box.count - c->dense;
    return i < first ? rows_n : i == first ? row_n : c->box.loops[i].n;
}

/* The move between a tile on the bench and where it comes from or goes to. */
static void tile_move(const Convert *c, int64_t rows_n, int64_t row_n, int size, int scatters, Move *move) {
    Box box;
    box_clear(&box);
    int64_t step = size;
    for (int i = c->box.count - 1; i >= c->box.count - c->inner; --i) {
        const int64_t n = tile_extent(c, i, rows_n, row_n);
        box_add(&box, (Loop){n, scatters ? step : c->box.loops[i].s, scatters ? c->box.loops[i].d : step, 0});
        step *= n;
    }
    move_plan(move, &box, size, scatters ? c->pad : 0);
}

static void tile_moves(const Convert *c, const Arithmetic *a, int64_t rows_n, int64_t row_n, Move *gather, Move *scatter) {
    if (c->way == GATHER || c->way == BOTH) tile_move(c, rows_n, row_n, dtype_size[a->from], 0, gather);
    if (c->way == SCATTER || c->way == BOTH || (c->way == PIXELS && c->pad)) {
        tile_move(c, rows_n, row_n, dtype_size[a->to], 1, scatter);
        scatter->past = a->past && c->pad;
    }
}

/* The level's loops for pixels do the whole: one tile for each run of pixels, or where these have pads one that has room on
 * the bench. */
static int channel_of_pixels(const Box *box) {
    const int forwards = box_find(box, 1, 1);
    return forwards >= 0 ? forwards : box_find(box, -1, 1);
}
static int is_pixels(const Convert *c, const Arithmetic *a) {
    const Box *box = &c->box;
    const int row = channel_of_pixels(box);
    if (!a->brief || !a->bits || row < 0) return 0;
    const Loop channel = box->loops[row];
    const int rows = box_find(box, 0, channel.n + c->pad);
    if (rows < 0 || channel.n < 2 || channel.n > 4) return 0;
    const Loop pixel = box->loops[rows];
    return !pixel.p && has_channel_loops(magnitude(pixel.s)) && magnitude(pixel.s) >= channel.n;
}
static void plan_pixels(Convert *c, const Arithmetic *a) {
    const int row = channel_of_pixels(&c->box);
    const Loop channel = c->box.loops[row];
    const int rows = box_find(&c->box, 0, channel.n + c->pad);
    const int64_t pixels = c->box.loops[rows].n;
    c->way = PIXELS;
    c->dense = 1, c->row_step = channel.n, c->rows_step = c->pad ? at_most(pixels, MAX_TILE / channel.n) : pixels;
    put_last(c, &(Chain){1, {row}, channel.n}, rows);
    tile_moves(c, a, c->rows_step, c->row_step, &c->gather, &c->scatter);
}

/* Whether bytes may be shifted and scaled where they are in 32 bits: as multiples of 2**8, 2**16 or 2**24, and signed ones
 * counted from -128, to the same bits. */
static int stays_exact(const Arithmetic *a) {
    for (int64_t i = 0; i < a->channels; ++i) {
        const float shift = a->shift[i], scale = a->scale[i];
        if (!(shift >= -0x1p16f && shift <= 0x1p16f) || !(scale == 0 || scale >= 0x1p-80f || scale <= -0x1p-80f)) return 0;
        if (a->from == I8 && (double)(shift + 128) - 128 != (double)shift) return 0;
    }
    return 1;
}

/* There are loops that transpose while they convert, from pixels to planes of float32 or from these to pixels. */
enum { PIXELS_LEAST = 256, MANY = 8, BYTES = 16, PIXELS_AT_ONCE = 64, CACHED = 8000000 };
static int loads_planes(const Arithmetic *a) { return dtype_size[a->from] <= 2 && a->to == F32; }
static int channel_of_planes(const Box *box, const Arithmetic *a) {
    const int64_t from = dtype_size[a->from], to = dtype_size[a->to];
    if (!loads_planes(a)) return box_find(box, 0, to);
    const int forwards = box_find(box, from, 0);
    return forwards >= 0 ? forwards : box_find(box, -from, 0);
}
static int pixel_of_planes(const Box *box, const Arithmetic *a) {
    return loads_planes(a) ? box_find(box, 0, dtype_size[a->to]) : box_find(box, dtype_size[a->from], 0);
}
/* Not where there is a CROWD of pixels, or more than half of one of planes written from bytes, 16 at once. */
static int may_load_planes(const Arithmetic *a, const Loop *channel, const Loop *pixel) {
    const int bytes = dtype_size[a->from] == 1;
    if (bytes && !stays_exact(a)) return 0;
    if (channel->n < MANY)
        return bytes && ((channel->n == 4 && pixel->s == 4) || (channel->n == 3 && (pixel->s == 3 || pixel->s == 4)));
    return !a->divides && !(bytes && in_one_set(at_most(channel->n, BYTES), channel->d) > CROWD / 2) &&
           in_one_set(PIXELS_AT_ONCE, pixel->s) < CROWD;
}
/* Not where there is a CROWD of pixels, or of planes read for bytes out of a cache. */
static int may_store_planes(const Arithmetic *a, const Box *box, const Loop *channel, const Loop *pixel) {
    const int64_t from = dtype_size[a->from], to = dtype_size[a->to];
    if (a->from != F32 || !(to == 1 || a->to == F16 || a->to == BF16) || channel->n * to < BYTES) return 0;
    if (to == 1 && in_one_set(channel->n, channel->s) > CROWD && channel->n * pixel->n * from < CACHED) return 0;
    if (in_one_set(PIXELS_AT_ONCE, pixel->d) >= CROWD) return 0;
    int each = 0;
    for (int i = 0; i < box->count; ++i) each |= box->loops[i].p != 0;
    return !(to > 1 ? a->divides : each || magnitude(a->after[box->param]) >= 1 << 14);
}
static int is_transposed(const Convert *c, const Arithmetic *a) {
    const Box *box = &c->box;
    const int channel = channel_of_planes(box, a), pixel = pixel_of_planes(box, a);
    if (c->pad || channel < 0 || pixel < 0 || channel == pixel) return 0;
    const Loop *k = box->loops + channel, *run = box->loops + pixel;
    if (run->n < PIXELS_LEAST || run->p) return 0;
    return loads_planes(a) ? may_load_planes(a, k, run) : may_store_planes(a, box, k, run);
}
static void plan_transposed(Convert *c, const Arithmetic *a) {
    Box *box = &c->box;
    const int channel = channel_of_planes(box, a), pixel = pixel_of_planes(box, a);
    if (box->loops[channel].s < 0 && loads_planes(a)) box_flip(box, box->loops + channel);
    c->way = TRANSPOSED;
    c->dense = 1, c->row_step = box->loops[channel].n, c->rows_step = box->loops[pixel].n;
    put_last(c, &(Chain){1, {channel}, 0}, pixel);
}

/* The elements of a row from which on it is converted in place, if others have the same parameters. */
static int64_t least_in_place(const Arithmetic *a, int constant) {
    if (a->to == F32 || (a->from == F32 && a->to >= F16 && !a->steps)) return LEAST;
    return a->brief || (a->from == F32 && a->to <= U8 && constant) ? LEAST_BYTES : HALF;
}

static void arrange(Box *box, const Box *asked, int64_t from, int64_t to) {
    box_clear(box);
    box->src = asked->src, box->dst = asked->dst, box->param = asked->param;
    for (int i = 0; i < asked->count; ++i) {
        Loop k = asked->loops[i];
        if (k.d < 0) box_flip(box, &k);
        box_add(box, k);
    }
    if (!box->count) box->loops[box->count++] = (Loop){1, from, to, 0};
}

/* What a tile of each way may be made of, and how much of it fits. */
typedef struct {
    Chain all, chains[BOTH + 1];
    int64_t rooms[BOTH + 1];
} Tiles;
static Tiles tiles_of(const Convert *c, const Arithmetic *a) {
    const Box *box = &c->box;
    const int64_t from = dtype_size[a->from], to = dtype_size[a->to];
    Tiles t = {nearest(box, a, c->pad),
               {[DIRECT] = neighbours(box, from, to), [GATHER] = neighbours(box, 0, to), [SCATTER] = neighbours(box, from, 0)},
               {[DIRECT] = INT64_MAX, [GATHER] = MAX_TILE / from, [SCATTER] = MAX_TILE / to,
                [BOTH] = MAX_TILE / (from < to ? to : from)}};
    t.chains[BOTH] = t.all;
    return t;
}

/* The first way whose rows are long enough; what has pads behind it is scattered in any case. */
static Way way_of(Convert *c, const Arithmetic *a, const Tiles *t) {
    const Box *box = &c->box;
    int64_t reach[BOTH], alike[BOTH]; /* elements of a row of a tile; the same if no other loop has parameters, else 0 */
    for (int way = DIRECT; way < BOTH; ++way) {
        Chain chain = t->chains[way];
        reach[way] = fill_tile(c, &chain, t->rooms[way]);
        alike[way] = has_parameters(&chain, box) ? reach[way] : 0;
    }
    if (c->pad) return reach[SCATTER] >= at_most(LEAST, t->all.n) ? SCATTER : BOTH;
    const int narrows = dtype_size[a->to] < dtype_size[a->from];
    const Way narrow = narrows ? SCATTER : GATHER, wide = narrows ? GATHER : SCATTER;
    const Chain *run = t->chains + DIRECT;
    const int constant = run->count && !box->loops[run->at[0]].p;
    const int64_t direct = least_step(box, run, 0, 1) < 0 ? HALF : least_in_place(a, constant);
    const struct {
        Way way;
        int64_t of, least;
    } ways[] = {
        {DIRECT, reach[DIRECT], direct}, {narrow, reach[narrow], LONG},   {narrow, alike[narrow], LEAST}, {wide, reach[wide], LONG},
        {DIRECT, reach[DIRECT], LEAST},  {narrow, reach[narrow], LEAST}, {wide, reach[wide], LEAST},
    };
    for (int i = 0; i < (int)(sizeof ways / sizeof *ways); ++i)
        if (ways[i].of >= at_most(ways[i].least, t->all.n)) return ways[i].way;
    return constant && reach[DIRECT] >= vector_of(a) ? DIRECT : BOTH;
}

/* The loop that a tile has rows of, so that it uses the lines of the other side whole, or -1; what its rows are made of, and
 * how many elements. */
static int rows_for_lines(Convert *c, const Arithmetic *a, const Tiles *t, Chain *taken, int64_t *n) {
    const int scatters = c->way == SCATTER;
    const Chain *chain = t->chains + c->way;
    const int near = least_step(&c->box, &(Chain){0, {0}, 1}, scatters, 0);
    const int64_t lines = at_most(c->box.loops[near].n, LINE / dtype_size[scatters ? a->to : a->from]);
    int i = 0;
    while (i < chain->count && chain->at[i] != near) ++i;
    if (taken->count > i && !(taken->count == i + 1 && c->row_step < lines)) return -1;
    *taken = *chain;
    if (i < chain->count) taken->count = i;
    *n = fill_tile(c, taken, t->rooms[c->way] / lines);
    return near;
}

/* Short rows, as many as there is room for: the loop of these, or -1. */
static int rows_for_room(const Convert *c, const Arithmetic *a, const Chain *taken, int64_t room, int64_t n) {
    int rows = c->way == DIRECT ? least_step(&c->box, taken, dtype_size[a->to] >= dtype_size[a->from], 1) : -1;
    if (rows < 0) rows = least_step(&c->box, taken, c->way == SCATTER, 0);
    return room / n < 2 ? -1 : rows;
}

static void plan_tiles(Convert *c, const Arithmetic *a) {
    const Tiles t = tiles_of(c, a);
    c->way = way_of(c, a, &t);
    const int64_t room = t.rooms[c->way];
    Chain taken = t.chains[c->way];
    int64_t n = fill_tile(c, &taken, room);
    int rows = c->way == GATHER || c->way == SCATTER ? rows_for_lines(c, a, &t, &taken, &n) : -1;
    if (rows < 0 && c->way != BOTH && !c->pad && n < LONG) rows = rows_for_room(c, a, &taken, room, n);
    c->rows_step = rows < 0 ? 1 : evenly(c->box.loops[rows].n, room / n);
    put_last(c, &taken, rows);
    tile_moves(c, a, c->rows_step, c->row_step, &c->gather, &c->scatter);
}

static int is_any(const Convert *c, const Arithmetic *a) { return c && a; }

/* The first row that applies plans the conversion. */
static const struct {
    int (*applies)(const Convert *, const Arithmetic *);
    void (*plan)(Convert *, const Arithmetic *);
} plans[] = {{is_pixels, plan_pixels}, {is_transposed, plan_transposed}, {is_any, plan_tiles}};

void convert_plan(Convert *c, const Box *asked, const Arithmetic *a, int64_t pad) {
    arrange(&c->box, asked, dtype_size[a->from], dtype_size[a->to]);
    c->pad = pad;
    int i = 0;
    while (!plans[i].applies(c, a)) ++i;
    plans[i].plan(c, a);
}

/* Room for what one call of convert_run works on: stays in L1. The margins are never used: without them every array would
 * begin at the same line of a page, and a store seem to be what the next load waits for. */
typedef struct {
    uint8_t gathered[MAX_TILE + 64] __attribute__((aligned(64))), converted[MAX_TILE + 64] __attribute__((aligned(64)));
    uint8_t strip[4 * STRIP + 64] __attribute__((aligned(64)));
    float shift[STRIP + 16], scale[STRIP + 16], divisor[STRIP + 16], before[STRIP + 16], low[STRIP + 16], high[STRIP + 16];
    int32_t after[STRIP + 16];
    uint16_t factor[STRIP + 32];
    int16_t summand[STRIP + 32];
} Bench;

static Row row_at(const Row *row, int64_t i) {
    return (Row){row->shift + i, row->scale + i, row->divisor + i, row->before + i,
                 row->low + i,   row->high + i,  row->after + i,   row->factor + i, row->summand + i,
                 row->products ? row->products + i : NULL, row->bits, row->past, row->steps, 0, 0, 0};
}

static Row parameters(const Arithmetic *a, int64_t i) {
    const Row all = {a->shift, a->scale, a->divisor, a->before, a->low, a->high, a->after, a->factor, a->summand,
                     a->products, a->bits, 0, a->steps, 0, 0, 0};
    return row_at(&all, i);
}

/* Elements after which the parameters of a row of a tile begin again; 0: they are one. */
static int64_t period_of(const Convert *c, int64_t row_n) {
    int64_t n = 1, period = 0;
    for (int i = c->box.count - 1; i >= c->box.count - c->dense; --i) {
        n *= tile_extent(c, i, 1, row_n);
        if (c->box.loops[i].p) period = n;
    }
    return period;
}

/* The first `period` values, which `at` names, and then these again up to n. */
#define WRITE_OUT(name)                                                                        \
    do {                                                                                       \
        for (int64_t i = 0; i < period; ++i) b->name[i] = a->name[param + at[i]];              \
        for (int64_t done = period; done < n; done *= 2)                                       \
            memcpy(b->name + done, b->name, (size_t)at_most(done, n - done) * sizeof *b->name); \
    } while (0)

/* The parameters of n elements of a row that begin again after `period`, written out. */
static Row expand(const Convert *c, const Arithmetic *a, Bench *b, int64_t param, int64_t row_n, int64_t period, int64_t n) {
    int32_t at[STRIP];
    int64_t known = 1;
    at[0] = 0;
    for (int k = c->box.count - 1; known < period; --k) {
        const int32_t step = (int32_t)c->box.loops[k].p;
        const int64_t end = known * tile_extent(c, k, 1, row_n);
        for (int64_t i = known; i < end; ++i) at[i] = at[i - known] + step;
        known = end;
    }
    if (a->brief && a->bits) {
        WRITE_OUT(factor);
        WRITE_OUT(summand);
    } else {
        WRITE_OUT(shift);
        WRITE_OUT(scale);
        if (a->divides) WRITE_OUT(divisor);
        if (a->to < F16) {
            WRITE_OUT(before);
            WRITE_OUT(after);
            WRITE_OUT(low);
            WRITE_OUT(high);
        }
    }
    return (Row){b->shift, b->scale, b->divisor, b->before, b->low, b->high, b->after, b->factor, b->summand, NULL, a->bits, 0, a->steps, 0, 0, 0};
}

/* The rows of the table by which n elements are converted: one and 0, or one to float32 and one from there. */
static int row_paths(const Level *level, const Arithmetic *a, int64_t n, int32_t after, int each, int taken[2]) {
    const int store = a->to == I32 ? PATH_STORE_I32 : PATH_STORE;
    const int quantizes = a->from == F32 && !each && n >= level->vector &&
                          (a->to == I32 ? a->steps : a->to <= U8 && after < 1 << 14 && after > -(1 << 14));
    const int from_floats = a->from == F32 && !a->steps && a->to != F32;
    taken[0] = a->brief ? (a->bits ? PATH_SHORT : PATH_BRIEF) : quantizes ? PATH_QUANTIZE : from_floats ? store : PATH_LOAD;
    taken[1] = taken[0] == PATH_LOAD && a->to != F32 ? store : 0;
    return taken[1] ? 2 : 1;
}

static Load *first_loop(const Level *level, const Arithmetic *a, int64_t n, int32_t after, int each, int taken[2]) {
    row_paths(level, a, n, after, each, taken);
    const Fast *fast = level->fast + taken[0];
    switch (taken[0]) {
        case PATH_LOAD: return fast->load[a->from][each][a->divides];
        case PATH_QUANTIZE: return fast->quantize[a->to];
        case PATH_BRIEF:
        case PATH_SHORT: return fast->bytes[a->from][a->to][each];
        default: return fast->store[a->to][each];
    }
}

static void convert_row(const Level *level, const Arithmetic *a, Bench *b, const uint8_t *src, uint8_t *dst, int64_t n,
                        const Row *row, int each);

/* As many elements as a vector has, with parameters for n of them. */
static void convert_each(const Level *level, const Arithmetic *a, Bench *b, const uint8_t *src, uint8_t *dst, int64_t least,
                         int64_t n, const Row *row) {
    float some[6][64] = {{0}};
    int32_t after[64] = {0};
    uint16_t factor[64] = {0};
    int16_t summand[64] = {0};
    for (int k = 0; k < least; ++k) some[2][k] = 1;
    for (int64_t k = 0; k < n; ++k) {
        some[0][k] = row->shift[k], some[1][k] = row->scale[k], some[2][k] = row->divisor[k];
        some[3][k] = row->before[k], some[4][k] = row->low[k], some[5][k] = row->high[k];
        after[k] = row->after[k], factor[k] = row->factor[k], summand[k] = row->summand[k];
    }
    const Row mine = {some[0], some[1], some[2], some[3], some[4], some[5], after, factor, summand, NULL, row->bits, 0, row->steps, 0, 0, 0};
    convert_row(level, a, b, src, dst, least, &mine, 1);
}

/* One row, neighbouring elements in both; `each`: the parameters are one for each element. */
static void convert_row(const Level *level, const Arithmetic *a, Bench *b, const uint8_t *src, uint8_t *dst, int64_t n,
                        const Row *row, int each) {
    const int least = vector_of(a);
    const int from = dtype_size[a->from], to = dtype_size[a->to];
    if (n < least) { /* through vectors of its own: no loop reads or writes beyond n */
        uint8_t given[64], result[64];
        memset(given, 0, (size_t)(least * from));
        memcpy(given, src, (size_t)(n * from));
        if (each) {
            convert_each(level, a, b, given, result, least, n, row);
        } else {
            Row mine = *row;
            mine.past = 0;
            convert_row(level, a, b, given, result, least, &mine, 0);
        }
        memcpy(dst, result, (size_t)(n * to));
        return;
    }
    int taken[2];
    Load *first = first_loop(level, a, n, each ? 0 : *row->after, each, taken);
    if (!taken[1]) {
        first(src, dst, n, row);
        return;
    }
    Store *store = level->fast[taken[1]].store[a->to][each];
    for (int64_t i = 0; i < n;) {
        int64_t count = at_most(n - i, STRIP);
        if (n - i > STRIP && n - i < STRIP + least) count = STRIP / 2; /* leave no piece shorter than a vector */
        Row here = each ? row_at(row, i) : *row;
        here.past = 0;
        first(src + i * from, b->strip, count, &here);
        store(b->strip, dst + i * to, count, &here);
        i += count;
    }
}

typedef struct {
    const Level *level;
    const Convert *c;
    const Arithmetic *a;
    Bench bench;
    int64_t expanded[3]; /* what the bench holds the parameters of */
    Row row;
    int64_t odd_n[2]; /* what the following move: the last tile that is not whole */
    Move odd_gather, odd_scatter;
} Work;

int convert_paths(const Level *level, const Convert *c, const Arithmetic *a, int taken[4]) {
    int count = 0;
    if (c->way == PIXELS) {
        taken[0] = PATH_SHORT_PIXELS, taken[1] = PATH_PADDED;
        return c->pad ? 2 : 1;
    }
    if (c->way == TRANSPOSED) {
        taken[0] = a->to == F32 ? PATH_LOAD_TRANSPOSED : PATH_STORE_TRANSPOSED;
        return 1;
    }
    int64_t n = 1;
    for (int i = c->box.count - c->dense; i < c->box.count; ++i) n *= tile_extent(c, i, 1, c->row_step);
    if (c->way == GATHER || c->way == BOTH) taken[count++] = c->gather.path;
    count += row_paths(level, a, n < 16 ? 16 : n, a->after[c->box.param], period_of(c, c->row_step) > 0, taken + count);
    if (c->way == SCATTER || c->way == BOTH) taken[count++] = c->scatter.path;
    return count;
}

/* The parameters that begin at `param`, for as many elements of a row of n as are converted at once (`some`). */
static Row row_of(Work *w, int64_t param, int64_t row_n, int64_t n, int64_t period, int64_t *some) {
    const Convert *c = w->c;
    Row row = parameters(w->a, param);
    *some = n;
    if (period && (c->dense > 1 || c->box.loops[c->box.count - 1].p != 1)) {
        *some = at_most(n, period < REPEATED ? REPEATED / period * period : period);
        const int64_t key[3] = {param, row_n, *some};
        if (memcmp(key, w->expanded, sizeof key)) {
            w->row = expand(c, w->a, &w->bench, param, row_n, period, *some);
            memcpy(w->expanded, key, sizeof key);
        }
        row = w->row;
    }
    row.past = w->a->past && (c->way == DIRECT || c->way == GATHER);
    return row;
}

/* The rows of a tile: elements of one, bytes to the next, and the first parameters of each. */
typedef struct {
    int64_t n, src_step, dst_step, param, param_step;
} Rows;

static void convert_rows(Work *w, const Rows *rows, int64_t count, int64_t row_n, int64_t period, const uint8_t *src, uint8_t *dst) {
    const Arithmetic *a = w->a;
    const int64_t n = rows->n;
    const int each = period > 0;
    int taken[2];
    int64_t some = 0;
    Row row;
    Load *first = NULL;
    Store *second = NULL;
    for (int64_t r = 0; r < count; ++r, src += rows->src_step, dst += rows->dst_step) {
        if (!r || rows->param_step) {
            row = row_of(w, rows->param + r * rows->param_step, row_n, n, period, &some);
            first = some == n && n >= vector_of(a) ? first_loop(w->level, a, n, each ? 0 : *row.after, each, taken) : NULL;
            second = first && taken[1] ? w->level->fast[taken[1]].store[a->to][each] : NULL;
            if (second) row.past = 0;
            if (second && n > STRIP) first = NULL;
            if (first && !second && !rows->param_step) {
                row.more = count - 1, row.src_step = rows->src_step, row.dst_step = rows->dst_step;
                first(src, dst, n, &row);
                return;
            }
        }
        if (!first) {
            for (int64_t i = 0; i < n; i += some)
                convert_row(w->level, a, &w->bench, src + i * dtype_size[a->from], dst + i * dtype_size[a->to], at_most(n - i, some),
                            &row, each);
        } else if (second) {
            first(src, w->bench.strip, n, &row);
            second(w->bench.strip, dst, n, &row);
        } else {
            first(src, dst, n, &row);
        }
    }
}

static void convert_tile(Work *w, const uint8_t *src, uint8_t *dst, int64_t param, int64_t rows_n, int64_t row_n) {
    const Convert *c = w->c;
    const Arithmetic *a = w->a;
    const Move *gather = &c->gather, *scatter = &c->scatter;
    if (rows_n != c->rows_step || row_n != c->row_step) {
        if (w->odd_n[0] != rows_n || w->odd_n[1] != row_n) tile_moves(c, a, rows_n, row_n, &w->odd_gather, &w->odd_scatter);
        w->odd_n[0] = rows_n, w->odd_n[1] = row_n;
        gather = &w->odd_gather, scatter = &w->odd_scatter;
    }
    int64_t n = 1;
    for (int i = c->box.count - c->dense; i < c->box.count; ++i) n *= tile_extent(c, i, 1, row_n);
    const Loop rows = c->inner > c->dense ? c->box.loops[c->box.count - c->inner] : (Loop){1, 0, 0, 0};
    int64_t src_step = rows.s, dst_step = rows.d;
    uint8_t *out = dst;
    if (c->way == PIXELS) {
        const Row row = parameters(a, param);
        const Loop pixel = {rows_n, rows.s, n, 0};
        if (c->pad) out = w->bench.converted;
        w->level->fast[PATH_SHORT_PIXELS].pixels[a->from][a->to](pixel, c->box.loops[c->box.count - 1], src, out, &row);
        if (c->pad) move_run(w->level, scatter, out, dst);
        return;
    }
    if (c->way == TRANSPOSED) {
        Row row = parameters(a, param);
        row.past = a->past;
        Transposed *loop = a->to == F32 ? w->level->fast[PATH_LOAD_TRANSPOSED].from[a->from][a->divides]
                                        : w->level->fast[PATH_STORE_TRANSPOSED].to[a->to];
        loop(rows, c->box.loops[c->box.count - 1], src, dst, &row);
        return;
    }
    if (c->way == GATHER || c->way == BOTH) {
        move_run(w->level, gather, src, w->bench.gathered);
        src = w->bench.gathered, src_step = n * dtype_size[a->from];
    }
    if (c->way == SCATTER || c->way == BOTH) out = w->bench.converted, dst_step = n * dtype_size[a->to];
    const Rows here = {n, src_step, dst_step, param, rows.p};
    convert_rows(w, &here, rows_n, row_n, period_of(c, row_n), src, out);
    if (out != dst) move_run(w->level, scatter, out, dst);
}

void convert_run(const Level *level, const Convert *c, const Arithmetic *a, const uint8_t *src, uint8_t *dst) {
    const int outer = c->box.count - c->inner;
    const Loop row = c->box.loops[c->box.count - c->dense];
    const Loop rows = c->inner > c->dense ? c->box.loops[outer] : (Loop){1, 0, 0, 0};
    Work w;
    w.level = level, w.c = c, w.a = a;
    w.expanded[0] = w.expanded[1] = w.expanded[2] = w.odd_n[0] = -1;
    ODOMETER(c->box.loops, outer, c->box.src, c->box.dst, c->box.param, {
        for (int64_t i = 0; i < row.n; i += c->row_step)
            for (int64_t r = 0; r < rows.n; r += c->rows_step)
                convert_tile(&w, src + src_ + i * row.s + r * rows.s, dst + dst_ + i * row.d + r * rows.d,
                             param_ + i * row.p + r * rows.p, at_most(rows.n - r, c->rows_step),
                             at_most(row.n - i, c->row_step));
    });
}
