/* Programs: the fills, and the moves or conversions of a plan, in parts that may run concurrently. */
#ifndef NPU_LAYOUT_PROGRAM_H
#define NPU_LAYOUT_PROGRAM_H

#include "convert.h"

typedef struct {
    int is_fill;
    int size;
    int64_t pad;
    Move move;
    Convert convert;
} Job;

typedef struct {
    const Level *level;
    int converts;
    Arithmetic arithmetic;
    int64_t src_bytes, dst_bytes, fill_bytes, touched; /* touched: read and written, at most */
    int jobs;
    Job *job;
} Program;

/* First all fills, then the moves; the parts of each make up the whole and may run concurrently. */
void program_fill(const Program *program, uint8_t *dst, int64_t part, int64_t parts);
void program_move(const Program *program, const uint8_t *src, uint8_t *dst, int64_t part, int64_t parts);

#endif
