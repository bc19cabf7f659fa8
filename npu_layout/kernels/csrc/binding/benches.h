/* Memory that the parts of a task work on: each part claims some, and it is kept for the next call. */
#ifndef NPU_LAYOUT_BENCHES_H
#define NPU_LAYOUT_BENCHES_H

#include <stdatomic.h>
#include <stdint.h>

enum { BENCHES = 64 }; /* at most so many threads run one plan at a time; more of them allocate each time */

typedef struct {
    int64_t bytes;                   /* of each */
    _Atomic(uint8_t *) at[BENCHES]; /* NULL: in use, or not yet allocated */
} Benches;

/* Aligned to 64 bytes; NULL: there is no memory. */
uint8_t *bench_claim(Benches *benches);
void bench_keep(Benches *benches, uint8_t *bench);
void benches_free(Benches *benches);

#endif
