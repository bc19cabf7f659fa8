/* Two conversions that write parts of the same rows, as one. */
#ifndef NPU_LAYOUT_JOINED_H
#define NPU_LAYOUT_JOINED_H

#include "convert.h"

/* How some rows are moved to a bench, in the order of the result, and converted from there. */
typedef struct {
    Move gather[2];
    Convert convert;
} Benched;

/* Rows of the result that two parts make up, such as the whole blocks of channels and those of the last one, which is not full. One
 * after the other they would write the lines of the result twice, and read them in between if they are in no cache. */
typedef struct {
    int64_t rows, at_once;       /* of the result; on the bench */
    int64_t row, before;         /* elements of one, and those before its second part */
    int64_t dst, dst_step;       /* where the first row is, and bytes from one to the next */
    int64_t src[2], src_step[2]; /* the same of the parts in the source */
    Benched some, last;          /* `at_once` rows, and those that are left */
} Joined;

/* Whether two conversions are one; then it is planned. */
int joined_plan(Joined *joined, const Box *a, const Box *b, const Arithmetic *arithmetic);
/* One of `parts` parts that make up the whole and may run concurrently. */
void joined_run(const Level *level, const Joined *joined, const Arithmetic *a, const uint8_t *src, uint8_t *dst, int64_t part,
                int64_t parts);
/* The rows of the table that are used, in order; return how many. */
int joined_paths(const Level *level, const Joined *joined, const Arithmetic *a, int taken[2 + 4]);

#endif
