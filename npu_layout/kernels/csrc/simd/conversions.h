/* The conversions of one instruction set and their table; LEVEL and VB as in moves.h. */
#include "simd/vector.inl.h"
#include "simd/numbers.inl.h"
#include "simd/steps.inl.h"
#include "simd/arithmetic.inl.h"
#include "simd/fixed.inl.h"
#include "simd/bytes.inl.h"
#include "simd/planes.inl.h"
#include "simd/reversed.inl.h"
#include "simd/channels.inl.h"
#include "simd/pixels.inl.h"
#include "simd/pixel_conversions.inl.h"

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
const Fast HERE(conversions)[] = {
    [PATH_LOAD - FIRST_CONVERSION] = {VB, {.load = {[I8] = LOADS(i8), [U8] = LOADS(u8), [I16] = LOADS(i16), [U16] = LOADS(u16), [I32] = LOADS(i32),
                        [F16] = LOADS(f16), [BF16] = LOADS(bf16), [F32] = LOADS(f32)}}},
    [PATH_LOAD_TRANSPOSED - FIRST_CONVERSION] = {VB, {.from = {[I8] = {[UNDIVIDED] = HERE(transposed_i8), [DIVIDED] = HERE(transposed_i8_divided)},
                                                  [U8] = {[UNDIVIDED] = HERE(transposed_u8), [DIVIDED] = HERE(transposed_u8_divided)},
                                                  [I16] = {[UNDIVIDED] = HERE(transposed_i16)},
                                                  [U16] = {[UNDIVIDED] = HERE(transposed_u16)},
                                                  [F16] = {[UNDIVIDED] = HERE(transposed_f16)},
                                                  [BF16] = {[UNDIVIDED] = HERE(transposed_bf16)}}}},
    [PATH_STORE - FIRST_CONVERSION] = {VB, {.store = {[I8] = STORES(i8),
                                   [U8] = STORES(u8),
                                   [I16] = STORES(i16),
                                   [U16] = STORES(u16),
                                   [F16] = STORES_PLAIN(f16),
                                   [BF16] = STORES_PLAIN(bf16),
                                   [F32] = STORES_PLAIN(f32)}}},
    [PATH_STORE_I32 - FIRST_CONVERSION] = {VB, {.store = {[I32] = STORES(i32)}}},
    [PATH_STORE_TRANSPOSED - FIRST_CONVERSION] = {VB, {.to = {[I8] = HERE(planes_to_i8), [U8] = HERE(planes_to_u8),
                                           [F16] = HERE(planes_to_f16), [BF16] = HERE(planes_to_bf16)}}},
    [PATH_QUANTIZE - FIRST_CONVERSION] = {VB, {.quantize = {[I8] = HERE(quantize_i8), [U8] = HERE(quantize_u8), [I32] = HERE(quantize_i32)}}},
    [PATH_AFFINE - FIRST_CONVERSION] = {VB, {.bytes = BYTES_TO(affine)}},
    [PATH_FIXED - FIRST_CONVERSION] = {VB, {.bytes = BYTES_TO(fixed)}},
    [PATH_FIXED_PIXELS - FIRST_CONVERSION] = {VB, {.pixels = {[I8] = {[I8] = HERE(pixels_i8_to_i8), [U8] = HERE(pixels_i8_to_u8)},
                                      [U8] = {[I8] = HERE(pixels_u8_to_i8), [U8] = HERE(pixels_u8_to_u8)}}}},
};
