/* The loops of one instruction set and their table: LEVEL is its name, VB the bytes of its vectors (16, 32, 64), NARROWER the
 * table of the level with the next shorter vectors, or NULL. */
#include "simd/vector.inl.h"
#include "simd/rows.inl.h"
#include "simd/narrow.inl.h"
#include "simd/tiles.inl.h"
#include "simd/cover.inl.h"
#include "simd/bands.inl.h"
#include "simd/transpose.inl.h"
#include "simd/reverse.inl.h"
#include "simd/channels.inl.h"
#include "simd/numbers.inl.h"
#include "simd/arithmetic.inl.h"
#include "simd/bytes.inl.h"
#include "simd/planes.inl.h"
#include "simd/pixels.inl.h"
#include "simd/pads.inl.h"
#include "simd/gray.inl.h"
#include "simd/reduce.inl.h"
#include "simd/fold.inl.h"
#include "simd/top_k.inl.h"
#include "simd/softmax.inl.h"
#include "simd/sigmoid.inl.h"
#include "simd/peaks.inl.h"
#include "simd/scan_codes.inl.h"
#include "simd/scan_planes.inl.h"
#include "simd/scan.inl.h"
#include "simd/powers.inl.h"
#include "simd/least_sum.inl.h"
#include "simd/overlaps.inl.h"
#include "simd/row_sums.inl.h"
#include "simd/gather.inl.h"
#include "simd/lines.inl.h"
#include "simd/yuv.inl.h"
#include "simd/rows_neon.inl.h"
#include "simd/packed.inl.h"
#include "simd/far.inl.h"
#include "simd/boxes.inl.h"
#include "simd/rows_made.inl.h"
#include "simd/yuv_plain.inl.h"

#ifdef STREAM
static void HERE(fence)(void) { _mm_sfence(); }
#else
static void HERE(fence)(void) {}
#endif

#define LOADS(name)                                                                               \
    {                                                                                             \
        [ONE_VALUE] = {[UNDIVIDED] = HERE(load_##name), [DIVIDED] = HERE(load_##name##_divided)}, \
        [EACH_VALUE] = {[UNDIVIDED] = HERE(load_##name##_each), [DIVIDED] = HERE(load_##name##_each_divided)}, \
    }
#define STORES(name) {[ONE_VALUE] = HERE(store_##name), [EACH_VALUE] = HERE(store_##name##_each)}
#define STORES_PLAIN(name) {[ONE_VALUE] = HERE(store_##name), [EACH_VALUE] = HERE(store_##name)} /* there are no parameters */
#define BYTES(kind, from, to) {[ONE_VALUE] = HERE(kind##_##from##_to_##to), [EACH_VALUE] = HERE(kind##_##from##_to_##to##_each)}
#define BYTES_TO(kind)                                                              \
    {                                                                               \
        [I8] = {[I8] = BYTES(kind, i8, i8), [U8] = BYTES(kind, i8, u8)},            \
        [U8] = {[I8] = BYTES(kind, u8, i8), [U8] = BYTES(kind, u8, u8)},            \
    }
#define KEYS_OF_ALL                                                                                                        \
    .keys = {HERE(keys_i8), HERE(keys_u8), HERE(keys_i16), HERE(keys_u16), HERE(keys_i32), HERE(keys_f16), HERE(keys_bf16), \
             HERE(keys_f32)}
#define LARGEST_OF_ALL                                                                                              \
    {HERE(largest_i8), HERE(largest_u8), HERE(largest_i16), HERE(largest_u16), HERE(largest_i32), HERE(largest_f16), \
     HERE(largest_bf16), HERE(largest_f32)}
#define WIDENS {HERE(widen_1), HERE(widen_2), HERE(widen_4)}
#define FOLDS_OF_ALL                                                                                              \
    {HERE(fold1), HERE(fold1), HERE(fold2), HERE(fold2), HERE(fold4), HERE(fold2), HERE(fold2), HERE(fold_f32)}
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
        [PATH_LOAD] = {VB, {.load = {[I8] = LOADS(i8), [U8] = LOADS(u8), [I16] = LOADS(i16), [U16] = LOADS(u16), [I32] = LOADS(i32),
                            [F16] = LOADS(f16), [BF16] = LOADS(bf16), [F32] = LOADS(f32)}}},
        [PATH_LOAD_TRANSPOSED] = {VB, {.from = {[I8] = {[UNDIVIDED] = HERE(transposed_i8), [DIVIDED] = HERE(transposed_i8_divided)},
                                                      [U8] = {[UNDIVIDED] = HERE(transposed_u8), [DIVIDED] = HERE(transposed_u8_divided)},
                                                      [I16] = {[UNDIVIDED] = HERE(transposed_i16)},
                                                      [U16] = {[UNDIVIDED] = HERE(transposed_u16)},
                                                      [F16] = {[UNDIVIDED] = HERE(transposed_f16)},
                                                      [BF16] = {[UNDIVIDED] = HERE(transposed_bf16)}}}},
        [PATH_STORE] = {VB, {.store = {[I8] = STORES(i8),
                                       [U8] = STORES(u8),
                                       [I16] = STORES(i16),
                                       [U16] = STORES(u16),
                                       [F16] = STORES_PLAIN(f16),
                                       [BF16] = STORES_PLAIN(bf16),
                                       [F32] = STORES_PLAIN(f32)}}},
        [PATH_STORE_I32] = {VB, {.store = {[I32] = STORES(i32)}}},
        [PATH_STORE_TRANSPOSED] = {VB, {.to = {[I8] = HERE(planes_to_i8), [U8] = HERE(planes_to_u8),
                                               [F16] = HERE(planes_to_f16), [BF16] = HERE(planes_to_bf16)}}},
        [PATH_QUANTIZE] = {VB, {.quantize = {[I8] = HERE(quantize_i8), [U8] = HERE(quantize_u8), [I32] = HERE(quantize_i32)}}},
        [PATH_AFFINE] = {VB, {.bytes = BYTES_TO(affine)}},
        [PATH_FIXED] = {VB, {.bytes = BYTES_TO(fixed)}},
        [PATH_FIXED_PIXELS] = {VB, {.pixels = {[I8] = {[I8] = HERE(pixels_i8_to_i8), [U8] = HERE(pixels_i8_to_u8)},
                                          [U8] = {[I8] = HERE(pixels_u8_to_i8), [U8] = HERE(pixels_u8_to_u8)}}}},
        [PATH_GRAY] = {GRAY_STEP, {.gray = {[GRAY_U8] = HERE(gray_u8)}}},
        [PATH_GRAY_WIDE] = {VB, {.gray = {[GRAY_U16] = HERE(gray_u16), [GRAY_F32] = HERE(gray_f32)}}},
        [PATH_ARGMAX] = {VB, {.largest = LARGEST_OF_ALL, .widen = WIDENS}},
        [PATH_ARGMAX_BLOCKS] = {VB, {.largest = LARGEST_OF_ALL, .widen = WIDENS, .fold = FOLDS_OF_ALL}},
        [PATH_ACROSS] = {ACROSS_STEP, {.across = ACROSS_F32, .across_runs = ACROSS_RUNS_F32}},
        [PATH_TOP_K] = {VB, {KEYS_OF_ALL, .top_k = HERE(top_k)}},
        [PATH_TOP_K_ACROSS] = {VB, {KEYS_OF_ALL, .top_k_across = HERE(top_k_across)}},
        [PATH_SOFTMAX] = {VB, {.softmax_in_registers = HERE(softmax_in_registers), .maxima = HERE(maxima), .exponentials = HERE(exponentials),
                               .scale = HERE(scale), .copy = HERE(copy)}},
        [PATH_SOFTMAX_ACROSS] = {ACROSS_STEP, {.softmax_across = SOFTMAX_ACROSS}},
        [PATH_SIGMOID] = {VB, {.sigmoid = HERE(sigmoid)}},
        [PATH_PEAKS] = {VB, {.peak = {HERE(peak_i8), HERE(peak_u8), HERE(peak_i16), HERE(peak_u16), HERE(peak_i32), NULL, NULL, HERE(peak_f32)}}},
    },
    HERE(fence),
    &HERE(picture_loops),
    &HERE(detect_loops),
    {[SUMS_F32] = HERE(row_sums_f32), [SUMS_F64] = HERE(row_sums_f64)},
    NARROWER,
};
