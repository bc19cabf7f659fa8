#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,f16c,fma"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx2,f16c,fma")
#endif
#define LEVEL avx512
#define NARROWER &level_avx2
#define VB 64
#include "simd/level.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
