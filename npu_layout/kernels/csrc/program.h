/* Programs: the fills, and the moves or conversions of a plan, in parts that may run concurrently. */
#ifndef NPU_LAYOUT_PROGRAM_H
#define NPU_LAYOUT_PROGRAM_H

#include "joined.h"

typedef struct {
    int is_fill;
    int size;
    int64_t pad;
    Move move;
    Convert convert, past; /* past: for a result that is stored past the caches */
} Job;

typedef struct {
    const Level *level;
    int converts;
    Arithmetic arithmetic;
    int64_t src_bytes, dst_bytes, fill_bytes, touched; /* touched: read and written, at most */
    int gains_past; /* whether all moves and conversions gain by stores past the caches if the result is in none */
    int looks_first; /* whether any is slower with such stores if the result is in a cache, whatever its size */
    int fetches;    /* whether any move fetches more if the source is in no cache */
    int fetches_result; /* whether any move fetches the result too, if that is in none either */
    int fetches_always; /* whether lines are fetched as if source and result were in no cache, because L3 is as slow */
    int is_joined;  /* whether `joined` does what both of two conversions do */
    Joined joined;
    int jobs;
    Job *job;
} Program;

/* What is in no cache: the result, which is then stored past the caches, whatever the size; the source; the result, if it is stored
 * through the caches. */
typedef struct {
    int past, cold, cold_result;
} Whereabouts;
/* Plan a job, whose pad is set, as a conversion. */
void job_convert(Job *job, const Box *box, const Arithmetic *arithmetic);
/* Set the level, `gains_past`, `fetches` and whether one thread stores past the caches, when all jobs are planned. */
void program_planned(Program *program);
/* First all fills, then the moves; the parts of each make up the whole and may run concurrently. */
void program_fill(const Program *program, uint8_t *dst, int64_t part, int64_t parts);
void program_move(const Program *program, const uint8_t *src, uint8_t *dst, int64_t part, int64_t parts, Whereabouts where);

#endif
