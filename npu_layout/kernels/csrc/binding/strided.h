/* Views with strides of Python's objects. */
#ifndef NPU_LAYOUT_STRIDED_H
#define NPU_LAYOUT_STRIDED_H

#include <Python.h>

/* As PyObject_GetBuffer, but what was asked for is there: numpy's datetime64 and timedelta64 scalars (2.4) export one axis without
 * strides. */
static inline int strided_buffer(PyObject *from, Py_buffer *view, int flags) {
    if (PyObject_GetBuffer(from, view, flags)) return -1;
    if (!view->ndim || (view->shape && view->strides)) return 0;
    PyBuffer_Release(view);
    PyErr_SetString(PyExc_ValueError, "a buffer without strides");
    return -1;
}

#endif
