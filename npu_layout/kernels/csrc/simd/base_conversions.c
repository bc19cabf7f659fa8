#include "simd/base.h"
#include "simd/conversions.h"
