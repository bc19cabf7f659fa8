/* Conversions: divide one into tiles. */
#include "convert_tiles.h"

#include <string.h>

/* Elements of a row with constant parameters from which on it is converted on its own. SHORT: at all. LEAST: if a move of the
 * narrower elements makes the row, or if no move makes it LONG, or in place, to float32 or from it to 16 bits without
 * parameters; LEAST_BYTES: in place, to bytes in one step. HALF: in place otherwise, or if each row has its own parameters.
 * LONG: in any case. OFTEN: the number of uses from which on parameters are written out for each element. */
enum { LINE = 64, SHORT = 16, LEAST = 64, LEAST_BYTES = 128, HALF = 256, LONG = 512, OFTEN = 8 };

/* Loops, innermost first, and the number of their elements. */
typedef struct {
    int count;
    int at[MAX_LOOPS];
    int64_t n;
} Chain;

/* The loops that step through neighbours of so many bytes in the source and in the destination; 0: the side is ignored. */
static Chain neighbours(const Box *box, int64_t from, int64_t to) {
    Chain c = {0, {0}, 1};
    for (int next; c.count < box->count && (next = box_find(box, from * c.n, to * c.n)) >= 0;) {
        c.at[c.count++] = next;
        c.n *= box->loops[next].n;
    }
    return c;
}

/* The smaller one of both steps; a loop with pads behind it comes first. */
static int64_t nearer_step(const Loop *k, const Arithmetic *a, int64_t pad) {
    const int64_t from = dtype_size[a->from], to = dtype_size[a->to];
    return pad && k->d == to ? 0 : at_most(magnitude(k->s) / from, magnitude(k->d) / to);
}

/* All loops, those with the smallest steps first. */
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

/* Whether no loop outside a chain changes the parameters. */
static int has_parameters(const Chain *c, const Box *box) {
    for (int i = 0; i < box->count; ++i)
        if (box->loops[i].p && !has(c, i)) return 0;
    return 1;
}

/* The loop outside a chain with the smallest steps on one side, or -1; `alike`: one that does not change the parameters. */
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

/* The size of a piece of at most `most` of n elements: as equal as whole lines of bytes permit. */
static int64_t evenly(int64_t n, int64_t most) {
    if (n <= most) return n;
    const int64_t pieces = (n + most - 1) / most, each = (n + pieces - 1) / pieces, whole = (each + LINE - 1) / LINE * LINE;
    return whole <= most ? whole : each;
}

/* Whether the parameters of n elements are worth writing out: they are used several times, in this tile or the next. */
static int serves(const Box *box, const Chain *chain, int next, int64_t n, int64_t room, int others) {
    int64_t times = 1;
    for (int i = 0; !others && i < box->count; ++i) times *= box->loops[i].n;
    if (!others && times / n >= OFTEN) return 1;
    return next < chain->count && !box->loops[chain->at[next]].p && at_most(box->loops[chain->at[next]].n, room / n) >= OFTEN;
}

/* Choose the loops of a chain that make a tile of at most `room` elements; return its elements. Rows with constant parameters
 * stay separate if they are long, or if writing parameters out would not pay. */
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

/* Reorder the box such that it ends with `rows` (unless -1) and the loops of a chain, innermost last. */
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

/* The move between a tile on the bench and the source or destination. */
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

void convert_tile_moves(const Convert *c, const Arithmetic *a, int64_t rows_n, int64_t row_n, Move *gather, Move *scatter) {
    if (c->way == GATHER || c->way == BOTH) tile_move(c, rows_n, row_n, dtype_size[a->from], 0, gather);
    if (c->way == SCATTER || c->way == BOTH || (c->way == PIXELS && c->pad)) {
        tile_move(c, rows_n, row_n, dtype_size[a->to], 1, scatter);
        scatter->past = a->past && c->pad;
    }
}

/* The level's loops for pixels do all of the work: one tile for each run of pixels or, if these have pads, a tile that fits on
 * the bench. */
static int channel_of_pixels(const Box *box) {
    const int forwards = box_find(box, 1, 1);
    return forwards >= 0 ? forwards : box_find(box, -1, 1);
}
static int is_pixels(const Convert *c, const Arithmetic *a) {
    const Box *box = &c->box;
    const int row = channel_of_pixels(box);
    if (!a->one_step || !a->bits || row < 0) return 0;
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
    convert_tile_moves(c, a, c->rows_step, c->row_step, &c->gather, &c->scatter);
}

/* Whether bytes may be shifted and scaled in place within 32 bits, as multiples of 2**8, 2**16 or 2**24, signed ones counted
 * from -128, with the same bits. */
static int stays_exact(const Arithmetic *a) {
    for (int64_t i = 0; i < a->channels; ++i) {
        const float shift = a->shift[i], scale = a->scale[i];
        if (!(shift >= -0x1p16f && shift <= 0x1p16f) || !(scale == 0 || scale >= 0x1p-80f || scale <= -0x1p-80f)) return 0;
        if (a->from == I8 && (double)(shift + 128) - 128 != (double)shift) return 0;
    }
    return 1;
}

/* Use loops that transpose while they convert, from pixels to planes of float32 or from such planes to pixels. */
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
/* Not if there is a CROWD of pixels, or more than half a CROWD of planes that are written from bytes, 16 at a time. */
static int may_load_planes(const Arithmetic *a, const Loop *channel, const Loop *pixel) {
    const int bytes = dtype_size[a->from] == 1;
    if (bytes && !stays_exact(a)) return 0;
    if (channel->n < MANY)
        return bytes && ((channel->n == 4 && pixel->s == 4) || (channel->n == 3 && (pixel->s == 3 || pixel->s == 4)));
    return !a->divides && !(bytes && in_one_set(at_most(channel->n, BYTES), channel->d) > CROWD / 2) &&
           in_one_set(PIXELS_AT_ONCE, pixel->s) < CROWD;
}
/* Not if there is a CROWD of pixels, or of planes that are read from a cache and converted to bytes. */
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

/* The elements of a row from which on it is converted in place, if other rows have the same parameters. */
static int64_t least_in_place(const Arithmetic *a, int constant) {
    if (a->to == F32 || (a->from == F32 && a->to >= F16 && !a->steps)) return LEAST;
    return a->one_step || (a->from == F32 && a->to <= U8 && constant) ? LEAST_BYTES : HALF;
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

/* The loops from which a tile of each way may be made, and how many elements fit. */
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

/* The first way whose rows are long enough; elements with pads behind them are scattered in any case. */
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

/* Short rows that follow each other in a result of float32 that is stored past the caches: longer ones, made of them on the bench, end
 * less often within a line. */
static int is_rows_to_lines(Convert *c, const Arithmetic *a, const Tiles *t) {
    const int64_t to = dtype_size[a->to];
    Chain direct = t->chains[DIRECT], gathered = t->chains[GATHER];
    return c->way == DIRECT && !c->pad && a->to == F32 && a->past && !a->divides &&
           fill_tile(c, &direct, t->rooms[DIRECT]) * to < ROW_LEAST && fill_tile(c, &gathered, t->rooms[GATHER]) * to >= ROW_LEAST;
}

/* The loop along which a tile has rows, such that it uses whole lines of the other side, or -1; the loops of its rows, and their
 * elements. */
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

/* The loop of short rows, of which a tile has as many as fit, or -1. */
static int rows_for_room(const Convert *c, const Arithmetic *a, const Chain *taken, int64_t room, int64_t n) {
    int rows = c->way == DIRECT ? least_step(&c->box, taken, dtype_size[a->to] >= dtype_size[a->from], 1) : -1;
    if (rows < 0) rows = least_step(&c->box, taken, c->way == SCATTER, 0);
    return room / n < 2 ? -1 : rows;
}

static void plan_tiles(Convert *c, const Arithmetic *a) {
    const Tiles t = tiles_of(c, a);
    c->way = way_of(c, a, &t);
    if (is_rows_to_lines(c, a, &t)) c->way = GATHER;
    const int64_t room = t.rooms[c->way];
    Chain taken = t.chains[c->way];
    int64_t n = fill_tile(c, &taken, room);
    int rows = c->way == GATHER || c->way == SCATTER ? rows_for_lines(c, a, &t, &taken, &n) : -1;
    if (rows < 0 && c->way != BOTH && !c->pad && n < LONG) rows = rows_for_room(c, a, &taken, room, n);
    c->rows_step = rows < 0 ? 1 : evenly(c->box.loops[rows].n, room / n);
    put_last(c, &taken, rows);
    convert_tile_moves(c, a, c->rows_step, c->row_step, &c->gather, &c->scatter);
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
