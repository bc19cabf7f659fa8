/* Divisions as two multiplications. */
#ifndef NPU_LAYOUT_DIVIDE_H
#define NPU_LAYOUT_DIVIDE_H

#include "convert.h"

/* Float32 to bytes, else 0: what divisions by a's divisors may be replaced by, `channels` of them, so that rint of the quotients,
 * saturated, is the same for every x. `times` is 0 for a divisor of which that is not known. */
int products_of(const Arithmetic *a, Product *products);

#endif
