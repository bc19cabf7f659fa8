/* Find the elements of a feature map whose codes pass. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdlib.h>

#include "binding/level_named.h"
#include "binding/scan_call.h"
#include "binding/signals.h"
#include "scan.h"

PyObject *native_scan(PyObject *module, PyObject *args) {
    const char *name;
    PyObject *arrays[4], *result = NULL;
    Py_buffer v[4];
    int open = 0, type;
    long long least;
    FeatureMap map;
    Hits hits = {NULL, 0, 0};
    (void)module;
    if (!PyArg_ParseTuple(args, "siOOOOL", &name, &type, arrays, arrays + 1, arrays + 2, arrays + 3, &least)) return NULL;
    const Level *level = level_named(name);
    if (!level) return NULL;
    for (; open < 4; ++open)
        if (PyObject_GetBuffer(arrays[open], v + open, PyBUF_C_CONTIGUOUS)) goto end;
    map.type = (Dtype)type;
    map.channel = v[1].buf, map.row = v[2].buf, map.column = v[3].buf;
    map.count = v[1].len / 8, map.rows = v[2].len / 8, map.columns = v[3].len / 8;
    if (type < 0 || type >= DTYPES || type == I32 || least < INT32_MIN || least > INT32_MAX || map.columns < 1 || map.count > INT32_MAX ||
        map.rows > INT32_MAX / map.columns || !feature_map_plan(&map, v[0].len)) {
        PyErr_SetString(PyExc_ValueError, "scan: an element is outside the buffer, or the dtype has no loops");
        goto end;
    }
    PyThreadState *others = v[0].len < UNLOCK ? NULL : PyEval_SaveThread();
    const int good = scan_all(level, &map, v[0].buf, (int32_t)least, &hits);
    if (others) PyEval_RestoreThread(others);
    if (good) result = PyBytes_FromStringAndSize((const char *)hits.items, hits.count * (Py_ssize_t)sizeof(Hit));
    else PyErr_NoMemory();
end:
    free(hits.items);
    while (open--) PyBuffer_Release(v + open);
    return result;
}
