/* The moves of one instruction set and their table. LEVEL is the instruction set's name, VB the bytes of its vectors (16, 32, 64). */
#include "cold.h"
#include "simd/vector.inl.h"
#include "simd/steps.inl.h"
#include "simd/copies.inl.h"
#include "simd/rows.inl.h"
#include "simd/narrow.inl.h"
#include "simd/tiles.inl.h"
#include "simd/cover.inl.h"
#include "simd/bands.inl.h"
#include "simd/lanes.inl.h"
#include "simd/transpose.inl.h"
#include "simd/reversed.inl.h"
#include "simd/reverse.inl.h"
#include "simd/channels.inl.h"
#include "simd/fixed.inl.h"
#include "simd/pixels.inl.h"
#include "simd/pixel_moves.inl.h"
#include "simd/pads.inl.h"

const Fast HERE(moves)[] = {
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
};
