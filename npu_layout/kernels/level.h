/* The loops of one instruction set and their table: LEVEL is its name, VB its vector's bytes (16, 32, 64). */
#include "vector_level.h"
#include "transpose_level.h"
#include "channels_level.h"
#include "arithmetic_level.h"
#include "pixels_level.h"
#include "gray_level.h"
#include "reduce_level.h"
#include "peaks_level.h"

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
const Level HERE(level) = {
    STRINGIFY(LEVEL),
    VB,
    {
        [PATH_COPY] = {HERE(move_copy), VB},
        [PATH_TRANSPOSE] = {HERE(move_transpose), VB},
        [PATH_SPLIT] = {HERE(move_split), VB},
        [PATH_MERGE] = {HERE(move_merge), VB},
        [PATH_PIXELS] = {HERE(move_pixels), VB},
        [PATH_STRIDED] = {HERE(move_strided), 0},
    },
    {LOADS(i8), LOADS(u8), LOADS(i16), LOADS(u16), LOADS(i32), LOADS(f16), LOADS(bf16), LOADS(f32)},
    {
        {HERE(store_i8), HERE(store_i8_each)},
        {HERE(store_u8), HERE(store_u8_each)},
        {HERE(store_i16), HERE(store_i16_each)},
        {HERE(store_u16), HERE(store_u16_each)},
        {HERE(store_i32), HERE(store_i32_each)},
        {HERE(store_f16), HERE(store_f16)},
        {HERE(store_bf16), HERE(store_bf16)},
        {HERE(store_f32), HERE(store_f32)},
    },
    {{{{HERE(brief_000), HERE(brief_001)}, {HERE(brief_010), HERE(brief_011)}},
      {{HERE(brief_100), HERE(brief_101)}, {HERE(brief_110), HERE(brief_111)}}},
     {{{HERE(short_000), HERE(short_001)}, {HERE(short_010), HERE(short_011)}},
      {{HERE(short_100), HERE(short_101)}, {HERE(short_110), HERE(short_111)}}}},
    {{HERE(pixels_00), HERE(pixels_01)}, {HERE(pixels_10), HERE(pixels_11)}},
    {HERE(quantize_i8), HERE(quantize_u8)},
    {HERE(gray_u8), HERE(gray_u16), HERE(gray_f32)},
    HERE(fence),
};
