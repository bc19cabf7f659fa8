#include "simd/base.h"
#include "simd/frames.h"
