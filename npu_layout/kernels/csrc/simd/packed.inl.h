/* Rows of packed pixels, level by level: the loops of packed_rows.inl.h, with windows of 16 bytes and, where the machine has
 * them, with the wide ones of AVX-512 VBMI. */
#if SHUFFLES && defined(__SSE2__)
INLINE W weighted(V pairs, const Weights *w, int64_t i) {
    const W high = (W)whole((const uint8_t *)w->high + i), low = (W)whole((const uint8_t *)w->low + i);
    return PLUS(Y(maddubs_epi16)((W)pairs, high), Y(srli_epi16)(Y(maddubs_epi16)((W)pairs, low), 4));
}

/* Two rows that are fetched while others are read: the lines up to those that the next vectors read, once each. */
typedef struct {
    const uint8_t *row[2];
    int64_t at;
} RowFetch;
INLINE void fetch_up_to(RowFetch *ahead, int64_t last) {
    for (; ahead->at <= last + 63; ahead->at += 64)
        __builtin_prefetch(ahead->row[0] + ahead->at), __builtin_prefetch(ahead->row[1] + ahead->at);
}
#define KINDS(call) \
    if (g->kind == WINDOWS_1) call(WINDOWS_1); \
    else if (g->kind == WINDOWS_2) call(WINDOWS_2); \
    else call(WINDOWS_4)
#define PER_VECTOR(kind) (((kind) == WINDOWS_1 ? 1 : (kind) == WINDOWS_2 ? 2 : 4) * LANES)
#define PICK(kind, row, at, order) picked_windows((kind) == WINDOWS_1 ? 1 : (kind) == WINDOWS_2 ? 2 : 4, row, at, order)
#define PACKED(name) HERE(packed##name)
#define TARGET
#include "simd/packed_rows.inl.h"
#if VB == 64
#define KINDS(call) \
    if (g->kind == WIDE_64) call(WIDE_64); \
    else if (g->kind == WIDE_128) call(WIDE_128); \
    else call(WIDE_256)
#define PER_VECTOR(kind) ((kind) == WIDE_256 ? 2 : 1)
#define PICK(kind, row, at, order)                                                                      \
    ((kind) == WIDE_64    ? _mm512_permutexvar_epi8(order, whole((row) + (at)[0]))                      \
     : (kind) == WIDE_128 ? PICKED_128((row) + (at)[0], order)                                          \
                          : _mm512_mask_blend_epi8(~0ull << 32, PICKED_128((row) + (at)[0], order), PICKED_128((row) + (at)[1], order)))
#define PACKED(name) HERE(packed##name##_wide)
#define TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi")))
#include "simd/packed_rows.inl.h"
#endif
#endif
