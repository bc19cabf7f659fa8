#if defined(__x86_64__)
#include "simd/avx2.h"
#include "simd/reductions.h"
#include "simd/end.h"
#endif
