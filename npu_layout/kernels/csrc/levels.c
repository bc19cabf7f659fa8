/* The table of fast paths, and the levels of this machine. */
#include "levels.h"

const int dtype_size[DTYPES] = {1, 1, 2, 2, 4, 2, 2, 4};
const char *const dtype_name[DTYPES] = {"int8", "uint8", "int16", "uint16", "int32", "float16", "bfloat16", "float32"};

const Path paths[PATHS] = {
    {"copy", "move", "rows of neighbouring elements, in both"},
    {"rows", "move", "the same of up to 64 KB, whose neighbours in the destination are not those in the source"},
    {"transpose", "move", "neighbours in the source along one loop, in the destination along another"},
    {"detour", "move", "the same of neighbours of 16 bytes or less that go on along a third loop: by way of a bench"},
    {"split", "move", "pixels of 2, 3, 4 or 8 channels, or some of these, to planes; elements of 1, 2 and 4 bytes"},
    {"merge", "move", "planes to pixels of 2, 3, 4 or 8 channels; elements of 1, 2 and 4 bytes"},
    {"pixels", "move", "pixels of 2 to 4 bytes to another order or number of channels"},
    {"reverse", "move", "rows from their end: elements, or pixels moved as one, of up to 16 bytes"},
    {"padded", "move", "pixels of up to 64 bytes with zeros behind them, or, from planes, of up to 32 bytes, or of 2, 3, 4 or 8 elements"},
    {"strided", "move", "everything else"},
    {"load", "convert", "rows of any dtype to float32, shifted, scaled and divided"},
    {"load transposed", "convert", "8 or more neighbours of 8 or 16 bits, or pixels of 3 and 4 bytes, to planes of float32"},
    {"store", "convert", "rows of float32 to any dtype but int32, rounded and saturated"},
    {"store int32", "convert", "rows of float32 to int32"},
    {"store transposed", "convert",
     "planes of float32 to 16 bytes or more of neighbours: float16, bfloat16, and int8 and uint8 with one value of each parameter"},
    {"quantize", "convert", "rows of float32 to bytes and int32 in one step, with one value of each parameter"},
    {"affine bytes", "convert", "rows of bytes to bytes, where a factor and a summand in float32 give the same"},
    {"fixed point", "convert", "rows of bytes to bytes, where a factor and a summand in 16 bits give the same"},
    {"fixed point pixels", "convert", "the same of pixels of 2 to 4 bytes, to another order or number of channels too"},
    {"gray", "gray", "planes of uint8, and pixels of 3 or 4"},
    {"gray wide", "gray", "uint16 and float32"},
    {"argmax", "reduce", "planes of any dtype; everything else comes to planes first"},
    {"argmax blocks", "reduce", "blocks of channels whose positions follow each other, of any dtype"},
    {"argmax across", "reduce", "9 and more channels of float32: neighbours, and few blocks"},
    {"top k", "reduce", "up to 16 values, of planes of any dtype; everything else comes to planes first"},
    {"top k across", "reduce",
     "more values, of neighbouring channels, to which everything else comes first; and neighbouring channels of less than 16 positions"},
    {"softmax", "reduce", "planes; everything else comes to planes first"},
    {"softmax across", "reduce",
     "neighbouring channels, to neighbours: of float32 16, or two vectors of 64 bytes, and more, of others 64, where the last "
     "vector is mostly full"},
    {"sigmoid", "reduce", "neighbours; everything else comes to neighbours first"},
    {"peaks", "reduce", "rows of neighbouring columns, of any dtype; everything else comes to such rows first"},
};

/* The tables of a level's units, and the level. */
#define LEVEL(level, bytes)                                                                          \
    extern const Fast moves_##level[], conversions_##level[], grays_##level[], reductions_##level[]; \
    extern const PictureLoops picture_loops_##level;                                                 \
    extern const DetectLoops detect_loops_##level;                                                   \
    extern RowSums *const row_sums_loops_##level[];                                                  \
    static const Level level_##level = {                                                             \
        #level, bytes, moves_##level, conversions_##level, grays_##level, reductions_##level,        \
        &picture_loops_##level, &detect_loops_##level, row_sums_loops_##level,                       \
    };

#if defined(__x86_64__)
#include <cpuid.h>
#include <emmintrin.h>

static int has_f16c(void) { /* by its bit, because not every compiler has the name */
    unsigned a, b, c = 0, d;
    return __get_cpuid(1, &a, &b, &c, &d) && c >> 29 & 1;
}
static inline int has_sse4(void) { return !!__builtin_cpu_supports("sse4.1"); }
static inline int has_avx2(void) { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c(); }
static inline int has_avx512(void) {
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}
int has_wide_gathers(void) {
    __builtin_cpu_init();
    return !!__builtin_cpu_supports("avx512vbmi");
}
int is_intel(void) {
    __builtin_cpu_init();
    return !!__builtin_cpu_is("intel");
}
void fence(void) { _mm_sfence(); }
#define ASK_THE_PROCESSOR __builtin_cpu_init()
#else
#define NPU_LAYOUT_WITHOUT_SSE4
#define NPU_LAYOUT_WITHOUT_AVX2
#define NPU_LAYOUT_WITHOUT_AVX512
int has_wide_gathers(void) { return 0; }
int is_intel(void) { return 0; }
void fence(void) {}
#define ASK_THE_PROCESSOR (void)0
#endif
static inline int has_base(void) { return 1; }

/* Those that were compiled: all of this architecture, unless setup.py was asked for some. */
#ifndef NPU_LAYOUT_WITHOUT_BASE
LEVEL(base, 16)
#endif
#ifndef NPU_LAYOUT_WITHOUT_SSE4
LEVEL(sse4, 16)
#endif
#ifndef NPU_LAYOUT_WITHOUT_AVX2
LEVEL(avx2, 32)
#endif
#ifndef NPU_LAYOUT_WITHOUT_AVX512
LEVEL(avx512, 64)
#endif
static const struct {
    const Level *level;
    int (*supported)(void);
} levels[] = {
#ifndef NPU_LAYOUT_WITHOUT_BASE
    {&level_base, has_base},
#endif
#ifndef NPU_LAYOUT_WITHOUT_SSE4
    {&level_sse4, has_sse4},
#endif
#ifndef NPU_LAYOUT_WITHOUT_AVX2
    {&level_avx2, has_avx2},
#endif
#ifndef NPU_LAYOUT_WITHOUT_AVX512
    {&level_avx512, has_avx512},
#endif
};
enum { LEVELS = sizeof levels / sizeof *levels };

int level_count(void) { return LEVELS; }

const char *level_name(int i) { return levels[i].level->name; }

const Level *level_at(int i) {
    static _Atomic signed char known[LEVELS]; /* on a virtual machine each CPUID costs 20 us */
    if (known[i]) return known[i] > 0 ? levels[i].level : NULL;
    ASK_THE_PROCESSOR;
    known[i] = levels[i].supported() ? 1 : -1;
    return known[i] > 0 ? levels[i].level : NULL;
}

const Level *level_below(const Level *level) {
    const Level *below = NULL;
    for (int i = 0; i < LEVELS && levels[i].level->vector < level->vector; ++i) below = levels[i].level;
    return below;
}
