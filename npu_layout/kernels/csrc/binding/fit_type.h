/* The Python type of a fit. */
#ifndef NPU_LAYOUT_FIT_TYPE_H
#define NPU_LAYOUT_FIT_TYPE_H

extern PyType_Spec fit_spec;

/* The function of the module that runs several fits of one frame by turns. */
PyObject *native_run_fits(PyObject *module, PyObject *const *args, Py_ssize_t count);

#endif
