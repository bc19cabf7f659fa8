/* Inputs of a fuzzer as moves, conversions, gray, argmax, top_k, softmax, sigmoid, peaks, tops and rows of pictures, at every level of this machine,
 * against plain loops. Every buffer is allocated to the byte, so that AddressSanitizer sees what leaves it. With libFuzzer
 * (scripts/fuzz core), or with -DREPLAY a program that runs the files it is given. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "convert.h"
#include "divide.h"
#include "gray.h"
#include "pads.h"
#include "peaks.h"
#include "program.h"
#include "reduce.h"

enum { MOST = 1 << 17, ELEMENTS = 20000 }; /* bytes of a buffer, elements of a walk */

static const uint8_t *input;
static size_t left;
static long work; /* cases that were compared */

static uint64_t take(int bytes) {
    uint64_t x = 0;
    for (int i = 0; i < bytes && left; ++i, --left) x |= (uint64_t)*input++ << 8 * i;
    return x;
}
static int64_t below(int64_t n) { return (int64_t)(take(n > 256 ? 2 : 1) % (uint64_t)n); }

static _Noreturn void wrong(const char *what, const Level *level, const char *how, int64_t a, int64_t b, int64_t c) {
    fprintf(stderr, "WRONG: %s, level %s, %s %lld %lld %lld\n", what, level ? level->name : "none", how, (long long)a, (long long)b, (long long)c);
    abort();
}

/* Exactly so many bytes; some are left before those, so that elements need not be aligned. */
typedef struct {
    uint8_t *room, *at;
    int64_t bytes;
} Buffer;
static Buffer buffer(int64_t bytes, int shift) {
    Buffer b = {malloc((size_t)(bytes + shift)), NULL, bytes};
    if (!b.room) abort();
    memset(b.room, 0xAB, (size_t)(bytes + shift));
    b.at = b.room + shift;
    return b;
}

static uint64_t state;
static uint64_t next(void) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
}
/* Any bits; few values, so that there are ties; numbers as tensors have them; the input's own. */
static void fill(Buffer b, Dtype type) {
    const int kind = (int)below(5);
    state = 88172645463325252u ^ take(1) << 20;
    for (int64_t i = 0; i < b.bytes; ++i) b.at[i] = (uint8_t)(kind == 1 ? next() % 3 : kind == 3 && left ? take(1) : next());
    if (kind < 2 || kind == 3) return;
    for (int64_t i = 0; i + dtype_size[type] <= b.bytes; i += dtype_size[type]) {
        const float x = (float)(int64_t)(next() % (kind == 2 ? 2001 : 7)) / 8 - (kind == 2 ? 125.0f : 0);
        uint32_t bits;
        memcpy(&bits, &x, 4);
        if (type == F32) memcpy(b.at + i, &x, 4);
        if (type == BF16) b.at[i] = (uint8_t)(bits >> 16), b.at[i + 1] = (uint8_t)(bits >> 24);
        if (type == F16) { /* of bits that are a small normal number or 0 */
            const uint16_t h = x == 0 ? 0 : (uint16_t)((bits >> 16 & 0x8000) | ((bits >> 13 & 0x3FFFF) - (112 << 10)));
            memcpy(b.at + i, &h, 2);
        }
        const int32_t w = (int32_t)x;
        if (type < F16) memcpy(b.at + i, &w, (size_t)dtype_size[type]);
    }
}

static int64_t extent(int64_t most) {
    static const int edges[] = {1023, 1024, 1025, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 513, 768, 2047, 4096, 2, 3, 4, 8};
    const int64_t b = (int64_t)take(1);
    const int64_t n = b < 128 ? 1 + b % 20 : b < 160 ? edges[b % (int)(sizeof edges / sizeof *edges)] : b < 250 ? 1 + b : 1 + below(20000);
    return n < most ? n : most;
}

static float half(uint16_t u) {
    const int exponent = u >> 10 & 31, fraction = u & 1023;
    const float x = exponent == 31 ? fraction ? NAN : INFINITY : exponent ? ldexpf((float)(fraction + 1024), exponent - 25) : ldexpf((float)fraction, -24);
    return u >> 15 ? -x : x;
}

static float value(Dtype type, const uint8_t *p) {
    int8_t b;
    int16_t h = 0;
    uint16_t u = 0;
    int32_t w = 0;
    float f = 0;
    memcpy(&b, p, 1);
    if (dtype_size[type] == 2) memcpy(&h, p, 2), memcpy(&u, p, 2);
    if (dtype_size[type] == 4) memcpy(&w, p, 4), memcpy(&f, p, 4);
    switch (type) {
        case I8: return b;
        case U8: return *p;
        case I16: return h;
        case U16: return u;
        case I32: return (float)w;
        case F16: return half(u);
        case BF16: w = (int32_t)((uint32_t)u << 16), memcpy(&f, &w, 4); return f;
        default: return f;
    }
}

/* To 11 bits, or fewer where it is small. */
static double rounded_half(float x) {
    if (x != x || x == 0 || isinf(x)) return x;
    int e;
    (void)frexp(x, &e);
    const int unit = e - 11 > -24 ? e - 11 : -24;
    const double q = ldexp(rint(ldexp(x, -unit)), unit);
    return fabs(q) >= 65520 ? copysign(INFINITY, x) : q;
}

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
    convert_plan(&job.convert, &box, &a, pad);
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

typedef struct {
    int type;
    const uint8_t *planes[3], *got;
    const Level *level;
} GrayPass;

static void expect_gray(void *context, int64_t s, int64_t d, int64_t p) {
    const GrayPass *w = context;
    const Dtype types[] = {U8, U16, F32};
    const Dtype type = types[w->type];
    float x[3];
    (void)p;
    for (int i = 0; i < 3; ++i) x[i] = value(type, w->planes[i] + s);
    const float got = value(type, w->got + d);
    if (type != F32) {
        const uint32_t y = (3735u * (uint32_t)x[0] + 19235u * (uint32_t)x[1] + 9798u * (uint32_t)x[2] + (1u << 14)) >> 15;
        if (got != (float)y) wrong("gray", w->level, "type, got, expected", w->type, (int64_t)got, y);
        return;
    }
    volatile float b = x[0] * 0.114f, g = x[1] * 0.587f, r = x[2] * 0.299f, y = b + g;
    y = y + r;
    if (!(got == y || (got != got && y != y))) wrong("gray", w->level, "float", s, d, 0);
}

static void one_gray(void) {
    const int type = (int)below(3), size = 1 << type;
    const int64_t apart[] = {size, 2 * size, -size, below(600), -below(600)}, parts = below(4) ? 1 : 1 + below(9);
    const int pixels = (int)below(2), shift = (int)below(5);
    Box box;
    int64_t reach[2];
    if (!random_box(&box, size, size, 1, reach, 0)) return;
    int inner = -1;
    for (int i = 0; i < box.count; ++i)
        if (box.loops[i].d == size) inner = i;
    if (inner < 0) {
        if (box.count == MAX_LOOPS) return;
        box.loops[inner = box.count++] = (Loop){1, size, size, 0};
    }
    const Loop row = box.loops[inner];
    memmove(box.loops + inner, box.loops + inner + 1, (size_t)(box.count - 1 - inner) * sizeof row);
    box.loops[box.count - 1] = row;
    int64_t starts[3] = {0, apart[below(5)], 0}, least = 0, most = 0;
    starts[2] = pixels ? 2 * starts[1] : starts[1] + apart[below(5)];
    if (pixels) /* planes of pixels: every step of the source by 3 or 4 elements */
        for (int i = 0, by = 3 + (int)below(2); i < box.count; ++i) box.loops[i].s *= by;
    box.src = 0, reach[0] = size;
    for (int i = 0; i < box.count; ++i) {
        const Loop *k = box.loops + i;
        if (k->s < 0) box.src -= (k->n - 1) * k->s;
        reach[0] += (k->n - 1) * magnitude(k->s);
    }
    for (int i = 0; i < 3; ++i) least = starts[i] < least ? starts[i] : least, most = starts[i] > most ? starts[i] : most;
    if (reach[0] + most - least > 2 * MOST) return;
    const Buffer src = buffer(reach[0] + most - least, shift);
    const Dtype types[] = {U8, U16, F32};
    fill(src, types[type]);
    GrayPass w = {.type = type};
    for (int i = 0; i < 3; ++i) w.planes[i] = src.at + starts[i] - least;
    for (int i = 0; i < level_count(); ++i) {
        if (!(w.level = level_at(i))) continue;
        const Buffer dst = buffer(reach[1], shift);
        for (int64_t part = 0; part < parts; ++part)
            gray_run(w.level, &(Graying){box, type, part & 1, part & 1}, w.planes[0], w.planes[1], w.planes[2], dst.at, part, parts);
        w.got = dst.at;
        walk_box(&box, 0, box.src, box.dst, 0, expect_gray, &w);
        Pass rest = {.got = dst.at, .size = size, .level = w.level};
        rest_untouched(&box, NULL, &rest, reach[1]);
        free(dst.room);
    }
    free(src.room);
    ++work;
}

/* A channel axis of so many channels in one to four digits, and axes of positions, in a random order of memory. */
typedef struct {
    Loop positions[4];
    Digits digits;
    int64_t bytes, start;
} Side;

static int side(Side *s, int count, const Loop *positions, const int64_t *digits, int digit_count, int64_t size, int any) {
    Loop *all[8];
    int number = 0;
    int64_t pitch = size;
    memcpy(s->positions, positions, sizeof s->positions);
    s->digits.count = digit_count;
    for (int i = 0; i < count; ++i) all[number++] = s->positions + i;
    for (int i = 0; i < digit_count; ++i) {
        s->digits.loops[i] = (Loop){digits[i], 0, 0, 0};
        all[number++] = s->digits.loops + i;
    }
    for (int i = number - 1; i > 0; --i) {
        const int j = (int)below(i + 1);
        Loop *k = all[i];
        all[i] = all[j], all[j] = k;
    }
    s->bytes = size, s->start = 0;
    for (int i = 0; i < number; ++i) {
        const int gap = below(4) == 0, back = below(6) == 0;
        pitch += gap * size * below(4);
        all[i]->s = any && !below(3) ? (int64_t)(int16_t)take(2) % 300 : back ? -pitch : pitch;
        pitch *= all[i]->n;
        s->bytes += (all[i]->n - 1) * magnitude(all[i]->s);
        if (all[i]->s < 0) s->start -= (all[i]->n - 1) * all[i]->s;
    }
    return s->bytes <= MOST;
}

static int64_t channel(const Digits *digits, int64_t c) {
    int64_t at = 0;
    for (int i = digits->count - 1; i >= 0; --i) {
        at += (i ? c % digits->loops[i].n : c) * digits->loops[i].s;
        c /= digits->loops[i].n;
    }
    return at;
}

static int64_t split(int64_t *digits, int *count, int64_t channels, int few) { /* the room of the digits */
    int64_t room = 1, rest = channels;
    *count = few ? 1 : 1 + (int)below(MAX_DIGITS);
    for (int i = *count - 1; i > 0; --i) {
        digits[i] = 1 + below(17);
        room *= digits[i];
        rest = (rest + digits[i] - 1) / digits[i];
    }
    digits[0] = rest + (below(5) == 0);
    return room * digits[0];
}

static const uint8_t *place(const uint8_t *base, const Side *s, int count, int64_t position, int64_t c) {
    base += s->start + channel(&s->digits, c);
    for (int i = count - 1; i >= 0; --i) base += position % s->positions[i].n * s->positions[i].s, position /= s->positions[i].n;
    return base;
}

/* As argmax has it. */
static int better(Dtype type, const uint8_t *p, const uint8_t *q) {
    int32_t a, b;
    const float x = value(type, p), y = value(type, q);
    if (type == I32) return memcpy(&a, p, 4), memcpy(&b, q, 4), a > b;
    return !(x <= y) && y == y;
}

enum { ARGMAX, SOFTMAX, SIGMOID };
static const char *const names[] = {"argmax", "softmax", "sigmoid"};

static void one_reduction(int soft) {
    Reduction r = {.type = (Dtype)below(DTYPES), .scale = 1};
    const int64_t parts = below(4) ? 1 : 1 + below(9);
    const int count = (int)below(4), size = dtype_size[r.type], shift = (int)below(9);
    const int64_t item = soft ? 4 : 8;
    int64_t total = 1, digits[2][MAX_DIGITS];
    int digit_count[2] = {1, 0};
    Loop positions[4] = {{0}};
    for (int i = 0; i < count; ++i) {
        positions[i].n = extent(8192 / total);
        total *= positions[i].n;
    }
    r.channels = soft == SIGMOID ? 1 : extent(ELEMENTS / 2 / total + 1);
    r.past = !below(6);
    if (r.type != F32 && soft) r.shift = (float)(below(200) - 100), r.scale = (float)(1 + below(255)) / 1024;
    Side from, to = {.start = 0};
    split(digits[0], digit_count, r.channels, (int)below(2));
    if (soft) split(digits[1], digit_count + 1, r.channels, (int)below(2));
    if (!side(&from, count, positions, digits[0], digit_count[0], size, 1)) return;
    if (!side(&to, count, positions, digits[1], digit_count[1], item, 0)) return;
    r.positions.count = count;
    for (int i = 0; i < count; ++i) r.positions.loops[i] = (Loop){positions[i].n, from.positions[i].s, to.positions[i].s, 0};
    r.from = from.digits, r.to = to.digits;
    reduction_plan(&r);
    const Buffer src = buffer(from.bytes, shift), first = buffer(to.bytes, shift);
    fill(src, r.type);
    for (int i = 0; i < level_count(); ++i) {
        const Level *level = level_at(i);
        if (!level) continue;
        const Buffer dst = i ? buffer(to.bytes, shift) : first;
        for (int64_t part = 0; part < parts; ++part)
            (soft == SIGMOID ? sigmoid_run : soft ? softmax_run : argmax_run)(level, &r, src.at + from.start, dst.at + to.start, part, parts);
        if (i && soft) {
            for (int64_t k = 0; k < total; ++k)
                for (int64_t c = 0; c < r.channels; ++c) {
                    const uint8_t *p = place(dst.at, &to, count, k, c);
                    const float x = value(F32, p), y = value(F32, first.at + (p - dst.at));
                    if (!(x == y || (x != x && y != y))) wrong("another level's bits", level, "type, channels, c", r.type, r.channels, c);
                }
        }
        uint8_t *seen = calloc((size_t)to.bytes, 1);
        for (int64_t k = 0; k < total; ++k)
            for (int64_t c = 0; c < (soft ? r.channels : 1); ++c) memset(seen + (place(dst.at, &to, count, k, soft ? c : 0) - dst.at), 1, (size_t)item);
        for (int64_t k = 0; k < to.bytes; ++k)
            if (!seen[k] && dst.at[k] != 0xAB) wrong(names[soft], level, "a byte between elements", k, to.bytes, r.type);
        free(seen);
        for (int64_t k = 0; !soft && k < total; ++k) {
            int64_t best = 0, got;
            memcpy(&got, place(dst.at, &to, count, k, 0), 8);
            for (int64_t c = 1; c < r.channels; ++c) {
                if (better(r.type, place(src.at, &from, count, k, c), place(src.at, &from, count, k, best))) best = c;
            }
            if (got != best) wrong("argmax", level, "type, got, expected", r.type, got, best);
        }
        for (int64_t k = 0; soft == SOFTMAX && !i && k < total; ++k) {
            double most = -INFINITY, sum = 0;
            int odd = 0;
            for (int64_t c = 0; c < r.channels; ++c) {
                volatile float v = value(r.type, place(src.at, &from, count, k, c));
                if (r.type != F32) v = v - r.shift, v = v * r.scale;
                odd |= v != v;
                most = fmax(most, v);
            }
            odd |= isinf(most);
            for (int pass = 0; pass < 2; ++pass)
                for (int64_t c = 0; c < r.channels; ++c) {
                    volatile float v = value(r.type, place(src.at, &from, count, k, c));
                    if (r.type != F32) v = v - r.shift, v = v * r.scale;
                    const double e = v - most < -87.31 ? 0 : exp(v - most);
                    if (!pass) sum += e;
                    const float got = value(F32, place(dst.at, &to, count, k, c));
                    if (pass && odd && got == got) wrong("softmax of NaN", level, "type, channel, position", r.type, c, k);
                    /* 16 units in the last place, as its rule says */
                    if (pass && !odd && !(fabs(got - e / sum) <= 1e-6 * e / sum + 2e-38) && fabs(v - most + 87.3) > 0.02) wrong("softmax", level, "type, channel, position", r.type, c, k);
                }
        }
        for (int64_t k = 0; soft == SIGMOID && !i && k < total; ++k) {
            volatile float v = value(r.type, place(src.at, &from, count, k, 0));
            if (r.type != F32) v = v - r.shift, v = v * r.scale;
            const double e = exp(-fabs(v)), exact = (v < 0 ? e : 1) / (1 + e), got = value(F32, place(dst.at, &to, count, k, 0));
            if (v == v ? !(fabs(got - exact) <= 5e-7 * exact + 1.2e-38) : got == got) wrong("sigmoid", level, "type, place, of", r.type, k, total);
        }
        if (i) free(dst.room);
    }
    free(src.room), free(first.room);
    ++work;
}

static void one_top_k(void) {
    Reduction r = {.type = (Dtype)below(DTYPES)};
    const int64_t parts = below(4) ? 1 : 1 + below(9);
    const int count = (int)below(4), size = dtype_size[r.type], shift = (int)below(9);
    int64_t total = 1, digits[MAX_DIGITS];
    int digit_count = 1;
    Loop positions[4] = {{0}};
    for (int i = 0; i < count; ++i) {
        positions[i].n = extent(2048 / total);
        total *= positions[i].n;
    }
    r.channels = extent(ELEMENTS / 2 / total + 1);
    r.k = 1 + below(at_most(r.channels, below(2) ? 9 : at_most(TOP_K, 1 + 4096 / total)));
    Side from, numbers, values;
    split(digits, &digit_count, r.channels, (int)below(2));
    if (!side(&from, count, positions, digits, digit_count, size, 1)) return;
    if (!side(&numbers, count, positions, &r.k, 1, 8, 0) || !side(&values, count, positions, &r.k, 1, size, 0)) return;
    r.positions.count = count;
    for (int i = 0; i < count; ++i)
        r.positions.loops[i] = (Loop){positions[i].n, from.positions[i].s, numbers.positions[i].s, values.positions[i].s};
    r.from = from.digits, r.number_step = numbers.digits.loops[0].s, r.value_step = values.digits.loops[0].s;
    reduction_plan(&r);
    const Buffer src = buffer(from.bytes, shift);
    fill(src, r.type);
    uint8_t *taken = malloc((size_t)r.channels);
    for (int i = 0; i < level_count(); ++i) {
        const Level *level = level_at(i);
        if (!level) continue;
        const Buffer out[2] = {buffer(numbers.bytes, shift), buffer(values.bytes, shift)};
        const Side *sides[2] = {&numbers, &values};
        for (int64_t part = 0; part < parts; ++part)
            top_k_run(level, &r, src.at + from.start, out[0].at + numbers.start, out[1].at + values.start, part, parts);
        for (int64_t at = 0; at < total; ++at) {
            memset(taken, 0, (size_t)r.channels);
            for (int64_t j = 0; j < r.k; ++j) {
                int64_t best = -1, got;
                for (int64_t c = 0; c < r.channels; ++c)
                    if (!taken[c] && (best < 0 || better(r.type, place(src.at, &from, count, at, c), place(src.at, &from, count, at, best))))
                        best = c;
                taken[best] = 1;
                memcpy(&got, place(out[0].at, &numbers, count, at, j), 8);
                if (got != best) wrong("top_k", level, "type, got, expected", r.type, got, best);
                if (memcmp(place(out[1].at, &values, count, at, j), place(src.at, &from, count, at, best), (size_t)size))
                    wrong("top_k's value", level, "type, place, channel", r.type, j, best);
            }
        }
        for (int o = 0; o < 2; ++o) {
            uint8_t *seen = calloc((size_t)sides[o]->bytes, 1);
            for (int64_t at = 0; at < total; ++at)
                for (int64_t j = 0; j < r.k; ++j)
                    memset(seen + (place(out[o].at, sides[o], count, at, j) - out[o].at), 1, (size_t)(o ? size : 8));
            for (int64_t at = 0; at < sides[o]->bytes; ++at)
                if (!seen[at] && out[o].at[at] != 0xAB) wrong("top_k", level, "a byte between elements", at, sides[o]->bytes, r.type);
            free(seen), free(out[o].room);
        }
    }
    free(taken), free(src.room);
    ++work;
}

static int above(Dtype type, const uint8_t *p, const uint8_t *q, int equal) {
    int32_t a, b;
    if (type == I32) return memcpy(&a, p, 4), memcpy(&b, q, 4), equal ? a >= b : a > b;
    return equal ? value(type, p) >= value(type, q) : value(type, p) > value(type, q);
}

static void one_peaks(void) {
    const Dtype type = (Dtype)below(DTYPES);
    const int size = dtype_size[type], shift = (int)below(9);
    Heatmaps maps = {.type = type, .radius = 1 + (below(3) ? 0 : below(5)), .y_bits = 16, .x_bits = 16};
    const int64_t n = 1 + below(3), c = extent(64), h = extent(8192 / (n * c)), w = extent(8192 / (n * c * h) + 1);
    const Loop axes[4] = {{n, 0, 0, 0}, {c, 0, 0, 0}, {h, 0, 0, 0}, {w, 0, 0, 0}};
    int64_t digits[1] = {1};
    Side s;
    maps.least = below(3) ? below(200) - 60 : (int64_t)(int32_t)take(4);
    if (type < F16 && size < 4) { /* as the binding has it: a value of the type */
        static const int64_t limits[4][2] = {{-128, 127}, {0, 255}, {-32768, 32767}, {0, 65535}};
        maps.least = maps.least < limits[type][0] ? limits[type][0] : maps.least > limits[type][1] ? limits[type][1] : maps.least;
    }
    maps.threshold = below(3) ? (float)(below(400) - 160) / 4 : -INFINITY;
    if (!side(&s, 4, axes, digits, 1, size, 1)) return;
    maps.height = h, maps.y = s.positions[2].s, maps.width = w, maps.x = s.positions[3].s;
    maps.planes.count = 2;
    maps.planes.loops[0] = (Loop){n, s.positions[0].s, 0, c};
    maps.planes.loops[1] = (Loop){c, s.positions[1].s, 0, 1};
    const int64_t room = below(4) ? n * c * h * w : below(100);
    const Buffer src = buffer(s.bytes, shift);
    fill(src, type);
    uint8_t *good = malloc((size_t)(n * c * h * w));
    int64_t number = 0;
    for (int64_t k = 0; k < n * c * h * w; ++k) {
        const int64_t x = k % w, y = k / w % h, plane = k / w / h;
        const uint8_t *p = place(src.at, &s, 4, k, 0);
        int32_t whole;
        memcpy(&whole, type == I32 ? p : (const uint8_t *)&number, 4);
        good[k] = type == I32 ? whole >= maps.least : type < F16 ? value(type, p) >= (float)maps.least : value(type, p) > maps.threshold;
        for (int64_t j = y - maps.radius; good[k] && j <= y + maps.radius; ++j)
            for (int64_t i = x - maps.radius; good[k] && i <= x + maps.radius; ++i) {
                if (j < 0 || i < 0 || j >= h || i >= w || (i == x && j == y)) continue;
                good[k] = (uint8_t)above(type, p, place(src.at, &s, 4, (plane * h + j) * w + i, 0), !(j < y || (j == y && i < x)));
            }
        number += good[k];
    }
    for (int i = 0; i < level_count(); ++i) {
        const Level *level = level_at(i);
        if (!level) continue;
        int64_t *codes = malloc((size_t)room * 8 + !room), *other = malloc((size_t)room * 8 + !room);
        Peaks peaks = {0, room, 0, codes, 0};
        peaks_find(level, &maps, src.at + s.start, &peaks);
        if (peaks.count != number) wrong("peaks", level, "type, got, expected", type, peaks.count, number);
        if (number <= room) {
            const int64_t *sorted = peaks.unsorted && peaks_sort(&peaks, other) ? other : codes, *at = sorted;
            for (int64_t k = 0; k < n * c * h * w; ++k)
                if (good[k] && *at++ != ((k / w / h << 16 | k / w % h) << 16 | k % w)) wrong("peaks", level, "type, place, of", type, k, number);
            for (int64_t k = 0; k < number; ++k) {
                const int64_t extents[4] = {n, c, h, w}, steps[4] = {s.positions[0].s, s.positions[1].s, maps.y, maps.x};
                const int64_t code = sorted[k], plane = code >> 32, index[4] = {plane / c, plane % c, code >> 16 & 65535, code & 65535};
                for (int refinement = 0; refinement < REFINEMENTS; ++refinement) {
                    double top[5];
                    peak_top(type, src.at + s.start, extents, steps, index, (Refinement)refinement, top);
                    if (top[0] != (double)index[0] || top[1] != (double)index[1]) wrong("top", level, "plane", plane, k, refinement);
                }
            }
        }
        free(codes), free(other);
    }
    free(good), free(src.room);
    ++work;
}

#include "fuzz_rows.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    input = data, left = size;
    const int kind = (int)take(1);
    switch (kind < 252 ? kind % 9 : 9) { /* findings of before know of nine */
        case 0: one_move(1); break;
        case 1: one_conversion(1); break;
        case 2: one_gray(); break;
        case 3: one_reduction(ARGMAX); break;
        case 4: one_reduction(SOFTMAX); break;
        case 5: one_peaks(); break;
        case 6: one_fill(); break;
        case 7: one_move(0); break;
        case 9: kind < 254 ? one_reduction(SIGMOID) : kind == 254 ? one_rows() : one_top_k(); break;
        default: one_conversion(0); break;
    }
    return 0;
}

#ifdef REPLAY
int main(int count, char **files) {
    for (int i = 1; i < count; ++i) {
        static uint8_t content[1 << 16];
        FILE *file = fopen(files[i], "rb");
        if (!file) return perror(files[i]), 2;
        const size_t size = fread(content, 1, sizeof content, file);
        fclose(file);
        uint8_t *exact = malloc(size + !size);
        memcpy(exact, content, size);
        LLVMFuzzerTestOneInput(exact, size);
        free(exact);
    }
    printf("%d inputs, %ld cases at %d level(s): as plain loops have them\n", count - 1, work, level_count());
    return 0;
}
#endif
