/* A pool of threads. */
#ifndef NPU_LAYOUT_POOL_H
#define NPU_LAYOUT_POOL_H

#include <stdint.h>

/* Run a task in parts on up to so many threads, or on the calling thread only if the task moves too few bytes or the pool is
 * busy. PART: bytes of source and destination that are worth a part of their own. Between parts (of at most SLICE bytes if the
 * task may be stopped) `stop` is called every ASK nanoseconds, and returns whether to skip the rest. Return whether it did. */
enum { PART = 1 << 18, SLICE = 16 << 20, ASK = 20000000 };
typedef void Task(const void *context, int64_t part, int64_t parts);
typedef int Stop(void *whose);
int pool_run(Task *task, const void *context, int64_t bytes, Stop *stop, void *whose);
void pool_set_threads(int threads);
int pool_threads(void);

#endif
