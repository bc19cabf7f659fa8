/* The largest of neighbouring bytes. */
#ifndef NPU_LAYOUT_LARGEST_H
#define NPU_LAYOUT_LARGEST_H

#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
typedef __m128i Sixteen;
static inline Sixteen sixteen_at(const uint8_t *p) { return _mm_loadu_si128((const __m128i *)p); }
static inline Sixteen sixteen_of(uint8_t byte) { return _mm_set1_epi8((char)byte); }
static inline Sixteen sixteen_most(Sixteen a, Sixteen b) { return _mm_max_epu8(a, b); }
static inline uint8_t sixteen_largest(Sixteen v) {
    v = _mm_max_epu8(v, _mm_srli_si128(v, 8)), v = _mm_max_epu8(v, _mm_srli_si128(v, 4));
    v = _mm_max_epu8(v, _mm_srli_si128(v, 2)), v = _mm_max_epu8(v, _mm_srli_si128(v, 1));
    return (uint8_t)_mm_cvtsi128_si32(v);
}
#elif defined(__aarch64__)
#include <arm_neon.h>
typedef uint8x16_t Sixteen;
static inline Sixteen sixteen_at(const uint8_t *p) { return vld1q_u8(p); }
static inline Sixteen sixteen_of(uint8_t byte) { return vdupq_n_u8(byte); }
static inline Sixteen sixteen_most(Sixteen a, Sixteen b) { return vmaxq_u8(a, b); }
static inline uint8_t sixteen_largest(Sixteen v) { return vmaxvq_u8(v); }
#else
typedef uint8_t Sixteen __attribute__((vector_size(16)));
static inline Sixteen sixteen_at(const uint8_t *p) {
    Sixteen v;
    memcpy(&v, p, sizeof v);
    return v;
}
static inline Sixteen sixteen_of(uint8_t byte) { return (Sixteen){0} + byte; }
static inline Sixteen sixteen_most(Sixteen a, Sixteen b) {
    const Sixteen larger = (Sixteen)(a > b);
    return (a & larger) | (b & ~larger);
}
static inline uint8_t sixteen_largest(Sixteen v) {
    uint8_t most = v[0];
    for (int i = 1; i < 16; ++i) most = v[i] > most ? v[i] : most;
    return most;
}
#endif

/* The largest p[i] ^ flip of n. */
static inline __attribute__((always_inline)) uint8_t largest_byte(const uint8_t *p, int64_t n, uint8_t flip) {
    uint8_t most = p[0] ^ flip;
    if (n >= 16) {
        const Sixteen flips = sixteen_of(flip);
        Sixteen top = sixteen_at(p + n - 16) ^ flips;
        for (int64_t i = 0; i + 16 < n; i += 16) top = sixteen_most(top, sixteen_at(p + i) ^ flips);
        return sixteen_largest(top);
    }
    for (int64_t i = 1; i < n; ++i) most = (p[i] ^ flip) > most ? p[i] ^ flip : most;
    return most;
}

#endif
