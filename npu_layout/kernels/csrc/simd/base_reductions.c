#include "simd/base.h"
#include "simd/reductions.h"
