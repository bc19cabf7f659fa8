/* The binding of nms: checks arrays and classes, then suppresses boxes in the order of their scores. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdlib.h>

#include "binding/level_named.h"
#include "binding/nms_call.h"
#include "detect.h"

typedef struct {
    const Level *level;
    const float *boxes, *scores;
    const int64_t *class_id;
    int64_t n, limit, *kept;
    NmsRule rule;
} NmsCall;

/* The indices of boxes that stay; -1: there is no memory. */
static int64_t nms_run(const NmsCall *call, int64_t classes) {
    Kept kept = {0};
    int64_t found = 0;
    uint32_t *work = malloc(3 * (size_t)call->n * sizeof *work);
    if (!work || !kept_clear(&kept, classes)) found = -1;
    const uint32_t *order = found ? NULL : order_of_scores(call->scores, call->n, work);
    for (int64_t i = 0; order && i < call->n && found < call->limit; ++i) {
        const uint32_t k = order[i];
        const int stays = kept_add(call->level, &kept, &call->rule, call->class_id ? call->class_id[k] : 0, call->boxes + 4 * (int64_t)k);
        if (stays < 0) {
            found = -1;
            break;
        }
        if (stays) call->kept[found++] = k;
    }
    free(work);
    kept_free(&kept);
    return found;
}

PyObject *native_nms(PyObject *module, PyObject *args) {
    const char *name;
    PyObject *arrays[4];
    long long classes, limit;
    double iou, extra, epsilon;
    int inclusive, open = 0;
    int64_t found = 0;
    Py_buffer views[4];
    NmsCall call = {0};
    (void)module;
    if (!PyArg_ParseTuple(args, "sOOOLdpddLO", &name, arrays, arrays + 1, arrays + 2, &classes, &iou, &inclusive, &extra, &epsilon, &limit,
                          arrays + 3) ||
        !(call.level = level_named(name)))
        return NULL;
    for (; open < 4; ++open) {
        views[open].buf = NULL;
        if (open == 2 && arrays[2] == Py_None) {
            if (PyObject_GetBuffer(arrays[1], views + 2, PyBUF_C_CONTIGUOUS)) goto end;
            continue;
        }
        if (PyObject_GetBuffer(arrays[open], views + open, PyBUF_C_CONTIGUOUS | (open == 3 ? PyBUF_WRITABLE : 0))) goto end;
    }
    call.n = views[1].len / 4, call.limit = limit;
    if (views[0].len != 16 * call.n || views[3].len < 8 * (limit < call.n ? limit : call.n) || limit < 0 || classes < 1 ||
        classes > 1 << 20 || call.n > 1 << 30 || (arrays[2] != Py_None && views[2].len != 8 * call.n)) {
        PyErr_SetString(PyExc_ValueError, "nms: arrays that do not fit");
        goto end;
    }
    call.boxes = views[0].buf, call.scores = views[1].buf, call.kept = views[3].buf;
    call.class_id = arrays[2] == Py_None ? NULL : views[2].buf;
    for (int64_t i = 0; call.class_id && i < call.n; ++i)
        if (call.class_id[i] < 0 || call.class_id[i] >= classes) {
            PyErr_SetString(PyExc_ValueError, "nms: a class out of range");
            goto end;
        }
    call.rule = nms_rule(iou, inclusive, extra, epsilon);
    if (call.n) {
        PyThreadState *state = PyEval_SaveThread();
        found = nms_run(&call, classes);
        PyEval_RestoreThread(state);
        if (found < 0) PyErr_NoMemory();
    }
end:
    while (open--) PyBuffer_Release(views + open);
    return PyErr_Occurred() ? NULL : PyLong_FromLongLong(found);
}
