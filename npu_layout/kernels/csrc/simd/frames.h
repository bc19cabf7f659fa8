/* Gray and the rows of pictures of one instruction set and their tables; LEVEL and VB as in moves.h. */
#include "simd/vector.inl.h"
#include "simd/numbers.inl.h"
#include "simd/steps.inl.h"
#include "simd/fixed.inl.h"
#include "simd/reversed.inl.h"
#include "simd/channels.inl.h"
#include "simd/gray.inl.h"
#include "simd/gather.inl.h"
#include "simd/lines.inl.h"
#include "simd/yuv.inl.h"
#include "simd/rows_neon.inl.h"
#include "simd/packed.inl.h"
#include "simd/far.inl.h"
#include "simd/boxes.inl.h"
#include "simd/rows_made.inl.h"
#include "simd/to_yuv.inl.h"
#include "simd/yuv_plain.inl.h"

const Fast HERE(grays)[] = {
    [PATH_GRAY - FIRST_GRAY] = {GRAY_STEP, {.gray = {[GRAY_U8] = HERE(gray_u8)}}},
    [PATH_GRAY_WIDE - FIRST_GRAY] = {VB, {.gray = {[GRAY_U16] = HERE(gray_u16), [GRAY_F32] = HERE(gray_f32)}}},
};
