/* The module: its functions and types, the number of threads, and the table of fast paths. The loops themselves do not use Python. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "binding/detect_type.h"
#include "binding/fit_type.h"
#include "binding/gray_type.h"
#include "binding/level_named.h"
#include "binding/mask_calls.h"
#include "binding/program_type.h"
#include "binding/reductions.h"
#include "binding/scan_call.h"
#include "binding/signals.h"
#include "binding/sums_call.h"
#include "binding/to_yuv_call.h"
#include "binding/picture_type.h"
#include "binding/usual_type.h"
#include "cold.h"

static PyObject *set_threads(PyObject *module, PyObject *number) {
    const long n = PyLong_AsLong(number);
    (void)module;
    if (n == -1 && PyErr_Occurred()) return NULL;
    pool_set_threads(n > 1 << 16 ? 1 << 16 : (int)n);
    Py_RETURN_NONE;
}

static PyObject *get_threads(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    return PyLong_FromLong(pool_threads());
}

static PyObject *last_cache(PyObject *module, PyObject *bytes) {
    const long long n = PyLong_AsLongLong(bytes);
    (void)module;
    if (n == -1 && PyErr_Occurred()) return NULL;
    set_last_cache(n);
    Py_RETURN_NONE;
}

static PyObject *cached(PyObject *module, PyObject *answer) {
    const long n = PyLong_AsLong(answer);
    (void)module;
    if (n == -1 && PyErr_Occurred()) return NULL;
    return PyLong_FromLong(set_cached((int)n));
}

static PyMethodDef module_methods[] = {
    {"gray", native_gray, METH_VARARGS, "gray(level, dtype, blue, green, red, out): which path"},
    {"argmax", native_argmax, METH_VARARGS, "argmax(level, x, out, positions, channels, dtype): which path, or -1"},
    {"top_k", native_top_k, METH_VARARGS, "top_k(level, x, values, numbers, channels, dtype): which path, or -1"},
    {"softmax", native_softmax, METH_VARARGS,
     "softmax(level, x, out, positions, channels, dtype, zero_point, scale): which path, or -1"},
    {"sigmoid", native_sigmoid, METH_VARARGS,
     "sigmoid(level, x, out, None, None, dtype, zero_point, scale, in_place): which path, or -1"},
    {"peaks", native_peaks, METH_VARARGS, "peaks(level, dtype, x, out, channels, least, threshold, radius): how many"},
    {"nms", native_nms, METH_VARARGS, "nms(level, boxes, scores, class_id, classes, iou, inclusive, extra, epsilon, limit, kept): how many"},
    {"masks", native_masks, METH_VARARGS, "masks(level, signed, zero, factor, data, channels, rows, columns, coefficients, windows, out): whether they fit"},
    {"limbs", native_limbs, METH_VARARGS, "limbs(fields, first, rows, columns, samples, enough, least, a, b, scores, pairs, found): how many"},
    {"turned_nms", native_turned_nms, METH_VARARGS, "turned_nms(shapes, class_id or None, iou, inclusive, limit, kept): how many"},
    {"scan", native_scan, METH_VARARGS, "scan(level, dtype, data, channels, rows, columns, least): hits of cell, channel and code"},
    {"tops", native_tops, METH_VARARGS, "tops(x, rows, out, refinement): whether they fit"},
    {"sums", native_sums, METH_VARARGS, "sums(level, device, model, before or None, by_row, by_column)"},
    {"to_yuv", native_to_yuv, METH_VARARGS, "to_yuv(level, pixels, out, samples): planes of B, G and R to samples of Y, U and V"},
    {"set_threads", set_threads, METH_O, "set_threads(n)"},
    {"get_threads", get_threads, METH_NOARGS, "get_threads()"},
    {"set_last_cache", last_cache, METH_O, "set_last_cache(bytes): of this machine; decides what is stored past the caches"},
    {"set_cached", cached, METH_O, "set_cached(answer): whether buffers are in a cache: 1, 0, or -1: as this machine says; how often it was asked since"},
    {NULL, NULL, 0, NULL},
};

static int module_exec(PyObject *module) {
    PyObject *type = PyType_FromSpec(&program_spec);
    if (!type || PyModule_AddObject(module, "Program", type)) return -1;
    type = PyType_FromSpec(&usual_spec);
    if (!type || PyModule_AddObject(module, "Usual", type)) return -1;
    type = PyType_FromSpec(&picture_spec);
    if (!type || PyModule_AddObject(module, "PictureRows", type)) return -1;
    type = PyType_FromSpec(&fit_spec);
    if (!type || PyModule_AddObject(module, "Fit", type)) return -1;
    type = PyType_FromSpec(&gray_spec);
    if (!type || PyModule_AddObject(module, "Gray", type)) return -1;
    type = PyType_FromSpec(&detector_spec);
    if (!type || PyModule_AddObject(module, "Detector", type)) return -1;
    PyObject *names = PyList_New(0), *table = PyList_New(0), *dtypes = PyList_New(0);
    for (int t = 0; dtypes && t < DTYPES; ++t)
        if (!append_text(dtypes, dtype_name[t])) return -1;
    PyObject *compiled = PyList_New(0);
    for (int i = 0; compiled && i < level_count(); ++i)
        if (!append_text(compiled, level_name(i))) return -1;
    for (int i = 0; names && table && i < level_count(); ++i) {
        const Level *level = level_at(i);
        PyObject *entry = level ? Py_BuildValue("si", level->name, level->vector) : NULL;
        if (!level) continue;
        if (!entry || PyList_Append(names, entry)) return -1;
        Py_DECREF(entry);
        for (int k = 0; k < PATHS; ++k) {
            entry = Py_BuildValue("ssssi", paths[k].name, paths[k].kind, paths[k].applies, level->name, fast_of(level, k)->step);
            if (!entry || PyList_Append(table, entry)) return -1;
            Py_DECREF(entry);
        }
    }
    if (!names || !table || !dtypes || !compiled) return -1;
    return PyModule_AddObject(module, "COMPILED", compiled) || PyModule_AddObject(module, "LEVELS", names) ||
                   PyModule_AddObject(module, "FAST", table) || PyModule_AddObject(module, "DTYPES", dtypes)
               ? -1
               : 0;
}

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, module_exec}, {0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_native", "The compiled kernels.", 0, module_methods, module_slots,
                                    NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&module); }
