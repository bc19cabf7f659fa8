/* The loops of one instruction set and their table: LEVEL is its name, VB its vector's bytes (16, 32, 64), NARROWER the
 * table of the next shorter ones, or NULL. */
#include "simd/vector.inl.h"
#include "simd/rows.inl.h"
#include "simd/narrow.inl.h"
#include "simd/tiles.inl.h"
#include "simd/cover.inl.h"
#include "simd/transpose.inl.h"
#include "simd/reverse.inl.h"
#include "simd/channels.inl.h"
#include "simd/arithmetic.inl.h"
#include "simd/planes.inl.h"
#include "simd/pixels.inl.h"
#include "simd/pads.inl.h"
#include "simd/gray.inl.h"
#include "simd/reduce.inl.h"
#include "simd/top_k.inl.h"
#include "simd/softmax.inl.h"
#include "simd/peaks.inl.h"

#ifdef STREAM
static void HERE(fence)(void) { _mm_sfence(); }
#else
static void HERE(fence)(void) {}
#endif

#define LOADS(name)                                                   \
    {                                                                 \
        {HERE(load_##name), HERE(load_##name##_divided)}, {           \
            HERE(load_##name##_each), HERE(load_##name##_each_divided) \
        }                                                             \
    }
#define BRIEFS(name)                                                                   \
    {                                                                                  \
        {{HERE(name##_000), HERE(name##_001)}, {HERE(name##_010), HERE(name##_011)}},  \
        {{HERE(name##_100), HERE(name##_101)}, {HERE(name##_110), HERE(name##_111)}},  \
    }
#define KEYS_OF_ALL                                                                                                        \
    .keys = {HERE(keys_i8), HERE(keys_u8), HERE(keys_i16), HERE(keys_u16), HERE(keys_i32), HERE(keys_f16), HERE(keys_bf16), \
             HERE(keys_f32)}
const Level HERE(level) = {
    STRINGIFY(LEVEL),
    VB,
    {
        [PATH_COPY] = {VB, {.move = HERE(move_copy)}},
        [PATH_ROWS] = {VB, {.move = HERE(move_rows)}},
        [PATH_TRANSPOSE] = {VB, {.move = HERE(move_transpose)}},
        [PATH_DETOUR] = {VB, {.move = NULL}}, /* two other paths, move.c */
        [PATH_SPLIT] = {VB, {.move = HERE(move_split)}},
        [PATH_MERGE] = {VB, {.move = HERE(move_merge)}},
        [PATH_PIXELS] = {VB, {.move = HERE(move_pixels)}},
        [PATH_REVERSE] = {VB, {.move = HERE(move_reverse)}},
        [PATH_PADDED] = {VB, {.move = HERE(move_padded)}},
        [PATH_STRIDED] = {0, {.move = HERE(move_strided)}},
        [PATH_LOAD] = {VB, {.load = {LOADS(i8), LOADS(u8), LOADS(i16), LOADS(u16), LOADS(i32), LOADS(f16), LOADS(bf16), LOADS(f32)}}},
        [PATH_LOAD_TRANSPOSED] = {VB, {.from = {[I8] = {HERE(transposed_i8), HERE(transposed_i8_divided)},
                                                      [U8] = {HERE(transposed_u8), HERE(transposed_u8_divided)},
                                                      [I16] = {HERE(transposed_i16)},
                                                      [U16] = {HERE(transposed_u16)},
                                                      [F16] = {HERE(transposed_f16)},
                                                      [BF16] = {HERE(transposed_bf16)}}}},
        [PATH_STORE] = {VB, {.store = {[I8] = {HERE(store_i8), HERE(store_i8_each)},
                                       [U8] = {HERE(store_u8), HERE(store_u8_each)},
                                       [I16] = {HERE(store_i16), HERE(store_i16_each)},
                                       [U16] = {HERE(store_u16), HERE(store_u16_each)},
                                       [F16] = {HERE(store_f16), HERE(store_f16)},
                                       [BF16] = {HERE(store_bf16), HERE(store_bf16)},
                                       [F32] = {HERE(store_f32), HERE(store_f32)}}}},
        [PATH_STORE_I32] = {VB, {.store = {[I32] = {HERE(store_i32), HERE(store_i32_each)}}}},
        [PATH_STORE_TRANSPOSED] = {VB, {.to = {[I8] = HERE(planes_to_i8), [U8] = HERE(planes_to_u8),
                                               [F16] = HERE(planes_to_f16), [BF16] = HERE(planes_to_bf16)}}},
        [PATH_QUANTIZE] = {VB, {.quantize = {[I8] = HERE(quantize_i8), [U8] = HERE(quantize_u8), [I32] = HERE(quantize_i32)}}},
        [PATH_BRIEF] = {VB, {.brief = BRIEFS(brief)}},
        [PATH_SHORT] = {VB, {.brief = BRIEFS(short)}},
        [PATH_SHORT_PIXELS] = {VB, {.pixels = {{HERE(pixels_00), HERE(pixels_01)}, {HERE(pixels_10), HERE(pixels_11)}}}},
        [PATH_GRAY] = {GRAY_STEP, {.gray = {HERE(gray_u8)}}},
        [PATH_GRAY_WIDE] = {VB, {.gray = {NULL, HERE(gray_u16), HERE(gray_f32)}}},
        [PATH_ARGMAX] = {VB, {.largest = {HERE(largest_i8), HERE(largest_u8), HERE(largest_i16), HERE(largest_u16), HERE(largest_i32),
                                          HERE(largest_f16), HERE(largest_bf16), HERE(largest_f32)},
                              .widen = {HERE(widen_1), HERE(widen_2), HERE(widen_4)}}},
        [PATH_ACROSS] = {ACROSS_STEP, {.across = ACROSS_F32}},
        [PATH_TOP_K] = {VB, {KEYS_OF_ALL, .top_k = HERE(top_k)}},
        [PATH_TOP_K_ACROSS] = {VB, {KEYS_OF_ALL, .top_k_across = HERE(top_k_across)}},
        [PATH_SOFTMAX] = {VB, {.softmax_of_few = HERE(softmax_of_few), .maxima = HERE(maxima), .exponentials = HERE(exponentials),
                               .scale = HERE(scale), .copy = HERE(copy)}},
        [PATH_SOFTMAX_ACROSS] = {ACROSS_STEP, {.softmax_across = SOFTMAX_ACROSS}},
        [PATH_SIGMOID] = {VB, {.sigmoid = HERE(sigmoid)}},
        [PATH_PEAKS] = {VB, {.peak = {HERE(peak_i8), HERE(peak_u8), HERE(peak_i16), HERE(peak_u16), HERE(peak_i32), NULL, NULL, HERE(peak_f32)}}},
    },
    HERE(fence),
    NARROWER,
};
