/* What stored elements mean, by plain C. */
#ifndef TESTS_VALUES_H
#define TESTS_VALUES_H

#include <math.h>
#include <string.h>

#include "levels.h"

static float half(uint16_t u) {
    const int exponent = u >> 10 & 31, fraction = u & 1023;
    const float x = exponent == 31 ? fraction ? NAN : INFINITY : exponent ? ldexpf((float)(fraction + 1024), exponent - 25) : ldexpf((float)fraction, -24);
    return u >> 15 ? -x : x;
}

static float value(Dtype type, const uint8_t *p) {
    int8_t b;
    int16_t h = 0;
    uint16_t u = 0;
    int32_t w = 0;
    float f = 0;
    memcpy(&b, p, 1);
    if (dtype_size[type] == 2) memcpy(&h, p, 2), memcpy(&u, p, 2);
    if (dtype_size[type] == 4) memcpy(&w, p, 4), memcpy(&f, p, 4);
    switch (type) {
        case I8: return b;
        case U8: return *p;
        case I16: return h;
        case U16: return u;
        case I32: return (float)w;
        case F16: return half(u);
        case BF16: w = (int32_t)((uint32_t)u << 16), memcpy(&f, &w, 4); return f;
        default: return f;
    }
}

#endif
