/* What every machine of this kind can do: SSE2 or NEON. */
#define LEVEL base
#define NARROWER NULL
#define VB 16
#include "simd/level.h"
