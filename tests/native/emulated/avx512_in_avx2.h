/* Those of AVX-512's instructions that the kernels use, in AVX2 and loops over elements, from the operations in Intel's
 * Intrinsics Guide. They replace the compiler's own by their names (names.h): what is missing there does not compile. */
#include <immintrin.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* An empty statement that keeps a vector in a register cannot have one of 64 bytes; and no function may have
 * instructions of AVX-512. */
#define __asm__(...) (void)0
#define target(...)

#pragma GCC push_options
#pragma GCC target("avx2,f16c,fma")

#define EMULATED static inline __attribute__((always_inline, unused))
#define EACH_OF(n) for (int k = 0; k < (n); ++k)
#define BIT_OF(mask, k) ((uint64_t)(mask) >> (k) & 1)

typedef union {
    __m512i v;
    __m512 f;
    __m512d d;
    __m256i half[2];
    __m256 half_f[2];
    __m256d half_d[2];
    __m128i quarter[4];
    __m128 quarter_f[4];
    int8_t i8[64];
    uint8_t u8[64];
    int16_t i16[32];
    uint16_t u16[32];
    int32_t i32[16];
    uint32_t u32[16];
    int64_t i64[8];
    uint64_t u64[8];
} Vector512;

/* Two halves by AVX2's instruction of the same name. */
#define BY_HALVES(name)                                                                                     \
    EMULATED __m512i emulated_##name(__m512i a, __m512i b) {                                                \
        const Vector512 x = {.v = a}, y = {.v = b};                                                         \
        Vector512 z;                                                                                        \
        EACH_OF(2) z.half[k] = _mm256_##name(x.half[k], y.half[k]);                                         \
        return z.v;                                                                                         \
    }
BY_HALVES(add_epi16)
BY_HALVES(adds_epi16)
BY_HALVES(maddubs_epi16)
BY_HALVES(max_epi8)
BY_HALVES(max_epi16)
BY_HALVES(max_epi32)
BY_HALVES(min_epi32)
BY_HALVES(mulhi_epi16)
BY_HALVES(mulhi_epu16)
BY_HALVES(mulhrs_epi16)
BY_HALVES(mullo_epi16)
BY_HALVES(packs_epi16)
BY_HALVES(packs_epi32)
BY_HALVES(packus_epi16)
BY_HALVES(shuffle_epi8)
BY_HALVES(sub_epi16)
BY_HALVES(subs_epu8)
BY_HALVES(subs_epu16)
BY_HALVES(unpackhi_epi8)
BY_HALVES(unpackhi_epi16)
BY_HALVES(unpackhi_epi32)
BY_HALVES(unpackhi_epi64)
BY_HALVES(unpacklo_epi8)
BY_HALVES(unpacklo_epi16)
BY_HALVES(unpacklo_epi32)
BY_HALVES(unpacklo_epi64)

#define FLOATS_BY_HALVES(name)                                                                              \
    EMULATED __m512 emulated_##name(__m512 a, __m512 b) {                                                   \
        const Vector512 x = {.f = a}, y = {.f = b};                                                         \
        Vector512 z;                                                                                        \
        EACH_OF(2) z.half_f[k] = _mm256_##name(x.half_f[k], y.half_f[k]);                                   \
        return z.f;                                                                                         \
    }
FLOATS_BY_HALVES(max_ps)
FLOATS_BY_HALVES(min_ps)
EMULATED __m512 emulated_fmadd_ps(__m512 a, __m512 b, __m512 c) {
    const Vector512 x = {.f = a}, y = {.f = b}, t = {.f = c};
    Vector512 z;
    EACH_OF(2) z.half_f[k] = _mm256_fmadd_ps(x.half_f[k], y.half_f[k], t.half_f[k]);
    return z.f;
}

#define SHIFTED(name, instruction)                                                                          \
    EMULATED __m512i emulated_##name(__m512i a, __m128i by) {                                               \
        const Vector512 x = {.v = a};                                                                       \
        Vector512 z;                                                                                        \
        EACH_OF(2) z.half[k] = instruction(x.half[k], by);                                                  \
        return z.v;                                                                                         \
    }
SHIFTED(sra_epi16, _mm256_sra_epi16)
SHIFTED(srl_epi16, _mm256_srl_epi16)
EMULATED __m512i emulated_srai_epi16(__m512i a, unsigned by) { return emulated_sra_epi16(a, _mm_cvtsi32_si128((int)by)); }
EMULATED __m512i emulated_srli_epi16(__m512i a, unsigned by) { return emulated_srl_epi16(a, _mm_cvtsi32_si128((int)by)); }

/* Loads, stores, constants. A store past the caches faults where it is not aligned. */
EMULATED __m512i emulated_loadu_si512(const void *p) {
    Vector512 z;
    memcpy(&z, p, 64);
    return z.v;
}
EMULATED void emulated_storeu_si512(void *p, __m512i a) { memcpy(p, &a, 64); }
EMULATED void emulated_stream_si512(void *p, __m512i a) {
    const Vector512 x = {.v = a};
    if ((uintptr_t)p % 64) __builtin_trap();
    EACH_OF(2) _mm256_stream_si256((__m256i *)p + k, x.half[k]);
}
EMULATED __m512i emulated_setzero_si512(void) { return (__m512i){0}; }
EMULATED __m512i emulated_broadcast_i32x4(__m128i a) {
    Vector512 z;
    EACH_OF(4) z.quarter[k] = a;
    return z.v;
}
EMULATED __m512i emulated_set1_epi8(int a) { return emulated_broadcast_i32x4(_mm_set1_epi8((char)a)); }
EMULATED __m512i emulated_set1_epi16(int a) { return emulated_broadcast_i32x4(_mm_set1_epi16((short)a)); }
EMULATED __m512 emulated_set1_ps(float a) { return (__m512)emulated_broadcast_i32x4((__m128i)_mm_set1_ps(a)); }
#define SET(n, type, member, ...)                                                                           \
    ({                                                                                                      \
        const type listed[n] = {__VA_ARGS__};                                                               \
        Vector512 made;                                                                                     \
        EACH_OF(n) made.member[n - 1 - k] = listed[k];                                                      \
        made.v;                                                                                             \
    })
#define emulated_set_epi16(...) SET(32, int16_t, i16, __VA_ARGS__)
#define emulated_set_epi32(...) SET(16, int32_t, i32, __VA_ARGS__)
#define emulated_set_epi64(...) SET(8, int64_t, i64, __VA_ARGS__)

/* Parts. What is beyond the half of a cast is undefined: rubbish here. */
#define PART(name, result, from, member)                                                                    \
    EMULATED result emulated_##name(from a, int at) {                                                       \
        const union {                                                                                       \
            from whole;                                                                                     \
            Vector512 parts;                                                                                \
        } x = {a};                                                                                          \
        return x.parts.member[at];                                                                          \
    }
PART(extracti32x4_epi32, __m128i, __m512i, quarter)
PART(extracti64x4_epi64, __m256i, __m512i, half)
PART(extractf32x8_ps, __m256, __m512, half_f)
PART(part_ps128, __m128, __m512, quarter_f)
#define emulated_castps512_ps128(a) emulated_part_ps128(a, 0)
#define emulated_castps512_ps256(a) emulated_extractf32x8_ps(a, 0)
#define emulated_castsi512_si256(a) emulated_extracti64x4_epi64(a, 0)
EMULATED __m512i emulated_castsi256_si512(__m256i a) {
    Vector512 z;
    memset(&z, 0xA5, 64);
    z.half[0] = a;
    return z.v;
}
EMULATED __m512i emulated_inserti64x4(__m512i a, __m256i b, int at) {
    Vector512 z = {.v = a};
    z.half[at] = b;
    return z.v;
}

/* Masks and permutations of n elements. */
#define COMPARED(name, bits, n, how)                                                                        \
    EMULATED __mmask##n emulated_##name##_epi##bits##_mask(__m512i a, __m512i b) {                          \
        const Vector512 x = {.v = a}, y = {.v = b};                                                         \
        uint64_t mask = 0;                                                                                  \
        EACH_OF(n) mask |= (uint64_t)(x.i##bits[k] how y.i##bits[k]) << k;                                  \
        return (__mmask##n)mask;                                                                            \
    }
#define ELEMENTS(bits, n)                                                                                   \
    COMPARED(cmpeq, bits, n, ==)                                                                            \
    COMPARED(cmpgt, bits, n, >)                                                                             \
    COMPARED(cmpge, bits, n, >=)                                                                            \
    EMULATED __mmask##n emulated_mask_cmpgt_epi##bits##_mask(__mmask##n among, __m512i a, __m512i b) {      \
        return (__mmask##n)(among & emulated_cmpgt_epi##bits##_mask(a, b));                                 \
    }                                                                                                       \
    EMULATED __m512i emulated_mask_mov_epi##bits(__m512i from, __mmask##n mask, __m512i a) {                \
        const Vector512 x = {.v = a};                                                                       \
        Vector512 z = {.v = from};                                                                          \
        EACH_OF(n) if (BIT_OF(mask, k)) z.i##bits[k] = x.i##bits[k];                                        \
        return z.v;                                                                                         \
    }                                                                                                       \
    EMULATED __m512i emulated_mask_blend_epi##bits(__mmask##n mask, __m512i a, __m512i b) {                 \
        return emulated_mask_mov_epi##bits(a, mask, b);                                                     \
    }                                                                                                       \
    EMULATED __m512i emulated_maskz_loadu_epi##bits(__mmask##n mask, const void *p) {                       \
        Vector512 z = {.v = {0}};                                                                           \
        EACH_OF(n) if (BIT_OF(mask, k)) memcpy(&z.i##bits[k], (const char *)p + k * (bits / 8), bits / 8);  \
        return z.v;                                                                                         \
    }                                                                                                       \
    EMULATED __m512i emulated_permutexvar_epi##bits(__m512i order, __m512i a) {                             \
        const Vector512 x = {.v = a}, at = {.v = order};                                                    \
        Vector512 z;                                                                                        \
        EACH_OF(n) z.i##bits[k] = x.i##bits[at.u##bits[k] % n];                                             \
        return z.v;                                                                                         \
    }                                                                                                       \
    EMULATED __m512i emulated_permutex2var_epi##bits(__m512i a, __m512i order, __m512i b) {                 \
        const Vector512 x = {.v = a}, y = {.v = b}, at = {.v = order};                                      \
        Vector512 z;                                                                                        \
        EACH_OF(n) z.i##bits[k] = (at.u##bits[k] & n ? y : x).i##bits[at.u##bits[k] % n];                   \
        return z.v;                                                                                         \
    }
ELEMENTS(8, 64)
ELEMENTS(16, 32)
ELEMENTS(32, 16)
ELEMENTS(64, 8)
EMULATED __m512i emulated_mask_sub_epi16(__m512i from, __mmask32 mask, __m512i a, __m512i b) {
    return emulated_mask_mov_epi16(from, mask, emulated_sub_epi16(a, b));
}
EMULATED __mmask16 emulated_movepi32_mask(__m512i a) { return emulated_cmpgt_epi32_mask((__m512i){0}, a); }

/* The same of floats, whose bits are moved. */
EMULATED __m512 emulated_permutex2var_ps(__m512 a, __m512i order, __m512 b) {
    return (__m512)emulated_permutex2var_epi32((__m512i)a, order, (__m512i)b);
}
EMULATED __m512 emulated_mask_loadu_ps(__m512 from, __mmask16 mask, const void *p) {
    return (__m512)emulated_mask_mov_epi32((__m512i)from, mask, emulated_maskz_loadu_epi32(mask, p));
}
EMULATED __m512 emulated_maskz_mov_ps(__mmask16 mask, __m512 a) {
    return (__m512)emulated_mask_mov_epi32((__m512i){0}, mask, (__m512i)a);
}
EMULATED __m512 emulated_maskz_compress_ps(__mmask16 mask, __m512 a) {
    const Vector512 x = {.f = a};
    Vector512 z = {.v = {0}};
    int count = 0;
    EACH_OF(16) if (BIT_OF(mask, k)) z.u32[count++] = x.u32[k];
    return z.f;
}
#define emulated_cmp_ps_mask(a, b, how)                                                                     \
    ({                                                                                                      \
        const Vector512 left = {.f = (a)}, right = {.f = (b)};                                              \
        const __m256 low = _mm256_cmp_ps(left.half_f[0], right.half_f[0], how);                             \
        const __m256 high = _mm256_cmp_ps(left.half_f[1], right.half_f[1], how);                            \
        (__mmask16)(_mm256_movemask_ps(low) | _mm256_movemask_ps(high) << 8);                               \
    })
#define emulated_mask_cmp_ps_mask(among, a, b, how) ((__mmask16)((among) & emulated_cmp_ps_mask(a, b, how)))

/* Lanes of 16 bytes, two bits of `how` for each; elements in the lanes; logic by a table of its eight cases. */
EMULATED __m512i emulated_shuffle_i32x4(__m512i a, __m512i b, int how) {
    const Vector512 x = {.v = a}, y = {.v = b};
    Vector512 z;
    EACH_OF(4) z.quarter[k] = (k < 2 ? x : y).quarter[how >> 2 * k & 3];
    return z.v;
}
#define emulated_shuffle_i64x2 emulated_shuffle_i32x4
EMULATED __m512 emulated_shuffle_f32x4(__m512 a, __m512 b, int how) {
    return (__m512)emulated_shuffle_i32x4((__m512i)a, (__m512i)b, how);
}
EMULATED __m512 emulated_shuffle_ps(__m512 a, __m512 b, int how) {
    const Vector512 x = {.f = a}, y = {.f = b};
    Vector512 z;
    EACH_OF(16) z.u32[k] = (k % 4 < 2 ? x : y).u32[k / 4 * 4 + (how >> k % 4 * 2 & 3)];
    return z.f;
}
EMULATED __m512 emulated_permute_ps(__m512 a, int how) { return emulated_shuffle_ps(a, a, how); }
EMULATED __m512i emulated_ternarylogic_epi64(__m512i a, __m512i b, __m512i c, int table) {
    const Vector512 x = {.v = a}, y = {.v = b}, t = {.v = c};
    Vector512 z = {.v = {0}};
    for (int which = 0; which < 8; ++which)
        if (table >> which & 1)
            EACH_OF(8)
            z.u64[k] |= (which & 4 ? x.u64[k] : ~x.u64[k]) & (which & 2 ? y.u64[k] : ~y.u64[k]) &
                        (which & 1 ? t.u64[k] : ~t.u64[k]);
    return z.v;
}

/* Conversions. */
#define WIDENED(name, from, n, wide, narrow)                                                                \
    EMULATED __m512i emulated_##name(from a) {                                                              \
        union {                                                                                             \
            from whole;                                                                                     \
            narrow each[n];                                                                                 \
        } x = {a};                                                                                          \
        Vector512 z;                                                                                        \
        EACH_OF(n) z.wide[k] = x.each[k];                                                                   \
        return z.v;                                                                                         \
    }
WIDENED(cvtepi8_epi32, __m128i, 16, i32, int8_t)
WIDENED(cvtepu8_epi32, __m128i, 16, i32, uint8_t)
WIDENED(cvtepi16_epi32, __m256i, 16, i32, int16_t)
WIDENED(cvtepu16_epi32, __m256i, 16, i32, uint16_t)
WIDENED(cvtepu8_epi16, __m256i, 32, i16, uint8_t)
#define NARROWED(name, to, narrow)                                                                          \
    EMULATED to emulated_##name(__m512i a) {                                                                \
        const Vector512 x = {.v = a};                                                                       \
        union {                                                                                             \
            to whole;                                                                                       \
            narrow each[16];                                                                                \
        } z;                                                                                                \
        EACH_OF(16) z.each[k] = (narrow)x.u32[k];                                                           \
        return z.whole;                                                                                     \
    }
NARROWED(cvtepi32_epi8, __m128i, uint8_t)
NARROWED(cvtepi32_epi16, __m256i, uint16_t)
EMULATED __m512i emulated_cvtps_epi32(__m512 a) {
    const Vector512 x = {.f = a};
    Vector512 z;
    EACH_OF(2) z.half[k] = _mm256_cvtps_epi32(x.half_f[k]);
    return z.v;
}
EMULATED __m512d emulated_cvtps_pd(__m256 a) {
    Vector512 z;
    z.half_d[0] = _mm256_cvtps_pd(_mm256_castps256_ps128(a)), z.half_d[1] = _mm256_cvtps_pd(_mm256_extractf128_ps(a, 1));
    return z.d;
}
EMULATED __m512 emulated_cvtph_ps(__m256i a) {
    Vector512 z;
    z.half_f[0] = _mm256_cvtph_ps(_mm256_castsi256_si128(a)), z.half_f[1] = _mm256_cvtph_ps(_mm256_extracti128_si256(a, 1));
    return z.f;
}
#define emulated_cvtps_ph(a, how)                                                                           \
    ({                                                                                                      \
        const Vector512 given = {.f = (a)};                                                                 \
        _mm256_set_m128i(_mm256_cvtps_ph(given.half_f[1], how), _mm256_cvtps_ph(given.half_f[0], how));     \
    })
#pragma GCC pop_options

#include "names.h"
