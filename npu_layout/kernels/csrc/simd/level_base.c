/* The instructions that every machine of this architecture has: SSE2 or NEON. */
#define LEVEL base
#define NARROWER NULL
#define VB 16
#include "simd/level.h"
