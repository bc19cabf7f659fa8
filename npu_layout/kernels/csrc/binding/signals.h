/* The interpreter's lock and signals, for the bindings: long tasks release the one and see the others. */
#ifndef NPU_LAYOUT_SIGNALS_H
#define NPU_LAYOUT_SIGNALS_H

#include "pool.h"

enum { UNLOCK = 1 << 14 }; /* bytes from which on other threads may run meanwhile */

/* What stops a task when a signal's handler raises, as Ctrl-C does; whose: the thread state without the lock. NULL where
 * no signal is seen anyway (they are the main thread's) or the task is too short to ask. -1 where one has raised: the task
 * is not begun. */
int signals_stop(int64_t bytes, Stop **stop);

/* A task by the pool, without the lock where it is worth while; an exception may be set. */
void run_unlocked(Task *task, const void *context, int64_t bytes);

#endif
