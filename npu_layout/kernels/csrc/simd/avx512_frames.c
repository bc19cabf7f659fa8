#if defined(__x86_64__)
#include "simd/avx512.h"
#include "simd/frames.h"
#include "simd/end.h"
#endif
