#include "simd/base.h"
#include "simd/moves.h"
