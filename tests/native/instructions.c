/* One kernel on the baseline's loops (SSE2 or NEON), so that its instructions can be counted: the arguments are a case
 * and how many elements. Without arguments: the names of all cases. Two sizes show what one element takes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "axes.h"
#include "convert.h"
#include "gray.h"
#include "peaks.h"
#include "reduce.h"
#include "scan.h"

enum { ROOM = 1 << 24 };
static uint8_t src[ROOM], dst[ROOM];
static const float shift = 3, scale = 2, divisor = 1, before = 0.5f;
static const int32_t after = 3;
static const uint16_t factor = 56000;
static const int16_t summand = 5000;
static float low, high;

static const Level *level;

static void move(Box box, int size) {
    Move m;
    move_plan(&m, &box, size, 0);
    move_run(level, &m, src, dst);
}

static void padded(Box box, int size, int64_t pad) {
    Move m;
    move_plan(&m, &box, size, pad);
    move_run(level, &m, src, dst);
}

static void convert_box(Dtype from, Dtype to, int steps, int bits, Box box) {
    const float lowest[] = {-128, 0, -32768, 0}, highest[] = {127, 255, 32767, 65535};
    if (to < I32) low = lowest[to] - (float)after, high = highest[to] - (float)after;
    const Arithmetic a = {.from = from, .to = to, .steps = steps, .one_step = bits >= 0, .bits = bits > 0 ? bits : 0, .channels = 1, .shift = &shift,
                          .scale = &scale, .divisor = &divisor, .before = &before, .low = &low, .high = &high, .after = &after,
                          .factor = &factor, .summand = &summand};
    Convert c;
    convert_plan(&c, &box, &a, 0);
    convert_run(level, &c, &a, src, dst);
}
static void convert(Dtype from, Dtype to, int steps, int bits, int64_t n) {
    convert_box(from, to, steps, bits, (Box){1, {{n, dtype_size[from], dtype_size[to], 0}}, 0, 0, 0});
}

/* Channels as planes or as neighbours. */
static void reduce(Dtype type, int64_t channels, int planes, int is_softmax, int64_t n) {
    const int64_t size = dtype_size[type], pitch = ROOM / channels / 4;
    const int64_t s = planes ? size : channels * size, out = planes ? 4 : 4 * channels;
    Reduction r = {.type = type, .channels = channels, .positions = {1, {{n / channels, s, is_softmax ? out : 8, 0}}, 0, 0, 0},
                   .from = {1, {{channels, planes ? pitch : size, 0, 0}}},
                   .to = {1, {{channels, planes ? pitch : 4, 0, 0}}}, .scale = 1};
    reduction_plan(&r);
    (is_softmax ? softmax_run : argmax_run)(level, &r, src, dst, 0, 1);
}

static void top_k(Dtype type, int64_t n) {
    const int64_t channels = 80, positions = n / channels, size = dtype_size[type];
    Reduction r = {.type = type, .channels = channels, .k = 5, .number_step = 8, .value_step = size,
                   .positions = {1, {{positions, size, 40, 5 * size}}, 0, 0, 0}, .from = {1, {{channels, positions * size, 0, 0}}}};
    reduction_plan(&r);
    top_k_run(level, &r, src, dst, dst + ROOM / 2, 0, 1);
}

static void sigmoid(Dtype type, int64_t n) {
    Reduction r = {.type = type, .channels = 1, .positions = {1, {{n, dtype_size[type], 4, 0}}, 0, 0, 0}, .scale = 0.125f};
    reduction_plan(&r);
    sigmoid_run(level, &r, src, dst, 0, 1);
}

/* Scores of 80 classes of which none passes: planes (a block of 1), neighbours (of 80), or blocks of 16. An element is a byte. */
static void scanned(int64_t block, int64_t n) {
    static int64_t channel[80], row[1], column[ROOM / 80];
    const int64_t cells = n / 80;
    for (int64_t c = 0; c < 80; ++c) channel[c] = c / block * block * cells + c % block;
    for (int64_t x = 0; x < cells; ++x) column[x] = x * block;
    FeatureMap map = {.type = I8, .count = 80, .rows = 1, .columns = cells, .channel = channel, .row = row, .column = column};
    Hits hits = {0};
    if (!feature_map_plan(&map, ROOM) || !scan_best(level, &map, src, 100, &hits) || hits.count) abort();
}

static void peaks(Dtype type, int64_t n) {
    int64_t codes[64];
    Heatmaps maps = {.type = type, .height = n / 256, .width = 256, .y = 256 * dtype_size[type], .x = dtype_size[type],
                     .radius = 1, .least = 127, .threshold = 1e30f, .y_bits = 16, .x_bits = 8, .planes = {1, {{1, 0, 0, 1}}, 0, 0, 0}};
    Peaks found = {0, 64, 0, codes, 0};
    peaks_find(level, &maps, src, &found);
}

static void gray(int type, int64_t pixel, int64_t n) {
    const int64_t size = (int64_t)1 << type, plane = pixel == 1 ? n * size : size;
    const Graying gray = {{1, {{n, pixel * size, size, 0}}, 0, 0, 0}, type, 0, 0};
    gray_run(level, &gray, src, src + plane, src + 2 * plane, dst, 0, 1);
}

/* n pixels of 512 across, out of so many percent of the columns and rows: BGR as it is, or NV12 as planes of R, G and B. */
static void resize(int is_nv12, int64_t across, int64_t down, int64_t n) {
    enum { WIDE = 512 };
    PictureSpec spec = {.components = 3, .channels = 3, .packed = !is_nv12, .convert_first = 1, .group_pixels = 1, .group_bytes = 1,
                        .color = {16, 1220542, 1673527, -409993, -852492, 2116026}, .channel = {0, 1, 2}};
    const int64_t high = n / WIDE;
    spec.width = WIDE * across / 100, spec.height = high * down / 100;
    spec.mean[0] = across == 200 && down == 200;
    AxisLine x = line_of_axis(spec.width, WIDE, 0, spec.mean[0]), y = line_of_axis(spec.height, high, 1, spec.mean[0]);
    spec.x[0] = axis_of(&x, 0, 0), spec.y[0] = axis_of(&y, 0, 0);
    for (int c = 0; c < 3; ++c) spec.component[c] = (PictureComponent){0, c, 3, 1, 1};
    if (is_nv12) spec.component[0] = (PictureComponent){0, 0, 1, 1, 1};
    for (int c = 1; is_nv12 && c < 3; ++c) spec.component[c] = (PictureComponent){1, c - 1, 2, 2, 2};
    const int64_t pitch = spec.width * (is_nv12 ? 1 : 3);
    const PicturePlane planes[3] = {{src, pitch}, {src + pitch * spec.height, spec.width}, {0}};
    PicturePlan *plan = picture_make(level->pictures, 0, &spec);
    uint8_t *bench = aligned_alloc(64, (size_t)(picture_bench(plan) + 63) / 64 * 64);
    picture_rows(plan, planes, 0, high, dst, is_nv12 ? WIDE : 3 * WIDE, n, bench);
}

#define BOX2(n0, s0, d0, n1, s1, d1) ((Box){2, {{n0, s0, d0, 0}, {n1, s1, d1, 0}}, 0, 0, 0})
#define BOX3(n0, s0, d0, n1, s1, d1, n2, s2, d2) ((Box){3, {{n0, s0, d0, 0}, {n1, s1, d1, 0}, {n2, s2, d2, 0}}, 0, 0, 0})
#define TRANSPOSE(z) move(BOX2(n / 64, z, 64 * (z), 64, n / 64 * (z) + 64, z), z) /* 64 planes to neighbours */
#define SPLIT(c, z) move(BOX2(c, z, n / (c) * (z), n / (c), (c) * (z), z), z)
#define MERGE(c, z) move(BOX2(n / (c), z, (c) * (z), c, n / (c) * (z), z), z)
#define MIRRORED(z) move((Box){2, {{n / 3072, 3072 * (z), 3072 * (z), 0}, {3072, -(z), z, 0}}, 3071 * (z), 0, 0}, z)
#define SPLIT_MIRRORED(c, z) \
    move((Box){2, {{c, z, n / (c) * (z), 0}, {n / (c), -(c) * (z), z, 0}}, (n / (c) - 1) * (c) * (z), 0, 0}, z)
#define MERGE_MIRRORED(c, z) \
    move((Box){2, {{n / (c), -(z), (c) * (z), 0}, {c, n / (c) * (z), z, 0}}, (n / (c) - 1) * (z), 0, 0}, z)
#define PIXELS_MIRRORED(s, first) move((Box){2, {{n / 3, -(s), 3, 0}, {3, first ? -1 : 1, 1, 0}}, (n / 3 - 1) * (s) + (first), 0, 0}, 1)
#define REVERSED ((Box){2, {{n / 3, 3, 3, 0}, {3, -1, 1, 0}}, 2, 0, 0})
#define CASES(CASE)                                                                                              \
    CASE("copy, rows of 3072 bytes", move(BOX2(n / 3072, 3200, 3136, 3072, 1, 1), 1))                            \
    CASE("transpose, 1 byte", TRANSPOSE(1))                                                                      \
    CASE("transpose, 2 bytes", TRANSPOSE(2))                                                                     \
    CASE("transpose, 4 bytes", TRANSPOSE(4))                                                                     \
    CASE("transpose, 8 bytes", TRANSPOSE(8))                                                                     \
    CASE("transpose, 16 bytes", TRANSPOSE(16))                                                                   \
    CASE("rows of 32 bytes", move(BOX3(16, n / 16, 32, n / 512, 32, 512, 32, 1, 1), 1))                          \
    CASE("detour, 2 of 2 bytes", move(BOX3(n / 128, 2, 256, 64, n / 64, 4, 2, n, 2), 2))                         \
    CASE("split, 2 of 1 byte", SPLIT(2, 1))                                                                      \
    CASE("split, 3 of 1 byte", SPLIT(3, 1))                                                                      \
    CASE("split, 4 of 1 byte", SPLIT(4, 1))                                                                      \
    CASE("split, 8 of 1 byte", SPLIT(8, 1))                                                                      \
    CASE("split, 3 of 2 bytes", SPLIT(3, 2))                                                                     \
    CASE("split, 3 of 4 bytes", SPLIT(3, 4))                                                                     \
    CASE("split, 4 of 4 bytes", SPLIT(4, 4))                                                                     \
    CASE("merge, 2 of 1 byte", MERGE(2, 1))                                                                      \
    CASE("merge, 3 of 1 byte", MERGE(3, 1))                                                                      \
    CASE("merge, 4 of 1 byte", MERGE(4, 1))                                                                      \
    CASE("merge, 8 of 1 byte", MERGE(8, 1))                                                                      \
    CASE("merge, 3 of 2 bytes", MERGE(3, 2))                                                                     \
    CASE("merge, 3 of 4 bytes", MERGE(3, 4))                                                                     \
    CASE("merge, 4 of 4 bytes", MERGE(4, 4))                                                                     \
    CASE("pixels, 3 reversed", move(REVERSED, 1))                                                               \
    CASE("pixels, 4 to 3", move(BOX2(n / 3, 4, 3, 3, 1, 1), 1))                                                  \
    CASE("pixels, 4 mirrored to 3 reversed", PIXELS_MIRRORED(4, 2))                                              \
    CASE("split, 3 of 1 byte, mirrored", SPLIT_MIRRORED(3, 1))                                                   \
    CASE("split, 4 of 1 byte, mirrored", SPLIT_MIRRORED(4, 1))                                                   \
    CASE("merge, 3 of 1 byte, mirrored", MERGE_MIRRORED(3, 1))                                                   \
    CASE("merge, 4 of 1 byte, mirrored", MERGE_MIRRORED(4, 1))                                                   \
    CASE("reverse, 1 byte", MIRRORED(1))                                                                         \
    CASE("reverse, 2 bytes", MIRRORED(2))                                                                        \
    CASE("reverse, pixels of 3 bytes", PIXELS_MIRRORED(3, 0))                                                    \
    CASE("reverse, 4 bytes", MIRRORED(4))                                                                        \
    CASE("reverse, 8 bytes", MIRRORED(8))                                                                        \
    CASE("padded, 3 of 1 byte to 4", padded(BOX2(n / 3, 3, 4, 3, 1, 1), 1, 1))                                   \
    CASE("padded, 3 planes of 1 byte to 4", padded(BOX2(n / 3, 1, 4, 3, n / 3, 1), 1, 1))                        \
    CASE("padded, 3 of 1 byte to 16", padded(BOX2(n / 12, 3, 16, 3, 1, 1), 1, 13))                               \
    CASE("padded, 3 of 2 bytes to 8", padded(BOX2(n / 6, 6, 16, 3, 2, 2), 2, 10))                                \
    CASE("strided, 1 byte", move(BOX2(4, 262144, 300000, n / 4, 2, 3), 1))                                       \
    CASE("strided, 4 bytes", move(BOX2(4, 262144, 300000, n / 4, 8, 12), 4))                                     \
    CASE("uint8 to float32", convert(U8, F32, 1, -1, n))                                                         \
    CASE("int16 to float32", convert(I16, F32, 1, -1, n))                                                        \
    CASE("float16 to float32", convert(F16, F32, 1, -1, n))                                                      \
    CASE("bfloat16 to float32", convert(BF16, F32, 1, -1, n))                                                    \
    CASE("float32 to uint8", convert(F32, U8, 1, -1, n))                                                         \
    CASE("float32 to int8", convert(F32, I8, 1, -1, n))                                                          \
    CASE("float32 to int16", convert(F32, I16, 1, -1, n))                                                        \
    CASE("float32 to float16", convert(F32, F16, 1, -1, n))                                                      \
    CASE("float32 to bfloat16", convert(F32, BF16, 1, -1, n))                                                    \
    CASE("uint8 to int8", convert(U8, I8, 1, 0, n))                                                              \
    CASE("int8 to uint8", convert(I8, U8, 1, 0, n))                                                              \
    CASE("uint8 to int8, in 16 bits", convert(U8, I8, 1, 8, n))                                                  \
    CASE("int8 to uint8, in 16 bits", convert(I8, U8, 1, 8, n))                                                  \
    CASE("int8 to float32, 16 channels to planes", convert_box(I8, F32, 1, -1, BOX2(16, 1, n / 4 + 64, n / 16, 16, 4)))\
    CASE("uint8 to float32, 3 channels to planes", convert_box(U8, F32, 1, -1, BOX2(3, 1, n / 3 * 4, n / 3, 3, 4)))\
    CASE("float16 to float32, 8 channels to planes", convert_box(F16, F32, 1, -1, BOX2(8, 2, n / 2 + 64, n / 8, 16, 4)))\
    CASE("float32 to int8, planes to 16 channels", convert_box(F32, I8, 1, -1, BOX2(n / 16, 4, 16, 16, n / 4 + 64, 1)))\
    CASE("float32 to float16, planes to 8 channels", convert_box(F32, F16, 1, -1, BOX2(n / 8, 4, 16, 8, n / 2 + 64, 2)))\
    CASE("pixels, 3 reversed, uint8 to int8", convert_box(U8, I8, 1, 8, REVERSED))                               \
    CASE("blocks of 16 int8 to pixels of float32",                                                               \
         convert_box(I8, F32, 1, -1, (Box){3, {{n / 64, 16, 256, 0}, {4, n / 4, 64, 0}, {16, 1, 4, 0}}, 0, 0, 0}))  \
    CASE("blocks of 4 float32 to 8 int8",                                                                        \
         convert_box(F32, I8, 1, -1, (Box){3, {{n / 8, 16, 8, 0}, {2, n * 2, 4, 0}, {4, 4, 1, 0}}, 0, 0, 0}))    \
    CASE("resize of BGR, 2 rows", resize(0, 230, 230, n))                                                        \
    CASE("resize of BGR, 1 row", resize(0, 230, 300, n))                                                         \
    CASE("resize of BGR, 2 x 2", resize(0, 200, 200, n))                                                         \
    CASE("resize of NV12 to RGB, 2 rows", resize(1, 230, 230, n))                                                \
    CASE("resize of NV12 to RGB, 2 x 2", resize(1, 200, 200, n))                                                 \
    CASE("gray, planes of uint8", gray(0, 1, n))                                                                 \
    CASE("gray, pixels of 3 uint8", gray(0, 3, n))                                                               \
    CASE("gray, pixels of 4 uint8", gray(0, 4, n))                                                               \
    CASE("gray, planes of float32", gray(2, 1, n))                                                               \
    CASE("argmax, planes of uint8", reduce(U8, 16, 1, 0, n))                                                     \
    CASE("argmax, planes of float32", reduce(F32, 16, 1, 0, n))                                                  \
    CASE("argmax, neighbours of uint8", reduce(U8, 16, 0, 0, n))                                                 \
    CASE("argmax, neighbours of float32", reduce(F32, 16, 0, 0, n))                                              \
    CASE("top 5, 80 planes of uint8", top_k(U8, n))                                                              \
    CASE("top 5, 80 planes of float32", top_k(F32, n))                                                           \
    CASE("softmax, planes of float32", reduce(F32, 16, 1, 1, n))                                                 \
    CASE("softmax, 4 planes of float32", reduce(F32, 4, 1, 1, n))                                                \
    CASE("softmax, neighbours of float32", reduce(F32, 16, 0, 1, n))                                             \
    CASE("sigmoid, float32", sigmoid(F32, n))                                                                    \
    CASE("sigmoid, int8", sigmoid(I8, n))                                                                        \
    CASE("scan, 80 planes of int8", scanned(1, n))                                                               \
    CASE("scan, 80 neighbours of int8", scanned(80, n))                                                          \
    CASE("scan, blocks of 16 int8", scanned(16, n))                                                              \
    CASE("peaks, uint8", peaks(U8, n))                                                                           \
    CASE("peaks, float32", peaks(F32, n))

int main(int count, char **arguments) {
    const char *name = count > 1 ? arguments[1] : NULL;
    const int64_t n = count > 2 ? atoll(arguments[2]) : 0;
    level = level_at(0);
    for (int i = 0; i < ROOM; i += 4) src[i] = (uint8_t)(i * 2654435761u >> 26); /* floats that are no odd ones */
#define RUN(case_name, call)                   \
    if (!name) puts(case_name);                \
    else if (!strcmp(name, case_name)) {       \
        call;                                  \
        return 0;                              \
    }
    CASES(RUN)
    return name != NULL;
}
