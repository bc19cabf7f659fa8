/* The Python type of a program. */
#ifndef NPU_LAYOUT_PROGRAM_TYPE_H
#define NPU_LAYOUT_PROGRAM_TYPE_H

#include <string.h>

#include "program.h"

extern PyType_Spec program_spec;

/* The program of an object; NULL, with a TypeError set, if it is of another type. */
const Program *program_of(PyObject *object);

/* The shape of an array, as its buffer has it. */
enum { MOST_AXES = 16 };
typedef struct {
    int axes;
    Py_ssize_t extent[MOST_AXES];
} Extents;
static inline void extents_read(Extents *extents, const Py_buffer *view) {
    extents->axes = view->ndim;
    if (view->ndim) memcpy(extents->extent, view->shape, (size_t)view->ndim * sizeof *view->shape);
}
static inline int extents_are(const Extents *extents, const Py_buffer *view) {
    return view->ndim == extents->axes && (!view->ndim || !memcmp(view->shape, extents->extent, (size_t)view->ndim * sizeof *view->shape));
}

/* Run a program, as its method attempt does: a bool, or NULL with an exception. `expected`: the shapes of both arrays, or NULL: any. */
PyObject *program_try(PyObject *program, PyObject *const *args, const Extents *expected);

/* Append a text to a list. False: an exception is set. */
static inline int append_text(PyObject *list, const char *text) {
    PyObject *item = PyUnicode_FromString(text);
    const int wrong = !item || PyList_Append(list, item);
    Py_XDECREF(item);
    return !wrong;
}

#endif
