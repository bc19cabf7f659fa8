/* Inputs of a fuzzer as gray pictures, against OpenCV's arithmetic. */
#ifndef TESTS_FUZZ_GRAY_H
#define TESTS_FUZZ_GRAY_H

#include "fuzz_moves.h"
#include "gray.h"

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

#endif
