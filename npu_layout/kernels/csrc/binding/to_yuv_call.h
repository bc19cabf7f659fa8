/* The function of the module that makes Y, U and V of pixels. */
#ifndef NPU_LAYOUT_TO_YUV_CALL_H
#define NPU_LAYOUT_TO_YUV_CALL_H

PyObject *native_to_yuv(PyObject *module, PyObject *args);

#endif
