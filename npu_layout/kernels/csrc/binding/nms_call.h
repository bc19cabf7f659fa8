/* The function nms of the module. */
#ifndef NPU_LAYOUT_NMS_CALL_H
#define NPU_LAYOUT_NMS_CALL_H

PyObject *native_nms(PyObject *module, PyObject *args);

#endif
