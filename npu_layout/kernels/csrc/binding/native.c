/* The module: its functions and types, the number of threads, and the table of fast paths. The loops themselves do not use Python. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "binding/detect_type.h"
#include "binding/fit_type.h"
#include "binding/gray_type.h"
#include "binding/level_named.h"
#include "binding/mask_calls.h"
#include "binding/nms_call.h"
#include "binding/peak_calls.h"
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

static PyObject *of_intel(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    return PyBool_FromLong(is_intel());
}

static PyObject *stores(PyObject *module, PyObject *args) {
    int whole;
    long long early;
    (void)module;
    if (!PyArg_ParseTuple(args, "pL", &whole, &early)) return NULL;
    set_stores(whole, early);
    Py_RETURN_NONE;
}

static PyObject *cached(PyObject *module, PyObject *answer) {
    const long n = PyLong_AsLong(answer);
    (void)module;
    if (n == -1 && PyErr_Occurred()) return NULL;
    return PyLong_FromLong(set_cached((int)n));
}

static PyObject *in_no_cache(PyObject *module, PyObject *source) {
    Py_buffer view;
    (void)module;
    if (PyObject_GetBuffer(source, &view, PyBUF_SIMPLE)) return NULL;
    const int cold = read_cold(view.buf, view.len);
    PyBuffer_Release(&view);
    return PyBool_FromLong(cold);
}

static PyMethodDef module_methods[] = {
    {"gray", native_gray, METH_VARARGS, "gray(level, dtype, blue, green, red, out): which path"},
    {"argmax", native_argmax, METH_VARARGS, "argmax(level, x, out, positions, channels, dtype): which path, or -1"},
    {"top_k", native_top_k, METH_VARARGS, "top_k(level, x, values, numbers, channels, dtype): which path, or -1"},
    {"softmax", native_softmax, METH_VARARGS,
     "softmax(level, x, out, positions, channels, dtype, zero_point, scale): which path, or -1"},
    {"sigmoid", native_sigmoid, METH_VARARGS,
     "sigmoid(level, x, out, positions, channels, dtype, zero_point, scale, in_place): which path, or -1"},
    {"peaks", native_peaks, METH_VARARGS, "peaks(level, dtype, x, out, channels, least, threshold, radius): how many"},
    {"nms", native_nms, METH_VARARGS, "nms(level, boxes, scores, class_id, classes, iou, inclusive, extra, epsilon, limit, kept): how many"},
    {"masks", native_masks, METH_VARARGS, "masks(level, signed, zero, factor, data, channels, rows, columns, coefficients, windows, out): whether they fit"},
    {"skeletons", native_skeletons, METH_VARARGS,
     "skeletons(fields, rows, columns, limbs, peaks, ends, samples, enough, least, total, found, sums): how many"},
    {"turned_nms", native_turned_nms, METH_VARARGS, "turned_nms(shapes, class_id or None, iou, inclusive, limit, kept): how many"},
    {"scan", native_scan, METH_VARARGS, "scan(level, dtype, data, channels, rows, columns, least): hits of cell, channel and code"},
    {"tops", native_tops, METH_VARARGS, "tops(x, rows, out, refinement): whether they fit"},
    {"sums", native_sums, METH_VARARGS, "sums(level, device, model, before or None, by_row, by_column)"},
    {"to_yuv", native_to_yuv, METH_VARARGS, "to_yuv(level, pixels, out, samples): planes of B, G and R to samples of Y, U and V"},
    {"run_fits", (PyCFunction)(void (*)(void))native_run_fits, METH_FASTCALL,
     "run_fits(steps, out, frame): (fit, offset, ((array, offset, pitch), ...)) by turns, and True; False if they do not fit"},
    {"set_threads", set_threads, METH_O, "set_threads(n)"},
    {"get_threads", get_threads, METH_NOARGS, "get_threads()"},
    {"set_last_cache", last_cache, METH_O, "set_last_cache(bytes): of this machine; decides what is stored past the caches"},
    {"of_intel", of_intel, METH_NOARGS, "of_intel(): whether this processor is Intel's"},
    {"set_stores", stores, METH_VARARGS, "set_stores(whole, early): of this machine; whether parts of lines are slow past the caches, and from how many bytes on what gains goes past"},
    {"set_cached", cached, METH_O, "set_cached(answer): whether buffers are in a cache: 1, 0, or -1: as this machine says; how often it was asked since"},
    {"in_no_cache", in_no_cache, METH_O, "in_no_cache(source): whether 64 KB and more are in no cache, as programs find it"},
    {NULL, NULL, 0, NULL},
};

/* Gives the module what `value` points to, or NULL with an exception set; returns 0, or -1. */
static int add(PyObject *module, const char *name, PyObject *value) {
    if (value && !PyModule_AddObject(module, name, value)) return 0;
    Py_XDECREF(value);
    return -1;
}

/* Appends a new object, or NULL with an exception set; returns 0, or -1. */
static int append(PyObject *list, PyObject *item) {
    const int failed = !item || PyList_Append(list, item);
    Py_XDECREF(item);
    return failed ? -1 : 0;
}

/* The levels that this machine has, each with the bytes of its vectors, and each one's row of every path. */
static int list_levels(PyObject *levels, PyObject *table) {
    for (int i = 0; i < level_count(); ++i) {
        const Level *level = level_at(i);
        if (!level) continue;
        if (append(levels, Py_BuildValue("si", level->name, level->vector))) return -1;
        for (int k = 0; k < PATHS; ++k)
            if (append(table, Py_BuildValue("ssssi", paths[k].name, paths[k].kind, paths[k].applies, level->name,
                                            fast_of(level, k)->step)))
                return -1;
    }
    return 0;
}

static int list_names(PyObject *dtypes, PyObject *compiled) {
    for (int t = 0; t < DTYPES; ++t)
        if (!append_text(dtypes, dtype_name[t])) return -1;
    for (int i = 0; i < level_count(); ++i)
        if (!append_text(compiled, level_name(i))) return -1;
    return 0;
}

static int module_exec(PyObject *module) {
    static const struct {
        const char *name;
        PyType_Spec *spec;
    } types[] = {{"Program", &program_spec}, {"Usual", &usual_spec}, {"PictureRows", &picture_spec},
                 {"Fit", &fit_spec},         {"Gray", &gray_spec},   {"Detector", &detector_spec}};
    static const char *const names[] = {"LEVELS", "FAST", "DTYPES", "COMPILED"};
    PyObject *lists[4];
    for (size_t i = 0; i < sizeof types / sizeof *types; ++i)
        if (add(module, types[i].name, PyType_FromSpec(types[i].spec))) return -1;
    for (int i = 0; i < 4; ++i)
        if (add(module, names[i], lists[i] = PyList_New(0))) return -1;
    return list_levels(lists[0], lists[1]) || list_names(lists[2], lists[3]) ? -1 : 0;
}

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, module_exec}, {0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_native", "The compiled kernels.", 0, module_methods, module_slots,
                                    NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&module); }
