/* Inputs of a fuzzer as argmax, softmax, sigmoid, top_k and peaks, against plain loops. */
#ifndef TESTS_FUZZ_REDUCTIONS_H
#define TESTS_FUZZ_REDUCTIONS_H

#include "divide.h"
#include "fuzz_input.h"
#include "peaks.h"
#include "reduce.h"

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

#endif
