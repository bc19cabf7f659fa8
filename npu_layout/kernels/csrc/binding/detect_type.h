/* The type Detector, and nms. */
#ifndef NPU_LAYOUT_DETECT_TYPE_H
#define NPU_LAYOUT_DETECT_TYPE_H

extern PyType_Spec detector_spec;
PyObject *native_nms(PyObject *module, PyObject *args);

#endif
