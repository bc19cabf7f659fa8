/* The interpreter's lock and signals, for the bindings: long tasks release the one and see the others. */
#ifndef NPU_LAYOUT_SIGNALS_H
#define NPU_LAYOUT_SIGNALS_H

#include "pool.h"

enum { UNLOCK = 1 << 14 }; /* bytes from which on other threads may run meanwhile */

/* Set `stop` to what ends a task when a signal's handler raises, as Ctrl-C does (its argument is the thread state without the
 * lock), or to NULL if this is not the main thread, which alone handles signals, or the task is too short to ask. -1: a
 * handler has raised; do not begin the task. */
int signals_stop(int64_t bytes, Stop **stop);

/* Run a task on the pool, without the lock if the task is long enough; an exception may be set. */
void run_unlocked(Task *task, const void *context, int64_t bytes);

#endif
