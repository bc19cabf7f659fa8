/* Convert pixels to grayscale. */
#ifndef NPU_LAYOUT_GRAY_H
#define NPU_LAYOUT_GRAY_H

#include "levels.h"

/* Loops over pixels (s: the planes, d: the result), the innermost one with neighbours in the result. */
void gray_run(const Level *level, int type, const Box *box, const uint8_t *b, const uint8_t *g, const uint8_t *r,
              uint8_t *out, int64_t part, int64_t parts);
int gray_path(int type); /* GRAY_U8, ... */

#endif
