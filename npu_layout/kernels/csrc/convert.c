/* Conversions: walk the tiles. */
#include "convert_tiles.h"

#include <string.h>

/* Elements for which parameters are written out if they repeat with a smaller period. */
enum { REPEATED = 512, LINE = 64 };

/* The buffers of one call of convert_run, which stay in L1. The margins are not used: without them every array would begin at
 * the same line of a page, and a load would seem to depend on the store before it. */
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
                 row->products ? row->products + i : NULL, row->bits, row->past, row->steps, 0, 0, 0, 0};
}

static Row parameters(const Arithmetic *a, int64_t i) {
    const Row all = {a->shift, a->scale, a->divisor, a->before, a->low, a->high, a->after, a->factor, a->summand,
                     a->products, a->bits, 0, a->steps, 0, 0, 0, 0};
    return row_at(&all, i);
}

/* The period, in elements, of the parameters of a row of a tile; 0: there is one value. */
static int64_t period_of(const Convert *c, int64_t row_n) {
    int64_t n = 1, period = 0;
    for (int i = c->box.count - 1; i >= c->box.count - c->dense; --i) {
        n *= tile_extent(c, i, 1, row_n);
        if (c->box.loops[i].p) period = n;
    }
    return period;
}

/* Write the `period` values that `at` names, and repeat them up to n. */
#define WRITE_OUT(name)                                                                        \
    do {                                                                                       \
        for (int64_t i = 0; i < period; ++i) b->name[i] = a->name[param + at[i]];              \
        for (int64_t done = period; done < n; done *= 2)                                       \
            memcpy(b->name + done, b->name, (size_t)at_most(done, n - done) * sizeof *b->name); \
    } while (0)

/* Write out the parameters, which repeat after `period`, of n elements of a row. */
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
    if (a->one_step && a->bits) {
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
    return (Row){b->shift, b->scale, b->divisor, b->before, b->low, b->high, b->after, b->factor, b->summand, NULL, a->bits, 0, a->steps, 0, 0, 0, 0};
}

/* The rows of the table that convert n elements: one and 0, or one to float32 and one from float32. */
static int row_paths(const Level *level, const Arithmetic *a, int64_t n, int32_t after, int each, int taken[2]) {
    const int store = a->to == I32 ? PATH_STORE_I32 : PATH_STORE;
    const int quantizes = a->from == F32 && !each && n >= level->vector &&
                          (a->to == I32 ? a->steps : a->to <= U8 && after < 1 << 14 && after > -(1 << 14));
    const int from_floats = a->from == F32 && !a->steps && a->to != F32;
    taken[0] = a->one_step ? (a->bits ? PATH_FIXED : PATH_AFFINE) : quantizes ? PATH_QUANTIZE : from_floats ? store : PATH_LOAD;
    taken[1] = taken[0] == PATH_LOAD && a->to != F32 ? store : 0;
    return taken[1] ? 2 : 1;
}

static Load *first_loop(const Level *level, const Arithmetic *a, int64_t n, int32_t after, int each, int taken[2]) {
    row_paths(level, a, n, after, each, taken);
    const Fast *fast = fast_of(level, taken[0]);
    switch (taken[0]) {
        case PATH_LOAD: return fast->load[a->from][each][a->divides];
        case PATH_QUANTIZE: return fast->quantize[a->to];
        case PATH_AFFINE:
        case PATH_FIXED: return fast->bytes[a->from][a->to][each];
        default: return fast->store[a->to][each];
    }
}

static void convert_row(const Level *level, const Arithmetic *a, Bench *b, const uint8_t *src, uint8_t *dst, int64_t n,
                        const Row *row, int each);

/* Convert the elements of one vector, with parameters for n of them. */
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
    const Row mine = {some[0], some[1], some[2], some[3], some[4], some[5], after, factor, summand, NULL, row->bits, 0, row->steps, 0, 0, 0, 0};
    convert_row(level, a, b, src, dst, least, &mine, 1);
}

/* Convert one row of neighbouring elements; `each`: there are parameters for each element. */
static void convert_row(const Level *level, const Arithmetic *a, Bench *b, const uint8_t *src, uint8_t *dst, int64_t n,
                        const Row *row, int each) {
    const int least = vector_of(a);
    const int from = dtype_size[a->from], to = dtype_size[a->to];
    if (n < least) { /* in local buffers, so that no loop reads or writes beyond n */
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
    Store *store = fast_of(level, taken[1])->store[a->to][each];
    for (int64_t i = 0; i < n;) {
        int64_t count = at_most(n - i, STRIP);
        if (n - i > STRIP && n - i < STRIP + least) count = STRIP / 2; /* so that no piece is shorter than a vector */
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
    int64_t expanded[3]; /* identify the parameters that are on the bench; see row_of */
    Row row;
    int64_t odd_n[2]; /* for the next loops, which move the last tile if it is not complete */
    Move odd_gather, odd_scatter;
} Work;

int convert_paths(const Level *level, const Convert *c, const Arithmetic *a, int taken[4]) {
    int count = 0;
    if (c->way == PIXELS) {
        taken[0] = PATH_FIXED_PIXELS, taken[1] = PATH_PADDED;
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

/* The parameters that begin at `param`, for the elements of a row of n that are converted at a time (`some`). */
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

/* The rows of a tile: elements of each, bytes from one to the next, and their first parameters. */
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
            second = first && taken[1] ? fast_of(w->level, taken[1])->store[a->to][each] : NULL;
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

/* Short rows with gaps: more streams than the processor foresees. Those of the next tile are fetched. */
static int is_short_rows(const Convert *c, const Arithmetic *a) {
    enum { SHORT_ROW = 256 };
    const int gathered = c->way == GATHER && c->dense > 1 && c->inner == c->dense;
    if (!gathered && (c->way != DIRECT || c->dense != 1 || c->rows_step == 1)) return 0;
    const Loop rows = c->box.loops[c->box.count - (gathered ? 2 : c->inner)], row = c->box.loops[c->box.count - 1];
    const int64_t from = dtype_size[a->from], bytes = row.n * from;
    return bytes <= SHORT_ROW && magnitude(rows.s) > bytes && (!gathered || (row.s == from && bytes >= LINE));
}
/* A call of a function that does nothing else GCC would take out. */
#define FETCHES static inline __attribute__((always_inline))
FETCHES void fetch_rows(const uint8_t *p, int64_t rows, int64_t step, int64_t bytes) {
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t x = 0; x < bytes + LINE - 1; x += LINE) __builtin_prefetch(p + r * step + x);
}
FETCHES void fetch_next(const Convert *c, const Arithmetic *a, int64_t rows_n, int64_t row_n, const uint8_t *src) {
    const Loop *inner = c->box.loops + c->box.count - c->inner, row = c->box.loops[c->box.count - 1];
    const int64_t bytes = row.n * dtype_size[a->from];
    if (c->way == DIRECT) {
        fetch_rows(src + bytes, rows_n, inner->s, bytes);
        return;
    }
    const Loop rows = c->box.loops[c->box.count - 2];
    if (c->dense == 2) fetch_rows(src + row_n * rows.s, row_n, rows.s, bytes);
    else for (int64_t i = 0; i < row_n; ++i) fetch_rows(src + (row_n + i) * inner->s, rows.n, rows.s, bytes);
}

static void convert_tile(Work *w, const uint8_t *src, uint8_t *dst, int64_t param, int64_t rows_n, int64_t row_n) {
    const Convert *c = w->c;
    const Arithmetic *a = w->a;
    const Move *gather = &c->gather, *scatter = &c->scatter;
    if (rows_n != c->rows_step || row_n != c->row_step) {
        if (w->odd_n[0] != rows_n || w->odd_n[1] != row_n) convert_tile_moves(c, a, rows_n, row_n, &w->odd_gather, &w->odd_scatter);
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
        fast_of(w->level, PATH_FIXED_PIXELS)->pixels[a->from][a->to](pixel, c->box.loops[c->box.count - 1], src, out, &row);
        if (c->pad) move_run(w->level, scatter, out, dst);
        return;
    }
    if (c->way == TRANSPOSED) {
        Row row = parameters(a, param);
        row.past = a->past, row.cold = a->cold;
        Transposed *loop = a->to == F32 ? fast_of(w->level, PATH_LOAD_TRANSPOSED)->from[a->from][a->divides]
                                        : fast_of(w->level, PATH_STORE_TRANSPOSED)->to[a->to];
        loop(rows, c->box.loops[c->box.count - 1], src, dst, &row);
        return;
    }
    if (a->cold && is_short_rows(c, a)) fetch_next(c, a, rows_n, row_n, src);
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

/* To float32, whose loops have such stores, and to elements with pads behind them, which a move stores. */
int convert_gains_past(const Convert *c, const Arithmetic *a, int vector) {
    if (c->pad) return move_gains_past(&c->scatter, vector);
    int64_t row = dtype_size[a->to];
    for (int i = c->box.count - c->dense; i < c->box.count; ++i) row *= tile_extent(c, i, 1, c->row_step);
    if (a->to != F32 || a->divides) return 0;
    return c->way == TRANSPOSED || ((c->way == DIRECT || c->way == GATHER) && row >= ROW_LEAST);
}

int convert_looks_first(const Convert *c, const Convert *past) { return past->way != c->way || c->pad; }

int convert_fetches(const Convert *c, const Arithmetic *a) {
    return (c->way == TRANSPOSED && a->from == F32) || is_short_rows(c, a);
}
