/* The functions of the module that find and refine peaks. */
#ifndef NPU_LAYOUT_PEAK_CALLS_H
#define NPU_LAYOUT_PEAK_CALLS_H

PyObject *native_peaks(PyObject *module, PyObject *args);
PyObject *native_tops(PyObject *module, PyObject *args);

#endif
