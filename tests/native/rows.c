/* The loops of pictures' rows of every level, against formulas in 64-bit integers: pairs of neighbours, and Y, U and V, together
 * and apart; rows of all lengths, exactly n bytes written. The argument: how many random rows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "levels.h"
#include "picture_loops.h"

enum { MOST = 150, GUARD = 0xA5 };

static uint64_t state = 88172645463325252u;
static int64_t below(int64_t n) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (int64_t)(state % (uint64_t)n);
}

/* BT.601 and BT.2020 of the limited range, full range, and the extremes that a 31-bit sum permits. */
static const Color COLORS[] = {
    {16, 1220542, 1673527, -409993, -852492, 2116026},
    {16, 1220945, 1760217, -196428, -683671, 2245811},
    {0, 1048576, 1470104, -360857, -748830, 1858077},
    {255, 1220542, -2116026, 2116026, 2116026, -2116026},
};

static uint8_t expected(const Color *c, int y, int u, int v, int channel) {
    const int64_t by_u[] = {0, c->green_u, c->blue_u}, by_v[] = {c->red_v, c->green_v, 0};
    const int64_t light = y > c->offset ? (int64_t)(y - c->offset) * c->luma : 0;
    const int64_t sum = (light + (u - 128) * by_u[channel] + (v - 128) * by_v[channel] + (1 << 19)) >> 20;
    return (uint8_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
}

typedef struct {
    uint8_t y[2][2 * MOST + PADDING], u[MOST + PADDING], v[MOST + PADDING], pairs[2 * MOST + PADDING];
} Source;
static Source s;
static long wrong;

static void fill(uint8_t *p, int64_t n) {
    const int64_t kind = below(3); /* any byte, ends of the range, or one value */
    const uint8_t one = (uint8_t)below(256);
    for (int64_t i = 0; i < n; ++i) p[i] = (uint8_t)(kind == 0 ? below(256) : kind == 1 ? -below(2) : one);
}

static uint8_t out[4][2 * MOST + PADDING];
static uint8_t *rgb[3] = {out[0], out[1], out[2]};

static void check(const char *what, const Level *level, int64_t i, int64_t n, int64_t got, int64_t wanted) {
    if (got != wanted && ++wrong < 20)
        printf("%s, level %s, %lld of %lld: %lld for %lld\n", what, level->name, (long long)i, (long long)n, (long long)got, (long long)wanted);
}

/* Whether each byte is the expected one, `across` pixels to a sample, and none behind them was written. */
static void compare(const char *what, const Level *level, const Color *c, int64_t n, int across, int mean) {
    for (int k = 0; k < 3; ++k)
        for (int64_t i = 0; i < 2 * MOST + PADDING; ++i) {
            uint8_t e = GUARD;
            if (i < n && !mean) {
                e = expected(c, s.y[0][i], s.u[i / across], s.v[i / across], k);
            } else if (i < n) {
                int sum = 2;
                for (int j = 0; j < 4; ++j) sum += expected(c, s.y[j / 2][2 * i + j % 2], s.u[i], s.v[i], k);
                e = (uint8_t)(sum >> 2);
            }
            if (out[k][i] != e && ++wrong < 20)
                printf("%s, level %s, channel %d, pixel %lld of %lld: %d for %d\n", what, level->name, k, (long long)i, (long long)n,
                       out[k][i], e);
        }
    memset(out, GUARD, sizeof out);
}

/* Rows of Y without room behind them. */
static uint8_t *exact(const uint8_t *row, int64_t n) {
    uint8_t *copy = malloc((size_t)n);
    return memcpy(copy, row, (size_t)n);
}

static void one_row(const Level *level, const Color *c, int64_t n, int together) {
    const PictureLoops *loops = level->pictures;
    static int16_t high[3][MOST + PADDING];
    static uint16_t low[3][MOST + PADDING];
    const Terms terms = {{high[0], high[1], high[2]}, {low[0], low[1], low[2]}};
    const uint8_t *const u = together ? s.pairs : s.u, *const v = together ? NULL : s.v;
    loops->color_once(s.y[0], u, v, c, n, rgb);
    compare("color_once", level, c, n, 1, 0);
    loops->terms(u, v, c, n, &terms);
    loops->color(s.y[0], &terms, c, n, rgb);
    compare("color", level, c, n, 1, 0);
    uint8_t *rows[2] = {exact(s.y[0], 2 * n), exact(s.y[1], 2 * n)}, *one = exact(s.y[0], n);
    loops->color_shared(one, &terms, c, n, rgb);
    compare("color_shared", level, c, n, 2, 0);
    loops->color_mean((const uint8_t *const[2]){rows[0], rows[1]}, u, v, c, n, rgb);
    compare("color_mean", level, c, n, 1, 1);
    loops->luma(s.y[0], c, n, out[0]);
    for (int64_t i = 0; i < 2 * MOST + PADDING; ++i)
        check("luma", level, i, n, out[0][i], i < n ? expected(c, s.y[0][i], 128, 128, 0) : GUARD);
    memset(out, GUARD, sizeof out);
    free(rows[0]), free(rows[1]), free(one);
}

/* Weights of 11 bits, whose upper 7 and lower 4 fit signed bytes: 2048 is 16 * 127 + 16. */
static int16_t whole[2 * (MOST + PADDING)];
static int8_t upper[2 * (MOST + PADDING)], lower[2 * (MOST + PADDING)];

static void pairs_of_neighbours(const Level *level, int64_t n) {
    static int16_t lines[2][MOST + PADDING];
    const PictureLoops *loops = level->pictures;
    for (int64_t i = 0; i < 2 * n; ++i) {
        const int first = below(4) ? (int)below(2049) : 2048 * (int)below(2);
        whole[i] = (int16_t)(i % 2 ? 2048 - whole[i - 1] : first);
        upper[i] = (int8_t)(whole[i] == 2048 ? 127 : whole[i] / 16), lower[i] = (int8_t)(whole[i] - 16 * upper[i]);
    }
    const Weights weights = {whole, upper, lower};
    for (int k = 0; k < 2; ++k) {
        loops->line(s.y[k], &weights, n, lines[k]);
        for (int64_t i = 0; i < n; ++i)
            check("line", level, i, n, lines[k][i], (s.y[k][2 * i] * whole[2 * i] + s.y[k][2 * i + 1] * whole[2 * i + 1]) >> 4);
    }
    const int low = below(3) ? (int)below(2049) : 0, high = 2048 - low;
    for (int fused = 0; fused < 2; ++fused) {
        if (fused) loops->blend_pairs(s.y[0], s.y[1], &weights, high, low, n, out[3]);
        else loops->blend(lines[0], lines[1], high, low, n, out[3]);
        for (int64_t i = 0; i < 2 * MOST + PADDING; ++i) {
            const int64_t a = i < n ? lines[0][i] * high >> 16 : 0, b = i < n ? lines[1][i] * low >> 16 : 0;
            check(fused ? "blend_pairs" : "blend", level, i, n, out[3][i], i < n ? (a + b + 2) >> 2 : GUARD);
        }
        memset(out, GUARD, sizeof out);
    }
    loops->mean(s.y[0], s.y[1], n, out[3]);
    for (int64_t i = 0; i < 2 * MOST + PADDING; ++i) {
        const int64_t k = i < n ? 2 * i : 0;
        check("mean", level, i, n, out[3][i], i < n ? (s.y[0][k] + s.y[0][k + 1] + s.y[1][k] + s.y[1][k + 1] + 2) >> 2 : GUARD);
    }
    memset(out, GUARD, sizeof out);
}

int main(int count, char **arguments) {
    const long rounds = count > 1 ? atol(arguments[1]) : 1000;
    long rows = 0;
    memset(out, GUARD, sizeof out);
    for (long r = 0; r < rounds; ++r) {
        fill(s.y[0], sizeof s.y[0]), fill(s.y[1], sizeof s.y[1]), fill(s.u, MOST), fill(s.v, MOST);
        for (int i = 0; i < MOST; ++i) s.pairs[2 * i] = s.u[i], s.pairs[2 * i + 1] = s.v[i];
        const Color *c = COLORS + below(4);
        const int64_t n = 1 + below(MOST);
        for (int l = 0; l < level_count(); ++l)
            if (level_at(l)) pairs_of_neighbours(level_at(l), n);
        for (int l = 0; l < level_count(); ++l)
            for (int together = 0; level_at(l) && together < 2; ++together, ++rows) one_row(level_at(l), c, n, together);
    }
    printf("%ld rows, %ld wrong\n", rows, wrong);
    return wrong != 0;
}
