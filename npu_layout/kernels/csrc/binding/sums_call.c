/* Sums and ends of two arrays by row and by column. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "binding/level_named.h"
#include "binding/signals.h"
#include "binding/strided.h"
#include "binding/sums_call.h"
#include "sums.h"

typedef struct {
    const Level *level;
    const Matrices *matrices;
} Call;

static void call_part(const void *context, int64_t part, int64_t parts) {
    const Call *c = context;
    sums_run(c->level, c->matrices, part, parts);
}

/* Whether the arrays have three axes and one shape, are of numbers of the same size, and the results have room for all sums. */
static int fits(const Py_buffer *arrays, int count, const Py_buffer *by_row, const Py_buffer *by_column, Matrices *m) {
    const Py_buffer *first = arrays;
    m->item = (int)first->itemsize;
    for (int k = 0; k < count; ++k) {
        const Py_buffer *v = arrays + k;
        if (v->ndim != 3 || v->itemsize != m->item || (m->item != 4 && m->item != 8)) return 0;
        for (int i = 0; i < 3; ++i)
            if (v->shape[i] != first->shape[i]) return 0;
        m->of[k].at = v->buf, m->of[k].matrix = v->strides[0], m->of[k].row = v->strides[1], m->of[k].column = v->strides[2];
    }
    m->count = first->shape[0], m->rows = first->shape[1], m->columns = first->shape[2];
    m->by_row = by_row->buf, m->by_column = by_column->buf;
    return by_row->len == 8 * sums_tiles(m) * SUMS_BY_ROW * m->rows && by_column->len == 8 * SUMS_BY_COLUMN * m->count * m->columns;
}

PyObject *native_sums(PyObject *module, PyObject *args) {
    const char *name;
    PyObject *given[SUMMED_ARRAYS], *results[2];
    Py_buffer arrays[SUMMED_ARRAYS], found[2];
    int open = 0, made = 0;
    Matrices m = {0};
    (void)module;
    if (!PyArg_ParseTuple(args, "sOOOOO", &name, given, given + 1, given + 2, results, results + 1)) return NULL;
    const Level *level = level_named(name);
    if (!level) return NULL;
    const int count = given[OF_BEFORE] == Py_None ? OF_BEFORE : SUMMED_ARRAYS;
    for (; open < count; ++open)
        if (strided_buffer(given[open], arrays + open, PyBUF_STRIDED_RO)) goto end;
    for (; made < 2; ++made)
        if (PyObject_GetBuffer(results[made], found + made, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE)) goto end;
    if (!fits(arrays, count, found, found + 1, &m)) {
        PyErr_SetString(PyExc_ValueError, "sums: arrays that do not fit");
        goto end;
    }
    const Call call = {level, &m};
    run_unlocked(call_part, &call, count * arrays->len);
    if (!PyErr_Occurred()) sums_merge(&m);
end:
    while (made--) PyBuffer_Release(found + made);
    while (open--) PyBuffer_Release(arrays + open);
    if (PyErr_Occurred()) return NULL;
    Py_RETURN_NONE;
}
