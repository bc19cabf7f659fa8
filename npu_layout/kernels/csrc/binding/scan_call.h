/* The function scan. */
#ifndef NPU_LAYOUT_SCAN_CALL_H
#define NPU_LAYOUT_SCAN_CALL_H

PyObject *native_scan(PyObject *module, PyObject *args);

#endif
