/* Random moves and conversions at every level of this machine against a walk element by element; for machines that the
 * Python suite does not run on. Build it with core.c, pool.c and the level_*.c; the argument is how many cases. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"

static uint64_t state = 88172645463325252u;
static int64_t below(int64_t n) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (int64_t)(state % (uint64_t)n);
}

enum { ROOM = 1 << 22 };
static uint8_t src[ROOM], got[ROOM], expected[ROOM];

/* Loops in some order of memory on either side, without two indices that meet. */
static void random_box(Box *box, int64_t from, int64_t to) {
    const int64_t most[] = {3, 9, 40, 130};
    box->count = (int)below(4) + 1;
    box->src = box->dst = box->param = 0;
    int order[MAX_LOOPS];
    for (int i = 0; i < box->count; ++i) order[i] = i, box->loops[i] = (Loop){1 + below(most[below(box->count > 2 ? 2 : 4)]), 0, 0, 0};
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
        if (!below(5)) box->src += (box->loops[i].n - 1) * box->loops[i].s, box->loops[i].s = -box->loops[i].s;
}

static int64_t reach(const Box *box, int side, int64_t item) {
    int64_t end = item;
    for (int i = 0; i < box->count; ++i) end += (box->loops[i].n - 1) * llabs(side ? box->loops[i].d : box->loops[i].s);
    return end;
}

static float value(Dtype type, const uint8_t *p) {
    int8_t b; int16_t h; uint16_t u; int32_t w; float f;
    memcpy(&b, p, 1), memcpy(&f, p, dtype_size[type]);
    if (dtype_size[type] >= 2) memcpy(&h, p, 2), memcpy(&u, p, 2); else h = 0, u = 0;
    if (dtype_size[type] == 4) memcpy(&w, p, 4); else w = 0;
    switch (type) {
        case I8: return b;
        case U8: return *p;
        case I16: return h;
        case U16: return u;
        case I32: return (float)w;
        case BF16: { const uint32_t x = (uint32_t)u << 16; memcpy(&f, &x, 4); return f; }
        default: return f;
    }
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
    volatile float y = value(a->from, src + s) - *a->shift; /* volatile: one operation after the other */
    y = y * *a->scale;
    if (a->divides) y = y / *a->divisor;
    if (a->to == F32) {
        const float f = y;
        memcpy(expected + d, &f, 4);
        return;
    }
    float q = y + *a->before;
    q = q > *a->low ? q : *a->low;
    q = q < *a->high ? q : *a->high;
    const int32_t whole = (int32_t)rintf(q) + *a->after;
    memcpy(expected + d, &whole, (size_t)dtype_size[a->to]);
}

int main(int count, char **arguments) {
    const long cases = count > 1 ? atol(arguments[1]) : 20000;
    const Dtype from[] = {I8, U8, I16, U16, BF16, F32}, to[] = {F32, I8, U8, I16, U16};
    for (int i = 0; i < ROOM; ++i) src[i] = (uint8_t)below(256);
    long run = 0;
    for (long n = 0; n < cases; ++n) {
        Box box;
        const int converts = (int)below(2);
        float shift = (float)(below(200) - 100), scale = (float)(1 + below(100)) / 64, divisor = (float)(1 + below(50)) / 16, before = 0, low, high;
        int32_t after = (int32_t)(below(200) - 100);
        Arithmetic a = {.from = from[below(6)], .to = to[below(5)], .steps = 1, .divides = (int)below(2), .channels = 1,
                        .shift = &shift, .scale = &scale, .divisor = &divisor, .before = &before, .low = &low, .high = &high, .after = &after};
        if (!a.divides) divisor = 1;
        const float least[] = {-128, 0, -32768, 0}, most[] = {127, 255, 32767, 65535};
        if (a.to < I32) low = least[a.to] - (float)after, high = most[a.to] - (float)after; else low = high = 0, after = 0;
        const int64_t size = (int64_t)1 << below(5), src_item = converts ? dtype_size[a.from] : size, dst_item = converts ? dtype_size[a.to] : size;
        random_box(&box, src_item, dst_item);
        const int64_t bytes = reach(&box, 1, dst_item);
        if (bytes > ROOM || reach(&box, 0, src_item) > ROOM) continue;
        ++run;
        for (int i = 0; i < level_count(); ++i) {
            const Level *level = level_at(i);
            if (!level) continue;
            memset(got, 0xAB, (size_t)bytes), memset(expected, 0xAB, (size_t)bytes);
            walk(&box, 0, box.src, box.dst, size, converts ? &a : NULL);
            if (converts) {
                Convert c;
                convert_plan(&c, &box, &a);
                convert_run(level, &c, &a, src, got);
            } else {
                Move m;
                move_plan(&m, &box, (int)size);
                move_run(level, &m, src, got);
            }
            for (int64_t k = 0; k < bytes; ++k) {
                if (got[k] == expected[k]) continue;
                float x, y;
                const int64_t at = k / 4 * 4;
                memcpy(&x, got + at, 4), memcpy(&y, expected + at, 4);
                if (converts && a.to == F32 && x != x && y != y) { k = at + 3; continue; }
                printf("level %s, case %ld, byte %lld: got %d, expected %d; %d -> %d, size %d, shift %g scale %g divisor %g %d after %d\n", level->name, n, (long long)k, got[k], expected[k], converts ? (int)a.from : -1, (int)a.to, (int)size, shift, scale, a.divides ? divisor : 1, a.divides, after);
                return 1;
            }
        }
    }
    printf("%ld cases at %d level(s): equal\n", run, level_count());
    return 0;
}
