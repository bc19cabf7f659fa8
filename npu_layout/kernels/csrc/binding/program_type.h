/* The Python type of a program. */
#ifndef NPU_LAYOUT_PROGRAM_TYPE_H
#define NPU_LAYOUT_PROGRAM_TYPE_H

#include "program.h"

extern PyType_Spec program_spec;

/* The program of an object; NULL, with a TypeError set, if it is of another type. */
const Program *program_of(PyObject *object);

/* Append a text to a list. False: an exception is set. */
static inline int append_text(PyObject *list, const char *text) {
    PyObject *item = PyUnicode_FromString(text);
    const int wrong = !item || PyList_Append(list, item);
    Py_XDECREF(item);
    return !wrong;
}

#endif
