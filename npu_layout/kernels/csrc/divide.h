/* Divisions as two multiplications. */
#ifndef NPU_LAYOUT_DIVIDE_H
#define NPU_LAYOUT_DIVIDE_H

#include "convert.h"

/* For float32 to bytes (otherwise 0): the products that may replace the divisions by a's divisors, one for each of `channels`,
 * such that rint of the quotient, saturated, is the same for every x. `times` is 0 for a divisor without such a product. */
int products_of(const Arithmetic *a, Product *products);

#endif
