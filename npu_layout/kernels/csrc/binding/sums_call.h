/* The function of the module that adds up matrices. */
#ifndef NPU_LAYOUT_SUMS_CALL_H
#define NPU_LAYOUT_SUMS_CALL_H

PyObject *native_sums(PyObject *module, PyObject *args);

#endif
