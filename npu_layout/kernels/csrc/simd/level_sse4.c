#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("sse4.1"))), apply_to = function)
#else
#pragma GCC target("sse4.1")
#endif
#define LEVEL sse4
#define NARROWER NULL
#define VB 16
#include "simd/level.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
