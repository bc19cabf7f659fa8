#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,f16c,fma"))), apply_to = function)
#else
#pragma GCC target("avx2,f16c,fma")
#endif
#define LEVEL avx2
#define NARROWER &level_sse4
#define VB 32
#include "simd/level.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
