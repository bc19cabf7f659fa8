/* Inputs of a fuzzer as moves, fills and conversions, against a walk over their indices. */
#ifndef TESTS_FUZZ_MOVES_H
#define TESTS_FUZZ_MOVES_H

#include "divide.h"
#include "fuzz_input.h"

/* Loops with a place for every index on the destination's side, as a planner gives them, or (0) any within bounds. */
static int random_box(Box *box, int64_t from, int64_t to, int planned, int64_t reach[2], int shaped) {
    static const int runs[] = {2, 3, 4, 8, 16, 5};
    int64_t total = 1;
    box->count = 1 + (int)below(shaped ? 3 : planned ? 6 : MAX_LOOPS);
    box->src = box->dst = box->param = 0;
    int order[MAX_LOOPS];
    for (int i = 0; i < box->count; ++i) {
        order[i] = i;
        box->loops[i] = (Loop){extent(ELEMENTS / total), 0, 0, 0};
        total *= box->loops[i].n;
    }
    if (shaped && box->count > 1) box->loops[below(box->count)].n = runs[below(6)];
    for (int side = 0; side < 2; ++side) {
        const int64_t item = side ? to : from;
        const int any = !planned || (!side && !below(4)); /* what is read may overlap */
        int64_t pitch = item;
        for (int i = box->count - 1; i > 0; --i) {
            const int j = (int)below(i + 1), k = order[i];
            order[i] = order[j], order[j] = k;
        }
        const int gaps = !any && !below(3);
        for (int i = 0; i < box->count; ++i) {
            Loop *k = box->loops + order[i];
            int64_t step = pitch;
            if (any) step = (int64_t)(int16_t)take(2) % 600 * (below(2) ? item : 1);
            if (gaps) pitch += item * below(3), step = pitch;
            *(side ? &k->d : &k->s) = step;
            pitch *= k->n;
        }
    }
    if (planned) {
        for (int i = 0; i < box->count; ++i)
            for (int j = i + 1; j < box->count; ++j)
                if (box->loops[j].d > box->loops[i].d) {
                    const Loop k = box->loops[i];
                    box->loops[i] = box->loops[j], box->loops[j] = k;
                }
        int kept = 0;
        for (int i = 0; i < box->count; ++i)
            if (box->loops[i].n > 1) box->loops[kept++] = box->loops[i];
        box->count = kept;
    }
    reach[0] = from, reach[1] = to;
    for (int i = 0; i < box->count; ++i) {
        Loop *k = box->loops + i;
        if (planned && !below(5)) k->s = -k->s;
        if (planned && !below(9)) k->d = -k->d;
        if (k->s < 0) box->src -= (k->n - 1) * k->s;
        if (k->d < 0) box->dst -= (k->n - 1) * k->d;
        reach[0] += (k->n - 1) * magnitude(k->s), reach[1] += (k->n - 1) * magnitude(k->d);
    }
    return reach[0] <= MOST && reach[1] <= MOST;
}

static void walk_box(const Box *box, int depth, int64_t s, int64_t d, int64_t p, void (*one)(void *, int64_t, int64_t, int64_t), void *context) {
    if (depth == box->count) {
        one(context, s, d, p);
        return;
    }
    const Loop *k = box->loops + depth;
    for (int64_t i = 0; i < k->n; ++i) walk_box(box, depth + 1, s + i * k->s, d + i * k->d, p + i * k->p, one, context);
}

typedef struct {
    const Arithmetic *a;
    const uint8_t *src, *got;
    uint8_t *expected, *seen;
    int64_t size;
    const Level *level;
} Pass;

static void expect_move(void *context, int64_t s, int64_t d, int64_t p) {
    Pass *w = context;
    (void)p;
    memcpy(w->expected + d, w->src + s, (size_t)w->size);
}

static void expect_zero(void *context, int64_t s, int64_t d, int64_t p) {
    Pass *w = context;
    (void)s, (void)p;
    memset(w->expected + d, 0, (size_t)w->size);
}

static void mark(void *context, int64_t s, int64_t d, int64_t p) {
    Pass *w = context;
    (void)s, (void)p;
    memset(w->seen + d, 1, (size_t)w->size);
}

static void expect_converted(void *context, int64_t s, int64_t d, int64_t p) {
    Pass *w = context;
    const Arithmetic *a = w->a;
    if (a->bits) {
        const int64_t u = a->from == I8 ? (int8_t)w->src[s] + 128 : w->src[s];
        int64_t v = u * a->factor[p] / 256 - 32768 + a->summand[p];
        v = (v < -32768 ? -32768 : v > 32767 ? 32767 : v) >> a->bits;
        v = (v < -128 ? -128 : v > 127 ? 127 : v) + (a->to == U8 ? 128 : 0);
        if (w->got[d] != (uint8_t)v) wrong("conversion in 16 bits", w->level, "from, to, got", a->from, a->to, w->got[d]);
        return;
    }
    volatile float y = value(a->from, w->src + s); /* volatile: one operation after the other */
    if (!a->one_step) {
        y = y - a->shift[p];
        y = y * a->scale[p];
        if (a->divides) y = y / a->divisor[p];
    } else {
        y = y * a->scale[p];
    }
    const uint8_t *got = w->got + d;
    if (a->to >= F16) {
        const float g = value(a->to, got);
        double e = a->to == F16 ? rounded_half(y) : y;
        if (a->to == BF16 && y == y) {
            const float copy = y;
            uint32_t bits;
            memcpy(&bits, &copy, 4);
            bits = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000u;
            float f;
            memcpy(&f, &bits, 4);
            e = f;
        }
        const int same = e != e ? g != g : (double)g == e && !signbit(g) == !signbit(e);
        if (!same) wrong("conversion", w->level, "from, to, place", a->from, a->to, d);
        return;
    }
    y = y + a->before[p];
    const double limits[5][2] = {{-128, 127}, {0, 255}, {-32768, 32767}, {0, 65535}, {-2147483648.0, 2147483647.0}};
    double q = rint((double)y) + (a->one_step ? 0 : a->after[p]);
    if (!(q > limits[a->to][0])) q = limits[a->to][0];
    if (q > limits[a->to][1]) q = limits[a->to][1];
    int32_t g32 = 0;
    if (a->to == I32) memcpy(&g32, got, 4);
    const double g = a->to == I32 ? (double)g32 : (double)value(a->to, got);
    if (g != q) wrong("conversion", w->level, "from, to, got", a->from, a->to, (int64_t)g);
}

/* What no index of the box reaches is as it was, or zero where a fill does. */
static void rest_untouched(const Box *box, const Box *fill, Pass *w, int64_t bytes) {
    w->seen = calloc((size_t)bytes, 1);
    if (fill) walk_box(fill, 0, 0, fill->dst, 0, mark, w);
    for (int64_t i = 0; i < bytes; ++i)
        if (w->seen[i] && w->got[i]) wrong("a pad", w->level, "place", i, bytes, 0);
    walk_box(box, 0, box->src, box->dst, 0, mark, w);
    for (int64_t i = 0; i < bytes; ++i)
        if (!w->seen[i] && w->got[i] != 0xAB) wrong("a byte between elements", w->level, "place", i, bytes, 0);
    free(w->seen);
}

/* All at once, or in parts as threads do it. */
static void run_program(Program *p, const uint8_t *src, uint8_t *dst, int64_t parts) {
    for (int64_t i = 0; i < parts; ++i) program_fill(p, dst, i, parts);
    for (int64_t i = 0; i < parts; ++i) program_move(p, src, dst, i, parts, (Whereabouts){i & 1, i & 1, i & 1});
}

static void one_move(int planned) {
    static const int sizes[] = {1, 2, 4, 8, 16, 3, 1, 2, 4, 12, 5};
    const int64_t size = sizes[below(11)], parts = below(4) ? 1 : 1 + below(9);
    const int shaped = (int)below(2), past = !below(6), shift_src = (int)below(17), shift_dst = (int)below(17);
    Box box;
    int64_t reach[2];
    if (!random_box(&box, size, size, planned, reach, shaped)) return;
    Box fill_box;
    const int64_t pad = below(2) ? gap_behind(&box, size, size, &fill_box) : 0;
    reach[1] += pad;
    Job job = {.size = (int)size, .pad = pad};
    Program p = {.src_bytes = reach[0], .dst_bytes = reach[1], .touched = past ? INT64_MAX : 0, .jobs = 1, .job = &job};
    move_plan(&job.move, &box, (int)size, pad);
    job.move.past = past;
    const Buffer src = buffer(reach[0], shift_src);
    fill(src, U8);
    uint8_t *expected = malloc((size_t)reach[1]);
    memset(expected, 0xAB, (size_t)reach[1]);
    Pass w = {.src = src.at, .expected = expected, .size = size};
    if (planned) walk_box(&box, 0, box.src, box.dst, 0, expect_move, &w);
    if (planned && pad) walk_box(&fill_box, 0, 0, fill_box.dst, 0, expect_zero, &w);
    for (int i = 0; i < level_count(); ++i) {
        if (!(p.level = level_at(i))) continue;
        const Buffer dst = buffer(reach[1], shift_dst);
        run_program(&p, src.at, dst.at, parts);
        for (int64_t k = 0; planned && k < reach[1]; ++k)
            if (dst.at[k] != expected[k]) wrong(paths[job.move.path].name, p.level, "element, place, bytes", size, k, reach[1]);
        for (int k = 0; k < shift_dst; ++k)
            if (dst.room[k] != 0xAB) wrong(paths[job.move.path].name, p.level, "before the buffer", k, shift_dst, 0);
        free(dst.room);
    }
    free(expected), free(src.room);
    ++work;
}

static void one_fill(void) {
    Box box;
    int64_t reach[2];
    static const int sizes[] = {1, 2, 4, 8, 16, 3};
    const int64_t size = sizes[below(6)];
    if (!random_box(&box, size, size, 1, reach, 0)) return;
    Job job = {.is_fill = 1, .size = (int)size};
    job.move.box = box;
    Program p = {.level = level_at(0), .dst_bytes = reach[1], .jobs = 1, .job = &job};
    const Buffer dst = buffer(reach[1], 0);
    run_program(&p, NULL, dst.at, 1);
    Pass w = {.got = dst.at, .size = size, .level = p.level};
    w.seen = calloc((size_t)reach[1], 1);
    walk_box(&box, 0, box.src, box.dst, 0, mark, &w);
    for (int64_t i = 0; i < reach[1]; ++i)
        if (dst.at[i] != (w.seen[i] ? 0 : 0xAB)) wrong("fill", p.level, "place, of", i, reach[1], size);
    free(w.seen), free(dst.room);
    ++work;
}

static float parameter(int kind) {
    uint32_t bits = 0;
    float f;
    switch (kind) {
        case 0: return (float)(below(200) - 100);
        case 1: return (float)(1 + below(100)) / 64;
        case 2: return ldexpf((float)(int16_t)take(2), (int)below(64) - 40);
        default: bits = (uint32_t)take(4); memcpy(&f, &bits, 4); return f;
    }
}

static void one_conversion(int planned) {
    static const double limits[5][2] = {{-128, 127}, {0, 255}, {-32768, 32767}, {0, 65535}, {-2147483648.0, 2147483647.0}};
    Arithmetic a = {.from = (Dtype)below(DTYPES), .to = (Dtype)below(DTYPES)};
    const int64_t parts = below(4) ? 1 : 1 + below(9);
    const int shaped = (int)below(2), shift_src = (int)below(17), shift_dst = (int)below(17), whole_shift = (int)below(2);
    a.past = !below(6), a.divides = below(2) != 0, a.steps = a.divides || below(3);
    a.one_step = a.from <= U8 && a.to <= U8 && below(2);
    if (a.one_step) a.divides = 0, a.bits = below(2) ? 1 + (int)below(8) : 0;
    Box box;
    int64_t reach[2];
    const int from = dtype_size[a.from], to = dtype_size[a.to];
    if (!random_box(&box, from, to, planned, reach, shaped)) return;
    const int each = (int)below(3);
    int64_t channels = 1;
    for (int i = 0; each && i < box.count; ++i) {
        Loop *k = box.loops + i;
        if (below(2)) continue;
        k->p = (each == 1 || below(2)) && channels == 1 ? 1 : below(5) - 2;
        if (k->p < 0) box.param -= (k->n - 1) * k->p;
        channels += (k->n - 1) * magnitude(k->p);
    }
    const int64_t ahead = below(3);
    box.param += ahead, channels += ahead;
    a.channels = channels;
    float *f[6];
    int32_t *after = malloc((size_t)channels * 4);
    uint16_t *factor = malloc((size_t)channels * 2);
    int16_t *summand = malloc((size_t)channels * 2);
    for (int i = 0; i < 6; ++i) f[i] = malloc((size_t)channels * 4);
    const int kinds[3] = {(int)below(4), (int)below(4), (int)below(4)}, floating = (int)below(2);
    const int64_t own = 1 + below(20); /* values that are read from the input */
    for (int64_t c = 0; c < channels; ++c) {
        const int64_t same = c % own;
        if (c >= own) {
            for (int i = 0; i < 6; ++i) f[i][c] = f[i][same];
            after[c] = after[same], factor[c] = factor[same], summand[c] = summand[same];
            continue;
        }
        f[0][c] = a.steps ? parameter(kinds[0]) : 0, f[1][c] = a.steps ? parameter(kinds[1]) : 1;
        f[2][c] = a.divides ? parameter(kinds[2]) : 1;
        const double *limit = limits[a.to < F16 ? a.to : I8];
        const int32_t zero = (int32_t)(int16_t)take(2), most = a.to <= U8 ? 255 : 32767;
        after[c] = floating || a.to >= F16 ? 0 : a.to == I32 ? zero * 1000 : below(8) ? zero % (most + 1) : zero * 100;
        f[3][c] = floating && a.to < F16 ? (float)zero / 16 : 0;
        f[4][c] = a.to < F16 ? (float)(limit[0] - after[c]) : 0, f[5][c] = a.to < F16 ? (float)(limit[1] - after[c]) : 0;
        if (a.one_step) f[0][c] = 0, f[1][c] = ldexpf((float)(int16_t)take(2), -14), f[2][c] = 1, f[3][c] = (float)(int16_t)take(2) / 64, after[c] = 0;
        factor[c] = a.bits ? (uint16_t)take(2) : 0, summand[c] = a.bits ? (int16_t)take(2) : 0;
    }
    a.shift = f[0], a.scale = f[1], a.divisor = f[2], a.before = f[3], a.low = f[4], a.high = f[5], a.after = after;
    a.factor = factor, a.summand = summand;
    Product *products = malloc((size_t)channels * sizeof *products);
    a.products = products_of(&a, products) ? products : NULL;
    Box fill_box;
    const int64_t pad = below(2) ? gap_behind(&box, from, to, &fill_box) : 0;
    reach[1] += pad;
    Job job = {.size = to, .pad = pad};
    Program p = {.converts = 1, .arithmetic = a, .src_bytes = reach[0], .dst_bytes = reach[1], .touched = a.past ? INT64_MAX : 0, .jobs = 1, .job = &job};
    job_convert(&job, &box, &a);
    const Buffer src = buffer(reach[0], whole_shift ? shift_src / from * from : shift_src);
    fill(src, a.from);
    for (int i = 0; i < level_count(); ++i) {
        if (!(p.level = level_at(i))) continue;
        const Buffer dst = buffer(reach[1], whole_shift ? shift_dst / to * to : shift_dst);
        run_program(&p, src.at, dst.at, parts);
        Pass w = {.a = &a, .src = src.at, .got = dst.at, .size = to, .level = p.level};
        if (planned) walk_box(&box, 0, box.src, box.dst, box.param, expect_converted, &w), rest_untouched(&box, pad ? &fill_box : NULL, &w, reach[1]);
        for (uint8_t *k = dst.room; k < dst.at; ++k)
            if (*k != 0xAB) wrong("conversion", p.level, "before the buffer", a.from, a.to, dst.at - k);
        free(dst.room);
    }
    for (int i = 0; i < 6; ++i) free(f[i]);
    free(after), free(factor), free(summand), free(products), free(src.room);
    ++work;
}

#endif
