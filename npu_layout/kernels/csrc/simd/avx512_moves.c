#if defined(__x86_64__)
#include "simd/avx512.h"
#include "simd/moves.h"
#include "simd/end.h"
#endif
