/* Convert pixels to grayscale. */
#ifndef NPU_LAYOUT_GRAY_H
#define NPU_LAYOUT_GRAY_H

#include "levels.h"

/* Loops over pixels (s: the planes, d: the result), the innermost one with neighbours in the result; and what is in no cache
 * (cold.h): `past`: the result, which is then stored past the caches; `cold`: the planes. */
typedef struct {
    Box box;
    int type; /* GRAY_U8, ... */
    int past, cold;
} Graying;

/* Whether gray is faster with stores past the caches if its result is in none (measured). */
int gray_gains_past(const Graying *gray);
void gray_run(const Level *level, const Graying *gray, const uint8_t *b, const uint8_t *g, const uint8_t *r, uint8_t *out,
              int64_t part, int64_t parts);
int gray_path(int type);

#endif
