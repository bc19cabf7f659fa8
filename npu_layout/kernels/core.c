/* The table of paths; planning which of them moves a box, and the walk over its outer loops; how work is cut in parts. */
#include "core.h"

#include <stdatomic.h>
#include <string.h>

const int dtype_size[DTYPES] = {1, 1, 2, 2, 4, 2, 2, 4};

const Path paths[PATHS] = {
    {"copy", "move", "rows of neighbouring elements, in both"},
    {"rows", "move", "the same of up to 512 bytes, whose neighbours in the destination are not those in the source"},
    {"transpose", "move", "neighbours in the source along one loop, in the destination along another"},
    {"split", "move", "pixels of 2, 3, 4 or 8 channels, or some of these, to planes; elements of 1, 2 and 4 bytes"},
    {"merge", "move", "planes to pixels of 2, 3, 4 or 8 channels; elements of 1, 2 and 4 bytes"},
    {"pixels", "move", "pixels of 2 to 4 bytes to another order or number of channels"},
    {"reverse", "move", "rows from their end: elements, or pixels moved as one, of up to 16 bytes"},
    {"padded", "move", "pixels of up to 64 bytes with zeros behind them, from pixels or planes"},
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

int box_find(const Box *box, int64_t s, int64_t d) {
    for (int i = box->count - 1; i >= 0; --i)
        if ((!s || box->loops[i].s == s) && (!d || box->loops[i].d == d)) return i;
    return -1;
}

static int power_of_two(int64_t n) { return n > 0 && !(n & (n - 1)); }

/* The loop that goes through so many bytes at a time, the source's from their end, or -1. Less than 16 bytes are no row. */
static int find_reverse(const Box *box, int64_t size) {
    const int i = box_find(box, -size, size);
    return i >= 0 && size <= 16 && box->loops[i].n * size >= 16 ? i : -1;
}

/* What a path that walks two loops gets where there is one. */
static void at_least_two(Box *box) {
    if (box->count > 1) return;
    box->loops[1] = box->loops[0];
    box->loops[0] = (Loop){1, 0, 0, 0};
    box->count = 2;
}

/* The loops but one, those that are one walk through the destination merged. */
static int walk_of(const Box *box, int but, Loop *walk) {
    int count = 0;
    for (int i = 0; i < box->count; ++i) {
        const Loop k = box->loops[i];
        if (i == but || k.n == 1) continue;
        int at = count++;
        for (; at > 0 && walk[at - 1].d < k.d; --at) walk[at] = walk[at - 1];
        walk[at] = k;
    }
    int merged = 0;
    for (int i = 0; i < count; ++i) {
        if (merged && walk[merged - 1].d == walk[i].n * walk[i].d)
            walk[merged - 1].n *= walk[i].n, walk[merged - 1].d = walk[i].d;
        else
            walk[merged++] = walk[i];
    }
    return merged;
}

/* Whether planes are neighbours pixel by pixel, and as many as there are loops for. */
static int padded_planes(const Loop *pixel, int64_t channels, int64_t pads, int64_t size) {
    return pixel->s == size && (few(channels) || channels + pads == 4 || channels + pads == 8);
}

int64_t pad_of(const Box *move, const Box *fill, int64_t src_size, int64_t dst_size) {
    enum { MOST = 64 };
    const int channel = box_find(move, 0, dst_size), pad = box_find(fill, 0, dst_size);
    const int64_t channels = channel < 0 ? 1 : move->loops[channel].n, pads = pad < 0 ? 1 : fill->loops[pad].n;
    const int64_t bytes = channels * dst_size, more = pads * dst_size;
    if (bytes > MOST || fill->dst != move->dst + bytes || move->count > MAX_LOOPS - INNER) return 0;
    for (int i = 0; i < move->count; ++i)
        if (move->loops[i].d < 0) return 0;
    const int pixel = box_find(move, 0, bytes + more);
    if (pixel < 0) return 0;
    const int pixels = channel < 0 || size_of(move->loops[channel].s) == src_size;
    if (!pixels && !padded_planes(move->loops + pixel, channels, pads, src_size)) return 0;
    Loop moved[MAX_LOOPS], filled[MAX_LOOPS];
    const int count = walk_of(move, channel, moved);
    if (count != walk_of(fill, pad, filled)) return 0;
    for (int i = 0; i < count; ++i)
        if (moved[i].n != filled[i].n || moved[i].d != filled[i].d) return 0;
    return more;
}

static void plan_padded(Move *m) {
    Box *box = &m->box;
    Loop channel = {1, m->size, m->size, 0}, pixel = {1, 0, 0, 0};
    int at = box_find(box, 0, m->size);
    if (at >= 0) channel = box->loops[box_last(box, at)], --box->count;
    pixel.d = channel.n * m->size + m->pad;
    at = box_find(box, 0, pixel.d);
    if (at >= 0) pixel = box->loops[box_last(box, at)], --box->count;
    box->loops[box->count++] = pixel, box->loops[box->count++] = channel;
    m->path = PATH_PADDED;
}

/* The loop of the smallest steps, in the source or in the destination, the last one apart. */
static int nearest(const Box *box, int in_source) {
    int best = 0;
    for (int i = 1; i < box->count - 1; ++i) {
        const Loop k = box->loops[i], b = box->loops[best];
        if (in_source ? size_of(k.s) <= size_of(b.s) : size_of(k.d) <= size_of(b.d)) best = i;
    }
    return best;
}

/* The last loop is a row of so many bytes. */
static void plan_rows(Move *m, int64_t bytes) {
    Box *box = &m->box;
    const int a = nearest(box, 0), b = nearest(box, 1);
    if (a == b || bytes > LONG_ROW) {
        m->path = PATH_COPY;
        at_least_two(box);
        return;
    }
    m->path = PATH_ROWS;
    m->size = (int)bytes;
    --box->count;
    box_last(box, b);
    box_last(box, a > b ? a - 1 : a);
}

/* Whether there are loops for so many channels, and 8 of them have rows of a vector at least: shorter ones are a transpose. */
static int separate(int64_t channels, int64_t pixels, int size) {
    return size <= 4 && few(channels) && (channels < 8 || pixels * size >= 16);
}

void move_plan(Move *m, const Box *asked, int size, int64_t pad) {
    Box *box = &m->box;
    *box = *asked;
    for (int i = 0; i < box->count; ++i)
        if (box->loops[i].d < 0) box_flip(box, box->loops + i);
    m->size = size;
    m->past = 0;
    m->pad = pad;
    m->row = INT64_MAX;
    if (pad) {
        plan_padded(m);
        return;
    }
    if (!box->count) box->loops[box->count++] = (Loop){1, size, size, 0};
    int run = box_find(box, size, size);
    if (run >= 0 && box->count > 1 && power_of_two(box->loops[run].n * size) && box->loops[run].n * size <= 16) {
        m->size = size = (int)box->loops[run].n * size;
        box_last(box, run);
        --box->count;
        run = -1;
    }
    if (run >= 0) {
        const Loop k = box->loops[run];
        const int pixel = box_find(box, 0, k.n);
        const int back = find_reverse(box, k.n * size);
        if (size == 1 && k.n == 3 && pixel >= 0 && size_of(box->loops[pixel].s) <= 8 && back < 0) {
            m->path = PATH_PIXELS;
            box_last(box, pixel);
            box_last(box, box_find(box, 1, 1));
            return;
        }
        box_last(box, run);
        if (back < 0) {
            plan_rows(m, k.n * size);
            return;
        }
        m->size = size = (int)k.n * size;
        --box->count;
    }
    const int back = find_reverse(box, size);
    if (back >= 0) {
        m->path = PATH_REVERSE;
        box_last(box, back);
        at_least_two(box);
        return;
    }
    const int known = power_of_two(size) && size <= 16;
    const int a = known ? box_find(box, 0, size) : -1;
    if (a >= 0 && size == 1 && box->loops[a].s == -1 && box->loops[a].n <= 4) {
        const int pixel = box_find(box, 0, box->loops[a].n);
        if (pixel >= 0 && pixel != a) {
            m->path = PATH_PIXELS;
            box_last(box, pixel);
            box_last(box, box_find(box, -1, 1));
            return;
        }
    }
    if (a >= 0) {
        box_last(box, a);
        int b = box_find(box, size, 0);
        if (b < 0 && (b = box_find(box, -size, 0)) >= 0) box_flip(box, box->loops + b);
        if (b >= 0 && b != box->count - 1) {
            const Loop inner = box->loops[box->count - 1], outer = box->loops[b];
            box_last(box, b);
            box_last(box, box->count - 2);
            const int64_t channels = size_of(inner.s) / size;
            const int splits = separate(channels, inner.n, size) && size_of(inner.s) == channels * size && outer.n <= channels;
            const int merges = !splits && separate(inner.n, outer.n, size) && size_of(outer.d) == inner.n * size;
            m->path = splits ? PATH_SPLIT : merges ? PATH_MERGE : PATH_TRANSPOSE;
            if (splits || merges) m->row = (splits ? inner.n : outer.n) * size;
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
    while (m->row < level->vector && level->narrower) level = level->narrower;
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
                Box box = job->convert.box;
                Convert c;
                if (!box_cut(&box, part, parts)) continue;
                convert_plan(&c, &box, &p->arithmetic, job->pad);
                convert_run(p->level, &c, &p->arithmetic, src, dst);
            }
        } else if (parts == 1) {
            move_run(p->level, &job->move, src, dst);
        } else {
            Box box = job->move.box;
            Move m;
            if (!box_cut(&box, part, parts)) continue;
            move_plan(&m, &box, job->move.size, job->pad); /* what is left may be another path's */
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
