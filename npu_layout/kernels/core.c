/* Planning: which path moves a box, how a conversion is cut into tiles; and the walk over the outer loops. */
#include "core.h"

#include <stdatomic.h>
#include <string.h>

const int dtype_size[DTYPES] = {1, 1, 2, 2, 4, 2, 2, 4};

const Path paths[PATHS] = {
    {"copy", "move", "rows of neighbouring elements, in both"},
    {"transpose", "move", "neighbours in the source along one loop, in the destination along another"},
    {"split", "move", "pixels of 2, 3, 4 or 8 channels, or some of these, to planes; elements of 1, 2 and 4 bytes"},
    {"merge", "move", "planes to pixels of 2, 3, 4 or 8 channels; elements of 1, 2 and 4 bytes"},
    {"pixels", "move", "pixels of 2 to 4 bytes to another order or number of channels"},
    {"reverse", "move", "rows from their end: elements, or pixels moved as one, of up to 16 bytes"},
    {"strided", "move", "everything else"},
    {"load", "convert", "rows of any dtype to float32, shifted, scaled and divided"},
    {"store", "convert", "rows of float32 to any dtype but int32, rounded and saturated"},
    {"store int32", "convert", "rows of float32 to int32"},
    {"quantize", "convert", "rows of float32 to bytes in one step, with one value of each parameter"},
    {"brief", "convert", "rows of bytes to bytes, where a factor and a summand in float32 give the same"},
    {"short", "convert", "rows of bytes to bytes, where a factor and a summand in 16 bits give the same"},
    {"short pixels", "convert", "the same of pixels of 2 to 4 bytes, to another order or number of channels too"},
    {"gray", "gray", "planes of uint8, and pixels of 3 or 4"},
    {"gray wide", "gray", "uint16 and float32"},
    {"argmax", "reduce", "planes of any dtype; everything else comes to planes first"},
    {"argmax across", "reduce", "9 and more neighbouring channels of float32"},
    {"softmax", "reduce", "planes, to which every layout comes first"},
    {"peaks", "reduce", "rows of neighbouring columns, of any dtype; everything else comes to such rows first"},
};

#if defined(__x86_64__)
#include <cpuid.h>

static const Level *const levels[] = {&level_base, &level_sse4, &level_avx2, &level_avx512};
static int has_f16c(void) { /* by its bit: not every compiler knows the name */
    unsigned a, b, c = 0, d;
    return __get_cpuid(1, &a, &b, &c, &d) && c >> 29 & 1;
}
static int supported(const Level *level) {
    __builtin_cpu_init();
    const int avx2 = __builtin_cpu_supports("avx2") && has_f16c();
    if (level == &level_sse4) return !!__builtin_cpu_supports("sse4.1");
    if (level == &level_avx2) return avx2;
    if (level == &level_avx512)
        return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
    return 1;
}
#else
static const Level *const levels[] = {&level_base};
static int supported(const Level *level) { return level == &level_base; }
#endif

int level_count(void) { return (int)(sizeof levels / sizeof *levels); }

const Level *level_at(int i) {
    static _Atomic signed char known[sizeof levels / sizeof *levels]; /* a virtual machine takes 20 us for each CPUID */
    if (!known[i]) known[i] = supported(levels[i]) ? 1 : -1;
    return known[i] > 0 ? levels[i] : NULL;
}

static int64_t size_of(int64_t x) { return x < 0 ? -x : x; }

static void flip(Box *box, Loop *k) {
    box->src += (k->n - 1) * k->s;
    box->dst += (k->n - 1) * k->d;
    box->param += (k->n - 1) * k->p;
    k->s = -k->s, k->d = -k->d, k->p = -k->p;
}

/* Put loop i at the end, the rest in their order. */
static int last(Box *box, int i) {
    const Loop k = box->loops[i];
    memmove(box->loops + i, box->loops + i + 1, (size_t)(box->count - 1 - i) * sizeof k);
    box->loops[box->count - 1] = k;
    return box->count - 1;
}

static int find(const Box *box, int64_t s, int64_t d) { /* 0: any step; -1 where there is none */
    for (int i = box->count - 1; i >= 0; --i)
        if ((!s || box->loops[i].s == s) && (!d || box->loops[i].d == d)) return i;
    return -1;
}

/* Channels that there are loops for. */
static int few(int64_t n) { return n <= 4 || n == 8; }

static int power_of_two(int64_t n) { return n > 0 && !(n & (n - 1)); }

/* The loop that goes through so many bytes at a time, the source's from their end, or -1. Less than 16 bytes are no row. */
static int find_reverse(const Box *box, int64_t size) {
    const int i = find(box, -size, size);
    return i >= 0 && size <= 16 && box->loops[i].n * size >= 16 ? i : -1;
}

/* What a path that walks two loops gets where there is one. */
static void at_least_two(Box *box) {
    if (box->count > 1) return;
    box->loops[1] = box->loops[0];
    box->loops[0] = (Loop){1, 0, 0, 0};
    box->count = 2;
}

void move_plan(Move *m, const Box *asked, int size) {
    Box *box = &m->box;
    *box = *asked;
    for (int i = 0; i < box->count; ++i)
        if (box->loops[i].d < 0) flip(box, box->loops + i);
    m->size = size;
    m->past = 0;
    if (!box->count) box->loops[box->count++] = (Loop){1, size, size, 0};
    int run = find(box, size, size);
    if (run >= 0 && box->count > 1 && power_of_two(box->loops[run].n * size) && box->loops[run].n * size <= 16) {
        m->size = size = (int)box->loops[run].n * size;
        last(box, run);
        --box->count;
        run = -1;
    }
    if (run >= 0) {
        const Loop k = box->loops[run];
        const int pixel = find(box, 0, k.n);
        const int back = find_reverse(box, k.n * size);
        if (size == 1 && k.n == 3 && pixel >= 0 && back < 0) {
            m->path = PATH_PIXELS;
            last(box, pixel);
            last(box, find(box, 1, 1));
            return;
        }
        last(box, run);
        if (back < 0) {
            m->path = PATH_COPY;
            at_least_two(box);
            return;
        }
        m->size = size = (int)k.n * size;
        --box->count;
    }
    const int back = find_reverse(box, size);
    if (back >= 0) {
        m->path = PATH_REVERSE;
        last(box, back);
        at_least_two(box);
        return;
    }
    const int known = power_of_two(size) && size <= 16;
    const int a = known ? find(box, 0, size) : -1;
    if (a >= 0 && size == 1 && box->loops[a].s == -1 && box->loops[a].n <= 4) {
        const int pixel = find(box, 0, box->loops[a].n);
        if (pixel >= 0 && pixel != a) {
            m->path = PATH_PIXELS;
            last(box, pixel);
            last(box, find(box, -1, 1));
            return;
        }
    }
    if (a >= 0) {
        last(box, a);
        int b = find(box, size, 0);
        if (b < 0 && (b = find(box, -size, 0)) >= 0) flip(box, box->loops + b);
        if (b >= 0 && b != box->count - 1) {
            const Loop inner = box->loops[box->count - 1], outer = box->loops[b];
            last(box, b);
            last(box, box->count - 2);
            const int64_t channels = size_of(inner.s) / size;
            m->path = size <= 4 && few(channels) && size_of(inner.s) == channels * size && outer.n <= channels ? PATH_SPLIT
                      : size <= 4 && few(inner.n) && size_of(outer.d) == inner.n * size                ? PATH_MERGE
                                                                                                      : PATH_TRANSPOSE;
            return;
        }
    }
    m->path = PATH_STRIDED;
    at_least_two(box);
    int near_source = 0;
    for (int i = 1; i < box->count - 1; ++i)
        if (size_of(box->loops[i].s) < size_of(box->loops[near_source].s)) near_source = i;
    const Loop k = box->loops[near_source];
    for (int i = near_source; i < box->count - 2; ++i) box->loops[i] = box->loops[i + 1];
    box->loops[box->count - 2] = k;
}

void move_run(const Level *level, const Move *m, const uint8_t *src, uint8_t *dst) {
    Mover *mover = level->fast[m->path].move;
    const int outer = m->box.count - INNER;
    ODOMETER(m->box.loops, outer, m->box.src, m->box.dst, 0, mover(m, src + src_, dst + dst_));
}

static void zero(uint8_t *dst, int64_t bytes) {
    const uint8_t none[8] = {0};
    if (bytes > 16) {
        memset(dst, 0, (size_t)bytes);
    } else if (bytes >= 8) {
        memcpy(dst, none, 8), memcpy(dst + bytes - 8, none, 8);
    } else if (bytes >= 4) {
        memcpy(dst, none, 4), memcpy(dst + bytes - 4, none, 4);
    } else {
        for (int64_t i = 0; i < bytes; ++i) dst[i] = 0;
    }
}

static void fill_run(const Box *box, int size, uint8_t *dst) {
    int outer = box->count;
    int64_t run = size, rows = 1, step = 0;
    if (outer && box->loops[outer - 1].d == size) run *= box->loops[--outer].n;
    if (outer) rows = box->loops[--outer].n, step = box->loops[outer].d;
    ODOMETER(box->loops, outer, 0, box->dst, 0, {
        (void)src_;
        for (int64_t i = 0; i < rows; ++i) zero(dst + dst_ + i * step, run);
    });
}

static int64_t at_most(int64_t a, int64_t b) { return a < b ? a : b; }

/* The step of a loop on the side where rows are contiguous, and the size of an element there. */
static int64_t near(const Convert *c, const Loop *k) { return c->way == SCATTER ? k->s : k->d; }
static int64_t far(const Convert *c, const Loop *k) { return c->way == SCATTER ? k->d : k->s; }
static int near_size(const Convert *c, const Arithmetic *a) { return dtype_size[c->way == SCATTER ? a->from : a->to]; }

/* Whether a tile of `rows` and `row` lies there without gaps. */
static int joined(const Convert *c, int64_t row_n, int size) {
    if (c->rows < 0) return 0;
    const Loop *row = c->box.loops + c->row, *rows = c->box.loops + c->rows;
    if (row_n != row->n || near(c, row) != size || near(c, rows) != row_n * size) return 0;
    return c->way != DIRECT || rows->s * row->d == rows->d * row->s;
}

/* The move between a tile, rows after rows without gaps, and where it comes from or goes to. */
static void tile_box(const Convert *c, Box *box, int64_t rows_n, int64_t row_n, int size) {
    const Loop row = c->box.loops[c->row], rows = c->rows >= 0 ? c->box.loops[c->rows] : row;
    box->count = 0;
    box->src = box->dst = box->param = 0;
    if (c->rows >= 0 && rows_n > 1) box->loops[box->count++] = (Loop){rows_n, rows.s, row_n * size, 0};
    if (row_n > 1) box->loops[box->count++] = (Loop){row_n, row.s, size, 0};
    if (c->way != SCATTER) return;
    for (int i = 0; i < box->count; ++i) {
        box->loops[i].s = box->loops[i].d;
        box->loops[i].d = box->count == 2 && i == 0 ? rows.d : rows_n > 1 && i == 0 ? rows.d : row.d;
    }
    if (box->count == 2 && size_of(box->loops[0].d) < size_of(box->loops[1].d)) {
        const Loop k = box->loops[0];
        box->loops[0] = box->loops[1], box->loops[1] = k;
    }
}

/* Neighbours that loop i and the one around it go through on a side (0: not asked), or on both. */
static int64_t run(const Box *box, int i, int64_t s, int64_t d) {
    if (i < 0) return 0;
    const int64_t n = box->loops[i].n;
    const int around = find(box, s * n, d * n);
    return around >= 0 && around != i ? n * box->loops[around].n : n;
}

/* Elements from which on a row is worth a conversion of its own. */
enum { LEAST = 16 };

static int longest(const Box *box) {
    int best = 0;
    for (int i = 1; i < box->count; ++i)
        if (box->loops[i].n >= box->loops[best].n) best = i;
    return best;
}

/* Whether the level's loops for pixels do the whole: one tile for each run of pixels. */
static int plan_pixels(Convert *c, const Arithmetic *a) {
    const Box *box = &c->box;
    if (!a->brief || !a->bits) return 0;
    c->row = find(box, 1, 1) >= 0 ? find(box, 1, 1) : find(box, -1, 1);
    if (c->row < 0) return 0;
    const Loop channel = box->loops[c->row];
    c->rows = find(box, 0, channel.n);
    if (c->rows < 0 || channel.n < 2 || channel.n > 4) return 0;
    const Loop pixel = box->loops[c->rows];
    c->way = PIXELS;
    c->row_step = channel.n, c->rows_step = pixel.n;
    c->move.path = PATH_PIXELS;
    return !pixel.p && few(size_of(pixel.s)) && size_of(pixel.s) >= channel.n;
}

void convert_plan(Convert *c, const Box *asked, const Arithmetic *a) {
    const int from = dtype_size[a->from], to = dtype_size[a->to];
    c->box = *asked;
    for (int i = 0; i < c->box.count; ++i)
        if (c->box.loops[i].d < 0) flip(&c->box, c->box.loops + i);
    if (!c->box.count) c->box.loops[c->box.count++] = (Loop){1, from, to, 0};
    if (plan_pixels(c, a)) return;
    const Loop *loops = c->box.loops;
    const int in_source = find(&c->box, from, 0), in_destination = find(&c->box, 0, to);
    c->row = find(&c->box, from, to);
    c->way = c->row >= 0 ? DIRECT : in_source >= 0 && (to < from || in_destination < 0) ? SCATTER : GATHER;
    const int64_t source_run = run(&c->box, in_source, from, 0), destination_run = run(&c->box, in_destination, 0, to);
    const int64_t chosen = c->way == DIRECT ? run(&c->box, c->row, from, to) : c->way == SCATTER ? source_run : destination_run;
    if (chosen < LEAST) c->way = source_run > destination_run && source_run >= LEAST ? SCATTER : GATHER;
    if (c->way == SCATTER) c->row = in_source;
    if (c->way == GATHER) c->row = destination_run >= LEAST ? in_destination : longest(&c->box);
    const int64_t row_n = loops[c->row].n;
    c->rows = -1;
    for (int i = 0; i < c->box.count; ++i) {
        if (i == c->row) continue;
        if (c->way == DIRECT ? loops[i].s == row_n * from && loops[i].d == row_n * to
                             : c->rows < 0 || size_of(far(c, loops + i)) < size_of(far(c, loops + c->rows)))
            c->rows = i;
    }
    const int varies = loops[c->row].p || (c->rows >= 0 && loops[c->rows].p);
    const int plain = loops[c->row].p == 0 || loops[c->row].p == 1;
    const int64_t rows_n = c->rows >= 0 ? loops[c->rows].n : 1;
    const int whole = row_n <= STRIP / 2 && joined(c, row_n, near_size(c, a));
    const int repeats = c->rows >= 0 && !loops[c->rows].p; /* every row has the parameters of the one before */
    const int64_t room = whole && varies && !repeats ? STRIP : MAX_TILE / (c->way == SCATTER ? to : from);
    if (c->way == DIRECT && !whole) c->rows = -1;
    const int64_t line = 64 / (c->way == SCATTER ? to : from); /* of the side that is further apart */
    const int64_t columns = at_most(room / at_most(rows_n, line), STRIP);
    c->row_step = whole ? row_n : at_most(row_n, c->way != DIRECT ? columns : plain ? row_n : STRIP);
    c->rows_step = c->rows < 0 ? 1 : at_most(rows_n, c->way == DIRECT && !varies ? rows_n : room / c->row_step);
    if (c->way != DIRECT) {
        const int size = c->way == SCATTER ? to : from;
        Box box;
        tile_box(c, &box, c->rows_step, c->row_step, size);
        move_plan(&c->move, &box, size);
    }
}

/* Room for what one call of convert_run works on: stays in L1. */
typedef struct {
    uint8_t tile[MAX_TILE + 64] __attribute__((aligned(64))), out[4 * STRIP + 64] __attribute__((aligned(64)));
    uint8_t strip[4 * STRIP + 64] __attribute__((aligned(64)));
    float shift[STRIP + 16], scale[STRIP + 16], divisor[STRIP + 16], before[STRIP + 16], low[STRIP + 16],
        high[STRIP + 16];
    int32_t after[STRIP + 16];
    uint16_t factor[STRIP + 64];
    int16_t summand[STRIP + 64];
} Bench;

static Row row_at(const Row *row, int64_t i) {
    return (Row){row->shift + i, row->scale + i, row->divisor + i, row->before + i,
                 row->low + i,   row->high + i,  row->after + i,   row->factor + i, row->summand + i,
                 row->bits,      row->past};
}

static Row parameters(const Arithmetic *a, int64_t i) {
    const Row all = {a->shift, a->scale, a->divisor, a->before, a->low, a->high, a->after, a->factor, a->summand,
                     a->bits,  0};
    return row_at(&all, i);
}

/* Parameters of rows x row elements, written out. */
static Row expand(const Arithmetic *a, Bench *b, int64_t param, int64_t rows, int64_t rows_p, int64_t row, int64_t row_p) {
    int64_t i = 0;
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t k = 0; k < row; ++k, ++i) {
            const int64_t p = param + r * rows_p + k * row_p;
            b->shift[i] = a->shift[p], b->scale[i] = a->scale[p], b->divisor[i] = a->divisor[p];
            b->before[i] = a->before[p], b->low[i] = a->low[p], b->high[i] = a->high[p], b->after[i] = a->after[p];
            b->factor[i] = a->factor[p], b->summand[i] = a->summand[p];
        }
    return (Row){b->shift, b->scale, b->divisor, b->before, b->low, b->high, b->after, b->factor, b->summand, a->bits, 0};
}

/* The rows of the table by which n elements are converted: one, or one to float32 and one from there. */
static int row_paths(const Level *level, const Arithmetic *a, int64_t n, int32_t after, int each, int taken[2]) {
    const int store = a->to == I32 ? PATH_STORE_I32 : PATH_STORE;
    const int quantizes = a->from == F32 && a->to <= U8 && !each && n >= level->vector && after < 1 << 14 && after > -(1 << 14);
    const int from_floats = a->from == F32 && !a->steps && a->to != F32;
    taken[0] = a->brief ? (a->bits ? PATH_SHORT : PATH_BRIEF) : quantizes ? PATH_QUANTIZE : from_floats ? store : PATH_LOAD;
    taken[1] = store;
    return taken[0] == PATH_LOAD && a->to != F32 ? 2 : 1;
}

/* One row, neighbouring elements in both; `each`: the parameters are one for each element. */
static void convert_row(const Level *level, const Arithmetic *a, Bench *b, const uint8_t *src, uint8_t *dst, int64_t n,
                        const Row *row, int each) {
    const int least = a->brief ? 64 : 16; /* a vector's bytes, or its floats */
    const int from = dtype_size[a->from], to = dtype_size[a->to];
    if (n < least) { /* through vectors of its own: no loop reads or writes beyond n */
        uint8_t few[64] = {0}, result[64];
        float some[6][64] = {{0}};
        int32_t after[64] = {0};
        uint16_t factor[64] = {0};
        int16_t summand[64] = {0};
        Row mine = *row;
        mine.past = 0;
        memcpy(few, src, (size_t)(n * from));
        if (each) {
            for (int k = 0; k < least; ++k) some[2][k] = 1;
            for (int64_t k = 0; k < n; ++k) {
                some[0][k] = row->shift[k], some[1][k] = row->scale[k], some[2][k] = row->divisor[k];
                some[3][k] = row->before[k], some[4][k] = row->low[k], some[5][k] = row->high[k];
                after[k] = row->after[k], factor[k] = row->factor[k], summand[k] = row->summand[k];
            }
            mine = (Row){some[0], some[1], some[2], some[3], some[4], some[5], after, factor, summand, row->bits, 0};
        }
        convert_row(level, a, b, few, result, least, &mine, each);
        memcpy(dst, result, (size_t)(n * to));
        return;
    }
    int taken[2];
    const int loops = row_paths(level, a, n, *row->after, each, taken);
    const Fast *first = level->fast + taken[0];
    if (loops == 1) {
        switch (taken[0]) {
            case PATH_LOAD: first->load[a->from][each][a->divides](src, dst, n, row); return;
            case PATH_QUANTIZE: first->quantize[a->to == U8](src, dst, n, row); return;
            case PATH_BRIEF:
            case PATH_SHORT: first->brief[a->from == U8][a->to == U8][each](src, dst, n, row); return;
            default: first->store[a->to][each](src, dst, n, row); return;
        }
    }
    Load *load = first->load[a->from][each][a->divides];
    Store *store = level->fast[taken[1]].store[a->to][each];
    for (int64_t i = 0; i < n;) {
        int64_t count = at_most(n - i, STRIP);
        if (n - i > STRIP && n - i < STRIP + least) count = STRIP / 2; /* leave no piece shorter than a vector */
        Row here = each ? row_at(row, i) : *row;
        here.past = 0;
        load(src + i * from, b->strip, count, &here);
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
} Work;

/* Neighbours to every `step` bytes. A memcpy of a size that is not known is a call. */
static void spread(const uint8_t *src, uint8_t *dst, int64_t step, int64_t n, int size) {
    switch (size) {
        case 1: for (int64_t i = 0; i < n; ++i) dst[i * step] = src[i]; break;
        case 2: for (int64_t i = 0; i < n; ++i) memcpy(dst + i * step, src + 2 * i, 2); break;
        default: for (int64_t i = 0; i < n; ++i) memcpy(dst + i * step, src + 4 * i, 4);
    }
}

/* Rows of different parameters go together as far as these are written out. */
static int together_of(const Convert *c, const Arithmetic *a, int64_t rows_n, int64_t row_n) {
    return joined(c, row_n, near_size(c, a)) && (!c->box.loops[c->rows].p || rows_n * row_n <= STRIP);
}

int convert_paths(const Level *level, const Convert *c, const Arithmetic *a, int taken[3]) {
    int count = 0;
    if (c->way == PIXELS) {
        taken[0] = PATH_SHORT_PIXELS;
        return 1;
    }
    if (c->way != DIRECT) taken[count++] = c->move.path;
    const int together = together_of(c, a, c->rows_step, c->row_step);
    const int each = c->box.loops[c->row].p || (together && c->box.loops[c->rows].p);
    const int64_t n = together ? c->rows_step * c->row_step : c->row_step;
    return count + row_paths(level, a, n < 16 ? 16 : n, a->after[c->box.param], each, taken + count);
}

static void convert_tile(Work *w, const uint8_t *src, uint8_t *dst, int64_t param, int64_t rows_n, int64_t row_n) {
    const Convert *c = w->c;
    const Loop row = c->box.loops[c->row], rows = c->rows >= 0 ? c->box.loops[c->rows] : (Loop){1, 0, 0, 0};
    if (c->way == PIXELS) {
        const Row here = parameters(w->a, param);
        w->level->fast[PATH_SHORT_PIXELS].pixels[w->a->from == U8][w->a->to == U8](rows, row, src, dst, &here);
        return;
    }
    const int from = dtype_size[w->a->from], to = dtype_size[w->a->to];
    Move odd;
    const Move *move = &c->move;
    if (c->way != DIRECT && (rows_n != c->rows_step || row_n != c->row_step)) {
        Box box;
        const int size = c->way == SCATTER ? to : from;
        tile_box(c, &box, rows_n, row_n, size);
        move_plan(&odd, &box, size);
        move = &odd;
    }
    int64_t src_step = rows.s, dst_step = rows.d;
    uint8_t *out = dst;
    if (c->way == GATHER) {
        move_run(w->level, move, src, w->bench.tile);
        src = w->bench.tile, src_step = row_n * from;
    } else if (c->way == SCATTER) {
        out = w->bench.tile, dst_step = row_n * to;
    }
    const int together = together_of(c, w->a, rows_n, row_n);
    const int each = row.p || (together && rows.p);
    const int64_t count = together ? 1 : rows_n, n = together ? rows_n * row_n : row_n;
    for (int64_t r = 0; r < count; ++r) {
        const int64_t at = param + r * rows.p;
        Row here;
        if (!each || (row.p == 1 && (!together || rows_n == 1))) {
            here = parameters(w->a, at);
        } else {
            const int64_t key[3] = {at, together ? at_most(rows_n, STRIP / row_n) : 1, row_n};
            if (memcmp(key, w->expanded, sizeof key)) {
                w->row = expand(w->a, &w->bench, at, key[1], rows.p, row_n, row.p);
                memcpy(w->expanded, key, sizeof key);
            }
            here = w->row;
        }
        here.past = w->a->past && c->way != SCATTER;
        if (c->way != GATHER || row.d == to) {
            const int64_t some = each && together ? at_most(n, STRIP / row_n * row_n) : n;
            for (int64_t i = 0; i < n; i += some)
                convert_row(w->level, w->a, &w->bench, src + r * src_step + i * from, out + r * dst_step + i * to,
                            at_most(n - i, some), &here, each);
        } else { /* no loop is contiguous anywhere */
            for (int64_t i = 0; i < n; i += STRIP) {
                const int64_t some = at_most(n - i, STRIP);
                Row part = each ? row_at(&here, i) : here;
                part.past = 0;
                convert_row(w->level, w->a, &w->bench, src + r * src_step + i * from, w->bench.out, some, &part, each);
                spread(w->bench.out, dst + r * rows.d + i * row.d, row.d, some, to);
            }
        }
    }
    if (c->way == SCATTER) move_run(w->level, move, w->bench.tile, dst);
}

void convert_run(const Level *level, const Convert *c, const Arithmetic *a, const uint8_t *src, uint8_t *dst) {
    Work w;
    w.level = level, w.c = c, w.a = a;
    w.expanded[0] = -1, w.expanded[1] = w.expanded[2] = 0;
    Loop outer[MAX_LOOPS];
    int count = 0;
    for (int i = 0; i < c->box.count; ++i)
        if (i != c->row && i != c->rows) outer[count++] = c->box.loops[i];
    const Loop row = c->box.loops[c->row], rows = c->rows >= 0 ? c->box.loops[c->rows] : (Loop){1, 0, 0, 0};
    ODOMETER(outer, count, c->box.src, c->box.dst, c->box.param, {
        for (int64_t i = 0; i < row.n; i += c->row_step)
            for (int64_t r = 0; r < rows.n; r += c->rows_step)
                convert_tile(&w, src + src_ + i * row.s + r * rows.s, dst + dst_ + i * row.d + r * rows.d,
                             param_ + i * row.p + r * rows.p, at_most(rows.n - r, c->rows_step),
                             at_most(row.n - i, c->row_step));
    });
}

enum { LINE = 64, HUGE_PAGE = 2 << 20, MANY_PAGES = 64 * HUGE_PAGE };

/* Elements that a cut leaves together: neighbours on either side that share a cache line. */
static int64_t grain_of(const Loop *k) {
    const int64_t s = k->s ? size_of(k->s) : LINE, step = at_most(s, k->d ? size_of(k->d) : LINE);
    return step < LINE ? (LINE - 1 + step) / step : 1;
}
static int64_t pieces(const Loop *k) { return (k->n + grain_of(k) - 1) / grain_of(k); }

/* Bytes from one cut to the next, on the side where they are fewer: cores that write near each other take lines from
 * each other. */
static int64_t apart(const Loop *k, int64_t parts) {
    return at_most(k->s ? size_of(k->s) : INT32_MAX, k->d ? size_of(k->d) : INT32_MAX) * k->n / parts;
}

/* The loop to cut: of those with enough pieces for parts of equal size the one whose cuts are furthest apart, or else the
 * one of the most pieces. But one that goes from page to page of the destination comes first where its pages are so many
 * that a part that is first to touch each of them takes too long. */
static Loop *cut_of(Box *box, int64_t parts) {
    Loop *best = box->loops;
    int found = 0;
    for (Loop *k = box->loops; k < box->loops + box->count; ++k) {
        const int64_t here = pieces(k);
        if (here > 1 && at_most(size_of(k->d), HUGE_PAGE) > MANY_PAGES / k->n) return k;
        const int enough = here >= 4 * parts || (here >= parts && here % parts == 0);
        if (enough > found || (enough == found && (found ? apart(k, parts) > apart(best, parts) : here > pieces(best))))
            best = k, found = enough;
    }
    return best;
}

int box_cut(Box *box, int64_t part, int64_t parts) {
    while (parts > 1) {
        Loop *k = cut_of(box, parts);
        if (!box->count || pieces(k) < 2) return part == 0;
        const int64_t each = (parts - 1) / pieces(k) + 1; /* parts that one of its pieces is cut to in turn */
        const int64_t cuts = (parts - 1) / each + 1, cut = part / each;
        const int64_t grain = k->n >= 64 * cuts ? 64 : grain_of(k), grains = (k->n + grain - 1) / grain;
        const int64_t begin = at_most(k->n, grains * cut / cuts * grain);
        const int64_t end = at_most(k->n, grains * (cut + 1) / cuts * grain);
        box->src += begin * k->s, box->dst += begin * k->d, box->param += begin * k->p;
        k->n = end - begin;
        if (end <= begin) return 0;
        part -= cut * each, parts = at_most(each, parts - cut * each);
    }
    return 1;
}

void program_fill(const Program *p, uint8_t *dst, int64_t part, int64_t parts) {
    for (int i = 0; i < p->jobs; ++i) {
        const Job *job = p->job + i;
        if (!job->is_fill) continue;
        if (parts == 1) {
            fill_run(&job->move.box, job->size, dst);
        } else {
            Box box = job->move.box;
            if (box_cut(&box, part, parts)) fill_run(&box, job->size, dst);
        }
    }
}

void program_move(const Program *p, const uint8_t *src, uint8_t *dst, int64_t part, int64_t parts) {
    for (int i = 0; i < p->jobs; ++i) {
        const Job *job = p->job + i;
        if (job->is_fill) continue;
        if (p->converts) {
            if (parts == 1) {
                convert_run(p->level, &job->convert, &p->arithmetic, src, dst);
            } else {
                Convert c = job->convert;
                if (box_cut(&c.box, part, parts)) convert_run(p->level, &c, &p->arithmetic, src, dst);
            }
        } else if (parts == 1) {
            move_run(p->level, &job->move, src, dst);
        } else {
            Box box = job->move.box;
            Move m;
            if (!box_cut(&box, part, parts)) continue;
            move_plan(&m, &box, job->move.size); /* what is left may be another path's */
            m.past = job->move.past;
            move_run(p->level, &m, src, dst);
        }
    }
    if (p->dst_bytes >= PAST) p->level->fence();
}

int gray_path(int type) { return type ? PATH_GRAY_WIDE : PATH_GRAY; }

void gray_run(const Level *level, int type, const Box *asked, const uint8_t *b, const uint8_t *g, const uint8_t *r,
              uint8_t *out, int64_t part, int64_t parts) {
    Gray *gray = level->fast[gray_path(type)].gray[type];
    Box box = *asked;
    if (parts > 1 && !box_cut(&box, part, parts)) return;
    const Loop row = box.loops[box.count - 1];
    ODOMETER(box.loops, box.count - 1, box.src, box.dst, 0,
             gray(b + src_, g + src_, r + src_, row.s, out + dst_, row.n));
}
