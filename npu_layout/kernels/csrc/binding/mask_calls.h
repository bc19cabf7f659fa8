/* The functions masks, skeletons and turned_nms. */
#ifndef NPU_LAYOUT_MASK_CALLS_H
#define NPU_LAYOUT_MASK_CALLS_H

PyObject *native_masks(PyObject *module, PyObject *args);
PyObject *native_skeletons(PyObject *module, PyObject *args);
PyObject *native_turned_nms(PyObject *module, PyObject *args);

#endif
