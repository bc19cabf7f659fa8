/* Memory that the parts of a task work on. */
#define _POSIX_C_SOURCE 200809L
#include "binding/benches.h"

#include <stdlib.h>
#include <string.h>

uint8_t *bench_claim(Benches *benches) {
    for (int i = 0; i < BENCHES; ++i) {
        uint8_t *bench = atomic_load_explicit(benches->at + i, memory_order_relaxed) ? atomic_exchange(benches->at + i, NULL) : NULL;
        if (bench) return bench;
    }
    void *made = NULL;
    if (posix_memalign(&made, 64, (size_t)benches->bytes)) return NULL;
    return memset(made, 0, (size_t)benches->bytes); /* vectors are read behind the last elements */
}

void bench_keep(Benches *benches, uint8_t *bench) {
    for (int i = 0; i < BENCHES; ++i) {
        uint8_t *none = NULL;
        if (atomic_compare_exchange_strong(benches->at + i, &none, bench)) return;
    }
    free(bench);
}

void benches_free(Benches *benches) {
    for (int i = 0; i < BENCHES; ++i) free(atomic_load(benches->at + i));
}
