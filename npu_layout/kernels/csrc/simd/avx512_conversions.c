#if defined(__x86_64__)
#include "simd/avx512.h"
#include "simd/conversions.h"
#include "simd/end.h"
#endif
