/* The interpreter's lock and signals, for the bindings: long tasks release the lock, and can be stopped by signals. */
#ifndef NPU_LAYOUT_SIGNALS_H
#define NPU_LAYOUT_SIGNALS_H

#include "pool.h"

enum { UNLOCK = 1 << 14 }; /* bytes from which on other threads may run meanwhile */

/* Set `stop` to a function that ends a task when a signal's handler raises, as Ctrl-C does (its argument is the thread state
 * without the lock), or to NULL if this is not the main thread, which is the only one that handles signals, or if the task is too
 * short. Return -1 if a handler has raised; then do not begin the task. */
int signals_stop(int64_t bytes, Stop **stop);

/* Run a task on the pool, without the lock if the task is long enough; an exception may be set. */
void run_unlocked(Task *task, const void *context, int64_t bytes);

#endif
