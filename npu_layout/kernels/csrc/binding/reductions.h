/* The functions of the module that reduce channels. */
#ifndef NPU_LAYOUT_REDUCE_BINDING_H
#define NPU_LAYOUT_REDUCE_BINDING_H

PyObject *native_argmax(PyObject *module, PyObject *args);
PyObject *native_top_k(PyObject *module, PyObject *args);
PyObject *native_softmax(PyObject *module, PyObject *args);
PyObject *native_sigmoid(PyObject *module, PyObject *args);

#endif
