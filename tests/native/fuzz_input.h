/* What a fuzzer's input becomes: numbers, buffers that are allocated to the byte, and what they are filled with. */
#ifndef TESTS_FUZZ_INPUT_H
#define TESTS_FUZZ_INPUT_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "convert.h"
#include "pads.h"
#include "program.h"
#include "values.h"

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

/* To 11 bits, or fewer where it is small. */
static double rounded_half(float x) {
    if (x != x || x == 0 || isinf(x)) return x;
    int e;
    (void)frexp(x, &e);
    const int unit = e - 11 > -24 ? e - 11 : -24;
    const double q = ldexp(rint(ldexp(x, -unit)), unit);
    return fabs(q) >= 65520 ? copysign(INFINITY, x) : q;
}

#endif
