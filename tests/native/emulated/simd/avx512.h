/* In place of csrc/simd/avx512.h: the level with vectors of 64 bytes, for machines with AVX2. */
#include "avx512_in_avx2.h"
#pragma GCC target("avx2,f16c,fma")
#define LEVEL avx512
#define VB 64
