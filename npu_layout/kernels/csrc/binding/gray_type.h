/* Grayscale of three views, and the type Gray: of the planes of one image, again and again. */
#ifndef NPU_LAYOUT_GRAY_TYPE_H
#define NPU_LAYOUT_GRAY_TYPE_H

PyObject *native_gray(PyObject *module, PyObject *args);
extern PyType_Spec gray_spec;

#endif
