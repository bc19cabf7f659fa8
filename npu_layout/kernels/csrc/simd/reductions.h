/* Reductions and the loops of detectors of one instruction set and their tables; LEVEL and VB as in moves.h. */
#include "simd/vector.inl.h"
#include "simd/copies.inl.h"
#include "simd/numbers.inl.h"
#include "simd/steps.inl.h"
#include "simd/reduce.inl.h"
#include "simd/across_blocks.inl.h"
#include "simd/fold.inl.h"
#include "simd/top_k.inl.h"
#include "simd/softmax.inl.h"
#include "simd/sigmoid.inl.h"
#include "simd/peaks.inl.h"
#include "simd/scan_codes.inl.h"
#include "simd/scan_planes.inl.h"
#include "simd/scan_pieces.inl.h"
#include "simd/scan.inl.h"
#include "simd/powers.inl.h"
#include "simd/least_sum.inl.h"
#include "simd/overlaps.inl.h"
#include "simd/row_sums.inl.h"

#define KEYS_OF_ALL                                                                                                        \
    .keys = {HERE(keys_i8), HERE(keys_u8), HERE(keys_i16), HERE(keys_u16), HERE(keys_i32), HERE(keys_f16), HERE(keys_bf16), \
             HERE(keys_f32)}
#define LARGEST_OF_ALL                                                                                              \
    {HERE(largest_i8), HERE(largest_u8), HERE(largest_i16), HERE(largest_u16), HERE(largest_i32), HERE(largest_f16), \
     HERE(largest_bf16), HERE(largest_f32)}
#define WIDENS {HERE(widen_1), HERE(widen_2), HERE(widen_4)}
#define FOLDS_OF_ALL                                                                                              \
    {HERE(fold1), HERE(fold1), HERE(fold2), HERE(fold2), HERE(fold4), HERE(fold2), HERE(fold2), HERE(fold_f32)}
const Fast HERE(reductions)[] = {
    [PATH_ARGMAX - FIRST_REDUCTION] = {VB, {.largest = LARGEST_OF_ALL, .widen = WIDENS}},
    [PATH_ARGMAX_BLOCKS - FIRST_REDUCTION] = {VB, {.largest = LARGEST_OF_ALL, .widen = WIDENS, .fold = FOLDS_OF_ALL}},
    [PATH_ACROSS - FIRST_REDUCTION] = {ACROSS_STEP, {.across = ACROSS_F32, .across_runs = ACROSS_RUNS_F32, .across_blocks = ACROSS_BLOCKS_F32}},
    [PATH_TOP_K - FIRST_REDUCTION] = {VB, {KEYS_OF_ALL, .top_k = HERE(top_k)}},
    [PATH_TOP_K_ACROSS - FIRST_REDUCTION] = {VB, {KEYS_OF_ALL, .top_k_across = HERE(top_k_across)}},
    [PATH_SOFTMAX - FIRST_REDUCTION] = {VB, {.softmax_in_registers = HERE(softmax_in_registers), .maxima = HERE(maxima), .exponentials = HERE(exponentials),
                           .scale = HERE(scale), .copy = HERE(copy)}},
    [PATH_SOFTMAX_ACROSS - FIRST_REDUCTION] = {ACROSS_STEP, {.softmax_across = SOFTMAX_ACROSS}},
    [PATH_SIGMOID - FIRST_REDUCTION] = {VB, {.sigmoid = HERE(sigmoid)}},
    [PATH_PEAKS - FIRST_REDUCTION] = {VB, {.peak = {HERE(peak_i8), HERE(peak_u8), HERE(peak_i16), HERE(peak_u16), HERE(peak_i32), HERE(peak_f16), HERE(peak_bf16), HERE(peak_f32)}}},
};
RowSums *const HERE(row_sums_loops)[SUMS_TYPES] = {[SUMS_F32] = HERE(row_sums_f32), [SUMS_F64] = HERE(row_sums_f64)};
