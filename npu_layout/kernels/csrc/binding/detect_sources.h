/* The parts of an anchor, read from their descriptions, with every element inside its buffer. */
#ifndef NPU_LAYOUT_DETECT_SOURCES_H
#define NPU_LAYOUT_DETECT_SOURCES_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "detect.h"

enum { MOST_BUFFERS = 64, MOST_CELLS = 1 << 24 };

typedef struct {
    PyObject_HEAD
    Detector detector;
    PyObject *description; /* whose bytes the tables are */
    int buffers, busy;
    int64_t bytes[MOST_BUFFERS];
    Workspace work;
} DetectorObject;

/* Set a ValueError, if no error is set; return 0. */
int detector_refuse(const char *what);
/* A table of elements of 8 bytes in a bytes object; NULL, with an error set, if it is none. */
const void *detector_table(PyObject *bytes, int64_t *n);
/* (buffer, dtype, activation, channels, rows, columns, values or None, scales or None); 0, with an error set, if it is none. */
int detector_source(const DetectorObject *self, PyObject *tuple, Source *source);
/* All parts of an anchor of a level, and its width and height; 0, with an error set, if they are none. `powers` are to be freed. */
int detector_anchor(const DetectorObject *self, PyObject *tuple, const DetectLevel *level, Anchor *anchor);
/* Complete `objects` of a level whose anchors are known; 0, with an error set, if there is no memory. Its channels are to be freed. */
int detector_objects(const DetectorObject *self, DetectLevel *level);

#endif
