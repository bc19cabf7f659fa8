/* Random moves, conversions and reductions at every level of this machine against a walk element by element; for machines
 * that the Python suite does not run on. Build it with
 * every .c of csrc and csrc/simd; the argument is how many cases. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "convert.h"
#include "divide.h"
#include "gray.h"
#include "pads.h"
#include "peaks.h"
#include "reduce.h"
#include "values.h"

static uint64_t state = 88172645463325252u;
static int64_t below(int64_t n) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (int64_t)(state % (uint64_t)n);
}

enum { ROOM = 1 << 22 };
static uint8_t src[ROOM], got[ROOM], expected[ROOM];

/* Loops in some order of memory on either side, without two indices that meet. */
static void random_box(Box *box, int64_t from, int64_t to) {
    const int64_t most[] = {3, 9, 40, 300};
    box->count = (int)below(4) + 1;
    box->src = box->dst = box->param = 0;
    int order[MAX_LOOPS];
    for (int i = 0; i < box->count; ++i) order[i] = i, box->loops[i] = (Loop){1 + below(most[below(box->count > 3 ? 2 : box->count > 2 ? 3 : 4)]), 0, 0, 0};
    for (int side = 0; side < 2; ++side) {
        int64_t pitch = side ? to : from;
        for (int i = box->count - 1; i > 0; --i) {
            const int j = (int)below(i + 1), k = order[i];
            order[i] = order[j], order[j] = k;
        }
        for (int i = 0; i < box->count; ++i) {
            Loop *k = box->loops + order[i];
            if (!below(4)) pitch += (side ? to : from) * below(3);
            *(side ? &k->d : &k->s) = pitch;
            pitch *= k->n;
        }
    }
    for (int i = 0; i < box->count; ++i) /* sorted by destination, as the planner expects */
        for (int j = i + 1; j < box->count; ++j)
            if (box->loops[j].d > box->loops[i].d) {
                const Loop k = box->loops[i];
                box->loops[i] = box->loops[j], box->loops[j] = k;
            }
    for (int i = 0; i < box->count; ++i)
        if (box->loops[i].n == 1) memmove(box->loops + i, box->loops + i + 1, (size_t)(--box->count - i) * sizeof(Loop)), --i;
    for (int i = 0; i < box->count; ++i)
        if (!below(3)) box->src += (box->loops[i].n - 1) * box->loops[i].s, box->loops[i].s = -box->loops[i].s;
}

static int64_t reach(const Box *box, int side, int64_t item) {
    int64_t end = item;
    for (int i = 0; i < box->count; ++i) end += (box->loops[i].n - 1) * llabs(side ? box->loops[i].d : box->loops[i].s);
    return end;
}

/* Rounded to so many bits behind the first, half to even; below 2**least to that many behind the point there. */
static double rounded(float x, int bits, int least) {
    if (x == 0 || isinf(x) || x != x) return x;
    const int e = ilogbf(x) < least ? least : ilogbf(x);
    return ldexp(nearbyint(ldexp(x, bits - e)), e - bits);
}
static uint16_t narrow(Dtype type, float x) {
    if (type == BF16) {
        const float near = (float)rounded(x, 7, -126);
        uint32_t u;
        memcpy(&u, &near, 4);
        return (uint16_t)(u >> 16);
    }
    const double near = fabs(rounded(x, 10, -14));
    const int sign = signbit(x) ? 0x8000 : 0;
    if (near != near) return 0x7E00;
    if (near >= 65536) return (uint16_t)(sign | 0x7C00);
    const int e = near < 0x1p-14 ? -14 : ilogb(near);
    const int units = (int)ldexp(near, 10 - e); /* with the first bit, but for subnormal numbers */
    return (uint16_t)(sign | (((e + 14) << 10) + units));
}

static void walk(const Box *box, int depth, int64_t s, int64_t d, int64_t size, const Arithmetic *a) {
    if (depth < box->count) {
        for (int64_t i = 0; i < box->loops[depth].n; ++i)
            walk(box, depth + 1, s + i * box->loops[depth].s, d + i * box->loops[depth].d, size, a);
        return;
    }
    if (!a) {
        memcpy(expected + d, src + s, (size_t)size);
        return;
    }
    if (a->bits) {
        const int32_t u = src[s] ^ (a->from == I8 ? 0x80 : 0);
        int32_t v = (u * *a->factor >> 8) - 32768 + *a->summand;
        v = (v < -32768 ? -32768 : v > 32767 ? 32767 : v) >> a->bits;
        expected[d] = (uint8_t)((v < -128 ? -128 : v > 127 ? 127 : v) + (a->to == U8 ? 128 : 0));
        return;
    }
    volatile float y = value(a->from, src + s) - *a->shift; /* volatile: one operation after the other */
    y = y * *a->scale;
    if (a->divides) y = y / *a->divisor;
    if (a->to == F32) {
        const float f = y;
        memcpy(expected + d, &f, 4);
        return;
    }
    if (a->to == F16 || a->to == BF16) {
        const uint16_t near = narrow(a->to, y);
        memcpy(expected + d, &near, 2);
        return;
    }
    float q = y + *a->before;
    q = q > *a->low ? q : *a->low;
    q = q < *a->high ? q : *a->high;
    const int32_t whole = (int32_t)rintf(q) + *a->after;
    memcpy(expected + d, &whole, (size_t)dtype_size[a->to]);
}

static void zeros(const Box *box, int depth, int64_t d, int64_t size) {
    if (depth == box->count) {
        memset(expected + d, 0, (size_t)size);
        return;
    }
    for (int64_t i = 0; i < box->loops[depth].n; ++i) zeros(box, depth + 1, d + i * box->loops[depth].d, size);
}

static const uint8_t *element(int64_t n, int64_t h, int64_t c, const Loop loops[3], int side) {
    return (side ? got : src) + n * loops[0].s + h * loops[1].s + c * loops[2].s;
}

/* What softmax takes: float32 as it is, everything else by its scale. */
static double real(Dtype type, const uint8_t *p) { return type == F32 ? value(type, p) : value(type, p) * (1.0f / 64); }

/* Whether a is above b, as argmax has it. */
static int above(Dtype type, const uint8_t *a, const uint8_t *b) {
    const float x = value(type, a), y = value(type, b);
    int32_t i, j;
    if (type != I32) return !(x <= y) && y == y;
    memcpy(&i, a, 4), memcpy(&j, b, 4);
    return i > j;
}

/* top_k of N x C x H, into neighbours. */
static int top_k_case(const Level *level, const int64_t extents[3], Dtype type, const Loop from[3]) {
    static uint8_t values[ROOM];
    const int64_t k = 1 + below(at_most(extents[2], below(2) ? 6 : 30)), size = dtype_size[type];
    if (extents[0] * extents[1] * k * 8 > ROOM) return 1;
    Reduction r = {.type = type, .channels = extents[2], .k = k, .number_step = 8, .value_step = size};
    r.positions.count = 2;
    for (int i = 0; i < 2; ++i) {
        const int64_t step = k * (i ? 1 : extents[1]);
        r.positions.loops[i] = (Loop){extents[i], from[i].s, 8 * step, size * step};
    }
    r.from = (Digits){1, {from[2]}};
    reduction_plan(&r);
    top_k_run(level, &r, src, got, values, 0, 1);
    for (int64_t n = 0; n < extents[0]; ++n)
        for (int64_t h = 0; h < extents[1]; ++h) {
            uint8_t taken[512] = {0};
            for (int64_t j = 0; j < k; ++j) {
                int64_t best = -1, is;
                for (int64_t c = 0; c < extents[2]; ++c)
                    if (!taken[c] && (best < 0 || above(type, element(n, h, c, from, 0), element(n, h, best, from, 0)))) best = c;
                taken[best] = 1;
                const int64_t at = (n * extents[1] + h) * k + j;
                memcpy(&is, got + 8 * at, 8);
                if (is != best || memcmp(values + size * at, element(n, h, best, from, 0), (size_t)size))
                    return printf("top_k: %s, type %d: %lld, expected %lld\n", level->name, (int)type, (long long)is, (long long)best), 0;
            }
        }
    return 1;
}

/* argmax, top_k, softmax, sigmoid and peaks of N x C x H in a random order of memory; 0 where one is wrong. */
static int reduce_case(const Level *level, const Level *first) {
    const int64_t extents[3] = {1 + below(3), 1 + below(below(4) ? 90 : 300), 1 + below(below(2) ? 12 : 140)}; /* N, H, C */
    const Dtype types[] = {I8, U8, I16, U16, I32, BF16, F32};
    const Dtype type = types[below(7)];
    int order[3] = {0, 1, 2};
    for (int i = 2; i > 0; --i) {
        const int j = (int)below(i + 1), k = order[i];
        order[i] = order[j], order[j] = k;
    }
    Loop from[3], to[3];
    int64_t pitch = 1;
    for (int i = 0; i < 3; ++i) {
        const int axis = order[i];
        from[axis] = (Loop){extents[axis], pitch * dtype_size[type], 0, 0};
        to[axis] = (Loop){extents[axis], pitch * 4, 0, 0};
        pitch *= extents[axis] + below(2);
    }
    if (pitch * 4 > ROOM) return 1;
    Reduction r = {.type = type, .channels = extents[2], .scale = 1.0f / 64};
    r.positions.count = 2;
    for (int i = 0; i < 2; ++i) r.positions.loops[i] = (Loop){extents[i], from[i].s, i ? 8 : 8 * extents[1], 0};
    r.from = (Digits){1, {from[2]}};
    r.to = (Digits){1, {to[2]}};
    Reduction soft = r;
    for (int i = 0; i < 2; ++i) soft.positions.loops[i].d = to[i].s;
    reduction_plan(&r), reduction_plan(&soft);
    argmax_run(level, &r, src, got, 0, 1);
    for (int64_t n = 0; n < extents[0]; ++n)
        for (int64_t h = 0; h < extents[1]; ++h) {
            int64_t best = 0, is;
            for (int64_t c = 1; c < extents[2]; ++c)
                if (above(type, element(n, h, c, from, 0), element(n, h, best, from, 0))) best = c;
            memcpy(&is, got + 8 * (n * extents[1] + h), 8);
            if (is != best) return printf("argmax: %s, type %d: %lld, expected %lld\n", level->name, (int)type, (long long)is, (long long)best), 0;
        }
    if (!top_k_case(level, extents, type, from)) return 0;
    softmax_run(first, &soft, src, expected, 0, 1);
    softmax_run(level, &soft, src, got, 0, 1);
    for (int64_t n = 0; n < extents[0]; ++n)
        for (int64_t h = 0; h < extents[1]; ++h) {
            double most = -INFINITY, sum = 0;
            int odd = 0;
            for (int64_t c = 0; c < extents[2]; ++c) {
                const double v = real(type, element(n, h, c, from, 0));
                odd |= v != v, most = fmax(most, v);
            }
            odd |= isinf(most);
            for (int64_t c = 0; c < extents[2]; ++c) sum += exp(real(type, element(n, h, c, from, 0)) - most);
            for (int64_t c = 0; c < extents[2]; ++c) {
                const double exact = exp(real(type, element(n, h, c, from, 0)) - most) / sum;
                float x, y;
                memcpy(&x, element(n, h, c, to, 1), 4);
                memcpy(&y, expected + (element(n, h, c, to, 1) - got), 4);
                if (memcmp(&x, &y, 4) && (x == x || y == y)) return printf("softmax: %s and %s differ\n", level->name, first->name), 0;
                if (odd ? x == x : !(fabs(x - exact) <= 1e-6 * exact + 2e-38)) return printf("softmax: %s: %g, expected %g\n", level->name, x, exact), 0;
            }
        }
    Reduction each = {.type = type, .channels = 1, .positions = {3, {{0}}, 0, 0, 0}, .scale = 1.0f / 64};
    for (int i = 0; i < 3; ++i) each.positions.loops[i] = (Loop){extents[i], from[i].s, to[i].s, 0};
    reduction_plan(&each);
    sigmoid_run(first, &each, src, expected, 0, 1);
    sigmoid_run(level, &each, src, got, 0, 1);
    for (int64_t n = 0; n < extents[0]; ++n)
        for (int64_t h = 0; h < extents[1]; ++h)
            for (int64_t c = 0; c < extents[2]; ++c) {
                const uint8_t *at = element(n, h, c, to, 1);
                const double v = real(type, element(n, h, c, from, 0)), e = exp(-fabs(v)), exact = (v < 0 ? e : 1) / (1 + e);
                float x, y;
                memcpy(&x, at, 4), memcpy(&y, expected + (at - got), 4);
                if (memcmp(&x, &y, 4) && (x == x || y == y)) return printf("sigmoid: %s and %s differ\n", level->name, first->name), 0;
                if (v == v ? !(fabs(x - exact) <= 5e-7 * exact + 1.2e-38) : x == x) return printf("sigmoid: %s: %g, expected %g\n", level->name, x, exact), 0;
            }
    /* N planes of H rows and C columns. */
    int64_t codes[2][4096], number = 0;
    Heatmaps maps = {.type = type, .height = extents[1], .width = extents[2], .y = from[1].s, .x = from[2].s, .radius = 1 + below(2),
                     .least = 20, .threshold = 19.5f, .y_bits = 9, .x_bits = 8, .planes = {1, {{extents[0], from[0].s, 0, 1}}, 0, 0, 0}};
    Peaks peaks = {0, 4096, 0, codes[0], 0};
    peaks_find(level, &maps, src, &peaks);
    if (peaks.count > 4096) return 1;
    const int64_t *sorted = peaks.unsorted && peaks_sort(&peaks, codes[1]) ? codes[1] : codes[0];
    for (int64_t n = 0; n < extents[0]; ++n)
        for (int64_t y = 0; y < extents[1]; ++y)
            for (int64_t x = 0; x < extents[2]; ++x) {
                const float v = value(type, element(n, y, x, from, 0));
                int good = type == I32 ? 0 : v > 19.5f;
                if (type == I32) return 1; /* its values do not fit a float */
                for (int64_t j = y - maps.radius; good && j <= y + maps.radius; ++j)
                    for (int64_t i = x - maps.radius; good && i <= x + maps.radius; ++i) {
                        if (j < 0 || i < 0 || j >= extents[1] || i >= extents[2]) continue;
                        const float other = value(type, element(n, j, i, from, 0));
                        good = j < y || (j == y && i < x) ? v > other : v >= other;
                    }
                if (good && (number >= peaks.count || sorted[number++] != ((n << 9 | y) << 8 | x)))
                    return printf("peaks: %s, type %d, of %lld x %lld\n", level->name, (int)type, (long long)extents[1], (long long)extents[2]), 0;
            }
    if (number != peaks.count) return printf("peaks: %s, type %d: too many\n", level->name, (int)type), 0;
    return 1;
}

/* Gray of random rows of planes or pixels; `n` pixels that are `step` apart, blue first or third. */
static int gray_row(const Level *level, int64_t n, int64_t step, int64_t apart, int swaps, const uint8_t *from) {
    const Graying gray = {{1, {{n, step, 1, 0}}, 0, 0, 0}, GRAY_U8, (int)below(2), (int)below(2)};
    const uint8_t *b = from + (swaps ? 2 * apart : 0), *g = from + apart, *r = from + (swaps ? 0 : 2 * apart);
    memset(got, 0xAB, (size_t)n + 64);
    gray_run(level, &gray, b, g, r, got + 8, 0, 1);
    for (int64_t i = 0; i < n; ++i) {
        const uint32_t y = (3735u * b[i * step] + 19235u * g[i * step] + 9798u * r[i * step] + (1u << 14)) >> 15;
        if (got[8 + i] == y) continue;
        printf("level %s, gray of (%d, %d, %d), step %lld, pixel %lld of %lld: got %d, expected %u\n", level->name, b[i * step],
               g[i * step], r[i * step], (long long)step, (long long)i, (long long)n, got[8 + i], y);
        return 0;
    }
    for (int64_t i = 0; i < 64; ++i)
        if ((i < 8 ? got[i] : got[n + i]) != 0xAB) return printf("level %s, gray: byte %lld beside %lld\n", level->name, (long long)i, (long long)n), 0;
    return 1;
}
static int gray_case(const Level *level) {
    const int64_t n = 1 + below(below(2) ? 40 : 400), step = 1 + below(5), apart = step == 1 ? n + below(9) : 1;
    return step == 2 || gray_row(level, n, step, apart, (int)below(2), src + below(64));
}
/* Of float32, in memory that ends with the last pixel's third channel. */
static int gray_floats(const Level *level) {
    const int64_t n = 1 + below(below(2) ? 40 : 400), step = 1 + below(4), apart = step == 1 ? n : 1, count = (n - 1) * step + 2 * apart + 1;
    float *p = malloc((size_t)count * sizeof *p), *out = malloc((size_t)n * sizeof *out);
    const float *planes[3] = {p, p + apart, p + 2 * apart};
    const Graying gray = {{1, {{n, 4 * step, 4, 0}}, 0, 0, 0}, GRAY_F32, (int)below(2), (int)below(2)};
    const int swaps = (int)below(2);
    int64_t good = 0;
    for (int64_t i = 0; i < count; ++i) p[i] = (float)below(1 << 20) / 4096 - 100;
    const float *b = planes[swaps ? 2 : 0], *g = planes[1], *r = planes[swaps ? 0 : 2];
    gray_run(level, &gray, (const uint8_t *)b, (const uint8_t *)g, (const uint8_t *)r, (uint8_t *)out, 0, 1);
    while (good < n && out[good] == b[good * step] * 0.114f + g[good * step] * 0.587f + r[good * step] * 0.299f) ++good;
    if (good < n) printf("level %s, gray of floats, step %lld, pixel %lld of %lld\n", level->name, (long long)step, (long long)good, (long long)n);
    free(p), free(out);
    return good == n;
}
static int gray_colours(const Level *level) { /* every one, in pixels of 3 and 4 and in planes */
    enum { ROW = 256 };
    static uint8_t pixels[4 * ROW];
    for (int step = 1; step <= 4; ++step)
        for (int at = 0; step != 2 && at < 1 << 16; ++at) {
            for (int i = 0; i < ROW; ++i)
                for (int c = 0; c < 3; ++c)
                    pixels[step == 1 ? c * ROW + i : step * i + c] = (uint8_t)(c == 0 ? i : at >> 8 * (c - 1));
            if (!gray_row(level, ROW, step, step == 1 ? ROW : 1, at & 1, pixels)) return 0;
        }
    return 1;
}

/* Quotients by products, where these are known to do and not where they are not. */
static int takes_products(float divisor) {
    const float low = -128, high = 127;
    const Arithmetic a = {.from = F32, .to = I8, .channels = 1, .divisor = &divisor, .low = &low, .high = &high};
    Product product;
    return products_of(&a, &product) && product.times != 0;
}

int main(int count, char **arguments) {
    const float unsure[] = {0x1.e7fffep0f, 0x1.fbfff6p0f, 0, -1, 0x1p-25f, 0x1p61f, INFINITY, NAN};
    for (int i = 0; i < (int)(sizeof unsure / sizeof *unsure); ++i)
        if (takes_products(unsure[i])) return printf("products in place of a division by %g\n", unsure[i]), 1;
    if (!takes_products(0.1f) || !takes_products(0x1p-24f) || !takes_products(0x1p60f)) return printf("no products\n"), 1;
    const long cases = count > 1 ? atol(arguments[1]) : 20000;
    const Dtype from[] = {I8, U8, I16, U16, F16, BF16, F32}, to[] = {F32, I8, U8, I16, U16, F16, BF16};
    for (int i = 0; i < ROOM; ++i) src[i] = (uint8_t)below(256);
    long run = 0;
    for (long n = 0; n < cases; ++n) {
        Box box;
        const int converts = (int)below(2);
        float shift = (float)(below(200) - 100), scale = (float)(1 + below(100)) / 64, divisor = (float)(1 + below(50)) / 16, before = 0, low, high;
        int32_t after = (int32_t)(below(200) - 100);
        const uint16_t factor = (uint16_t)below(1 << 16);
        const int16_t summand = (int16_t)(below(1 << 16) - (1 << 15));
        Arithmetic a = {.from = from[below(7)], .to = to[below(7)], .steps = 1, .divides = (int)below(2), .channels = 1,
                        .shift = &shift, .scale = &scale, .divisor = &divisor, .before = &before, .low = &low, .high = &high, .after = &after,
                        .factor = &factor, .summand = &summand};
        if (below(2)) divisor = ldexpf((float)(1 + below(1 << 24)), (int)(below(3) ? -20 : below(140) - 90));
        if (!a.divides) divisor = 1;
        const float least[] = {-128, 0, -32768, 0}, most[] = {127, 255, 32767, 65535};
        a.one_step = a.from <= U8 && (a.to == I8 || a.to == U8) && below(2);
        a.bits = a.one_step && below(2) ? 1 + (int)below(8) : 0;
        if (a.one_step) shift = 0, divisor = 1, a.divides = 0, after = 0, before = (float)below(4000) / 16;
        if (a.to < I32) low = least[a.to] - (float)after, high = most[a.to] - (float)after; else low = high = 0, after = 0;
        Product product;
        if (products_of(&a, &product) && below(8)) a.products = &product;
        const int64_t size = (int64_t)1 << below(5), src_item = converts ? dtype_size[a.from] : size, dst_item = converts ? dtype_size[a.to] : size;
        random_box(&box, src_item, dst_item);
        Box fill;
        const int64_t pad = below(2) ? gap_behind(&box, src_item, dst_item, &fill) : 0;
        const int64_t bytes = reach(&box, 1, dst_item) + pad;
        if (bytes > ROOM || reach(&box, 0, src_item) > ROOM) continue;
        ++run;
        for (int i = 0; i < level_count(); ++i) {
            const Level *level = level_at(i);
            if (!level) continue;
            memset(got, 0xAB, (size_t)bytes), memset(expected, 0xAB, (size_t)bytes);
            walk(&box, 0, box.src, box.dst, size, converts ? &a : NULL);
            if (pad) zeros(&fill, 0, fill.dst, dst_item);
            if (converts) {
                Convert c;
                convert_plan(&c, &box, &a, pad);
                convert_run(level, &c, &a, src, got);
            } else {
                Move m;
                move_plan(&m, &box, (int)size, pad);
                move_run(level, &m, src, got);
            }
            for (int64_t k = 0; k < bytes; ++k) {
                if (got[k] == expected[k]) continue;
                const int64_t item = converts ? dtype_size[a.to] : 1, at = k / item * item;
                const float x = value(a.to, got + at), y = value(a.to, expected + at);
                if (converts && a.to >= F16 && x != x && y != y) { k = at + item - 1; continue; }
                printf("level %s, case %ld, byte %lld: got %d, expected %d; %d -> %d, size %d, shift %g scale %g divisor %g %d after %d\n", level->name, n, (long long)k, got[k], expected[k], converts ? (int)a.from : -1, (int)a.to, (int)size, shift, scale, a.divides ? divisor : 1, a.divides, after);
                return 1;
            }
        }
    }
    for (long n = 0; n < cases / 20; ++n)
        for (int i = 0; i < level_count(); ++i)
            if (level_at(i) && !reduce_case(level_at(i), level_at(0))) return 1;
    for (int i = 0; i < level_count(); ++i) {
        if (!level_at(i)) continue;
        for (long n = 0; n < cases; ++n)
            if (!gray_case(level_at(i)) || !gray_floats(level_at(i))) return 1;
        if (!gray_colours(level_at(i))) return 1;
    }
    printf("%ld cases at %d level(s): equal\n", run, level_count());
    return 0;
}
