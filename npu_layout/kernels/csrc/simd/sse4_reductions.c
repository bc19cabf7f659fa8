#if defined(__x86_64__)
#include "simd/sse4.h"
#include "simd/reductions.h"
#include "simd/end.h"
#endif
