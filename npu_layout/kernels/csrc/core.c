/* The table of paths and of levels, boxes, and how the work of a program is cut in parts. */
#include "core.h"

#include <stdatomic.h>
#include <string.h>

const int dtype_size[DTYPES] = {1, 1, 2, 2, 4, 2, 2, 4};
const char *const dtype_name[DTYPES] = {"int8", "uint8", "int16", "uint16", "int32", "float16", "bfloat16", "float32"};

const Path paths[PATHS] = {
    {"copy", "move", "rows of neighbouring elements, in both"},
    {"rows", "move", "the same of up to 512 bytes, whose neighbours in the destination are not those in the source"},
    {"transpose", "move", "neighbours in the source along one loop, in the destination along another"},
    {"detour", "move", "the same of neighbours of 16 bytes or less that go on along a third loop: by way of a bench"},
    {"split", "move", "pixels of 2, 3, 4 or 8 channels, or some of these, to planes; elements of 1, 2 and 4 bytes"},
    {"merge", "move", "planes to pixels of 2, 3, 4 or 8 channels; elements of 1, 2 and 4 bytes"},
    {"pixels", "move", "pixels of 2 to 4 bytes to another order or number of channels"},
    {"reverse", "move", "rows from their end: elements, or pixels moved as one, of up to 16 bytes"},
    {"padded", "move", "pixels of up to 64 bytes with zeros behind them, or, from planes, of 32 or few elements"},
    {"strided", "move", "everything else"},
    {"load", "convert", "rows of any dtype to float32, shifted, scaled and divided"},
    {"load transposed", "convert", "8 or more neighbours of 8 or 16 bits, or pixels of 3 and 4 bytes, to planes of float32"},
    {"store", "convert", "rows of float32 to any dtype but int32, rounded and saturated"},
    {"store int32", "convert", "rows of float32 to int32"},
    {"store transposed", "convert", "planes of float32 to 16 bytes or more of neighbours: float16, bfloat16, and int8 and uint8 with one value of each parameter"},
    {"quantize", "convert", "rows of float32 to bytes and int32 in one step, with one value of each parameter"},
    {"brief", "convert", "rows of bytes to bytes, where a factor and a summand in float32 give the same"},
    {"short", "convert", "rows of bytes to bytes, where a factor and a summand in 16 bits give the same"},
    {"short pixels", "convert", "the same of pixels of 2 to 4 bytes, to another order or number of channels too"},
    {"gray", "gray", "planes of uint8, and pixels of 3 or 4"},
    {"gray wide", "gray", "uint16 and float32"},
    {"argmax", "reduce", "planes of any dtype; everything else comes to planes first"},
    {"argmax across", "reduce", "9 and more neighbouring channels of float32"},
    {"top k", "reduce", "up to 16 values, of planes of any dtype; everything else comes to planes first"},
    {"top k across", "reduce", "more values, of neighbouring channels, to which everything else comes first; and neighbouring channels of less than 16 positions"},
    {"softmax", "reduce", "planes; everything else comes to planes first"},
    {"softmax across", "reduce", "neighbouring channels, to neighbours: of float32 16, or two vectors of 64 bytes, and more, of others 64, where the last vector is mostly full"},
    {"sigmoid", "reduce", "neighbours; everything else comes to neighbours first"},
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
    const int avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
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

void box_flip(Box *box, Loop *k) {
    box->src += (k->n - 1) * k->s;
    box->dst += (k->n - 1) * k->d;
    box->param += (k->n - 1) * k->p;
    k->s = -k->s, k->d = -k->d, k->p = -k->p;
}

int box_last(Box *box, int i) {
    const Loop k = box->loops[i];
    memmove(box->loops + i, box->loops + i + 1, (size_t)(box->count - 1 - i) * sizeof k);
    box->loops[box->count - 1] = k;
    return box->count - 1;
}

void box_add(Box *box, Loop k) {
    if (k.n == 1) return;
    int at = box->count++;
    for (; at > 0 && size_of(box->loops[at - 1].d) < size_of(k.d); --at) box->loops[at] = box->loops[at - 1];
    box->loops[at] = k;
}

int box_find(const Box *box, int64_t s, int64_t d) {
    for (int i = box->count - 1; i >= 0; --i)
        if ((!s || box->loops[i].s == s) && (!d || box->loops[i].d == d)) return i;
    return -1;
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

enum { LINE = 64, HUGE_PAGE = 2 << 20, MANY_PAGES = 64 * HUGE_PAGE };

/* Elements that a cut leaves together: neighbours on either side that share a cache line. */
static int64_t grain_of(const Loop *k) {
    const int64_t s = k->s ? size_of(k->s) : LINE, step = at_most(s, k->d ? size_of(k->d) : LINE);
    return step < LINE ? (LINE - 1 + step) / step : 1;
}
static int64_t pieces(const Loop *k) { return (k->n + grain_of(k) - 1) / grain_of(k); }

/* Bytes from one cut to the next in the destination: cores that write near each other take lines from each other, those
 * that are fetched ahead as well. In the source, where these are neighbours: a core reads whole lines. */
static int64_t apart(const Loop *k, int64_t parts) {
    const int64_t s = k->s ? size_of(k->s) : LINE, d = k->d ? size_of(k->d) : INT32_MAX;
    return (s < LINE ? at_most(s, d) : d) * k->n / parts;
}

/* Whether parts of about the same size come of so many pieces. */
static int even(int64_t count, int64_t parts) {
    return count < parts ? parts % count == 0 : 4 * ((count + parts - 1) / parts * parts) <= 5 * count;
}

/* The loop to cut: of those with pieces for parts of equal size the one whose cuts are furthest apart, or else the one of
 * the most pieces. But one that goes from page to page of the destination comes first where its pages are so many that a
 * part that is first to touch each of them takes too long. */
static Loop *cut_of(Box *box, int64_t parts) {
    Loop *best = box->loops;
    int found = 0;
    for (Loop *k = box->loops; k < box->loops + box->count; ++k) {
        const int64_t here = pieces(k);
        if (here < 2) continue;
        if (at_most(size_of(k->d), HUGE_PAGE) > MANY_PAGES / k->n) return k;
        const int fit = even(here, parts);
        if (fit > found || (fit == found && (found ? apart(k, parts) > apart(best, parts) : here > pieces(best))))
            best = k, found = fit;
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

static int64_t last_cache = 32 << 20;
void set_last_cache(int64_t bytes) { last_cache = bytes; }

/* Measured where it holds 32 MB: half of the last cache for one thread, which stores as fast past it as in it; three quarters
 * for threads that share it, as memory serves one as fast as four, while the cache serves each of them. */
int past_caches(int64_t touched, int shared) {
#if defined(__x86_64__) /* elsewhere there are no stores past the caches, and what prepares for them would be in vain */
    return touched >= last_cache / 4 * (shared ? 3 : 2);
#else
    (void)touched, (void)shared;
    return 0;
#endif
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
    const int past = past_caches(p->touched, parts > 1 && pool_threads() > 1);
    Arithmetic arithmetic = p->arithmetic;
    arithmetic.past = past;
    for (int i = 0; i < p->jobs; ++i) {
        const Job *job = p->job + i;
        if (job->is_fill) continue;
        if (p->converts) {
            if (parts == 1) {
                convert_run(p->level, &job->convert, &p->arithmetic, src, dst);
            } else {
                Box box = job->convert.box;
                Convert c;
                if (!box_cut(&box, part, parts)) continue;
                convert_plan(&c, &box, &arithmetic, job->pad);
                convert_run(p->level, &c, &arithmetic, src, dst);
            }
        } else if (parts == 1) {
            move_run(p->level, &job->move, src, dst);
        } else {
            Box box = job->move.box;
            Move m;
            if (!box_cut(&box, part, parts)) continue;
            move_plan(&m, &box, job->move.size, job->pad); /* what is left may be another path's */
            m.past = past;
            move_run(p->level, &m, src, dst);
        }
    }
    if (past) p->level->fence();
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
