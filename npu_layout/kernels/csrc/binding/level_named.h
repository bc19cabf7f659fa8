/* The levels by their names in Python. */
#ifndef NPU_LAYOUT_LEVEL_NAMED_H
#define NPU_LAYOUT_LEVEL_NAMED_H

#include <string.h>

#include "levels.h"

/* NULL, with a ValueError set, if this machine lacks the level. */
static inline const Level *level_named(const char *name) {
    for (int i = 0; i < level_count(); ++i)
        if (level_at(i) && !strcmp(level_at(i)->name, name)) return level_at(i);
    PyErr_Format(PyExc_ValueError, "level: this machine has no %s", name);
    return NULL;
}

#endif
