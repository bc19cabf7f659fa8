/* The function masks. */
#ifndef NPU_LAYOUT_MASK_CALLS_H
#define NPU_LAYOUT_MASK_CALLS_H

PyObject *native_masks(PyObject *module, PyObject *args);

#endif
