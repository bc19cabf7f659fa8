/* Masks of instances, skeletons, and turned boxes to suppress. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "binding/level_named.h"
#include "binding/mask_calls.h"
#include "limbs.h"
#include "masks.h"
#include "turned.h"

/* The extremes of the offsets in a table; false: one is so far away that sums could overflow. */
static int extremes(const int64_t *table, int64_t n, int64_t *low, int64_t *high) {
    int64_t least = table[0], most = table[0];
    for (int64_t i = 1; i < n; ++i) {
        if (table[i] < least) least = table[i];
        if (table[i] > most) most = table[i];
    }
    *low += least, *high += most;
    return least > -(1LL << 60) && most < 1LL << 60;
}

/* Whether every element is in the buffer, every window in the picture, and every sum in 32 bits; `out` is then full. */
static int fits(const Prototypes *p, int64_t bytes, const int16_t *c, const int32_t *window, int64_t n, int64_t room) {
    int64_t low = 0, high = 0, total = 0;
    if (p->count < 1 || p->count > MASK_CHANNELS || p->rows < 1 || p->columns < 1 || p->factor < 1 || p->factor > 64 ||
        p->rows > 1 << 14 || p->columns > 1 << 14 || p->zero < -255 || p->zero > 255)
        return 0;
    if (!extremes(p->channel, p->count, &low, &high) || !extremes(p->row, p->rows, &low, &high) ||
        !extremes(p->column, p->columns, &low, &high) || low < 0 || high >= bytes)
        return 0;
    for (int64_t i = 0; i < n; ++i, window += 4, c += p->count) {
        int64_t sum = 0;
        for (int64_t k = 0; k < p->count; ++k) sum += c[k] < 0 ? -(int64_t)c[k] : c[k];
        if (sum * 512 * 8 * p->factor * p->factor >= 1LL << 31) return 0;
        if (window[0] < 0 || window[1] < 0 || window[2] < window[0] || window[3] < window[1] || window[2] > p->columns * p->factor ||
            window[3] > p->rows * p->factor)
            return 0;
        total += (int64_t)(window[2] - window[0]) * (window[3] - window[1]);
    }
    return total == room;
}

PyObject *native_masks(PyObject *module, PyObject *args) {
    const char *name;
    PyObject *arrays[7];
    Py_buffer v[7];
    Prototypes from;
    int open = 0, good = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "spiiOOOOOOO", &name, &from.is_signed, &from.zero, &from.factor, arrays, arrays + 1, arrays + 2, arrays + 3,
                          arrays + 4, arrays + 5, arrays + 6))
        return NULL;
    const Level *level = level_named(name);
    if (!level) return NULL;
    for (; open < 7; ++open)
        if (PyObject_GetBuffer(arrays[open], v + open, PyBUF_C_CONTIGUOUS | (open == 6 ? PyBUF_WRITABLE : 0))) goto end;
    from.data = v[0].buf, from.channel = v[1].buf, from.row = v[2].buf, from.column = v[3].buf;
    from.count = v[1].len / 8, from.rows = v[2].len / 8, from.columns = v[3].len / 8;
    const int64_t n = v[5].len / 16;
    good = v[4].len == n * from.count * 2 && v[5].len == n * 16 && fits(&from, v[0].len, v[4].buf, v[5].buf, n, v[6].len);
    if (!good) goto end;
    int32_t *work = PyMem_Malloc((size_t)mask_room(&from) * sizeof(int32_t));
    if (!work) {
        PyErr_NoMemory();
        goto end;
    }
    PyThreadState *state = PyEval_SaveThread();
    const int16_t *c = v[4].buf;
    const int32_t *window = v[5].buf;
    uint8_t *out = v[6].buf;
    for (int64_t i = 0; i < n; ++i, c += from.count, window += 4) {
        const int64_t size = (int64_t)(window[2] - window[0]) * (window[3] - window[1]);
        if (size) mask_write(&from, c, window, out, work, level->vector >= 32);
        out += size;
    }
    PyEval_RestoreThread(state);
    PyMem_Free(work);
end:
    while (open--) PyBuffer_Release(v + open);
    return PyErr_Occurred() ? NULL : PyBool_FromLong(good);
}

/* Whether joints have their peaks in order, and limbs have joints and planes. */
static int joined(const Skeletons *s, const Py_buffer *v) {
    const int64_t cells = s->rows * s->columns, peaks = v[2].len / 24;
    if (s->ends[0] != 0 || s->ends[s->joints] != peaks || v[0].len / 4 / cells < 2 * s->count) return 0;
    for (int64_t k = 0; k < s->joints; ++k)
        if (s->ends[k] > s->ends[k + 1]) return 0;
    for (int64_t k = 0; k < 2 * s->count; ++k)
        if (s->limbs[k] < 0 || s->limbs[k] >= s->joints) return 0;
    return v[4].len / 8 / s->joints >= skeletons_most(s) && v[5].len / 8 >= skeletons_most(s);
}

PyObject *native_skeletons(PyObject *module, PyObject *args) {
    PyObject *arrays[6];
    Py_buffer v[6];
    Skeletons s;
    long long rows, columns;
    int open = 0;
    int64_t count = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "OLLOOOiiddOO", arrays, &rows, &columns, arrays + 1, arrays + 2, arrays + 3, &s.samples, &s.enough, &s.least,
                          &s.total, arrays + 4, arrays + 5))
        return NULL;
    for (; open < 6; ++open)
        if (PyObject_GetBuffer(arrays[open], v + open, PyBUF_C_CONTIGUOUS | (open > 3 ? PyBUF_WRITABLE : 0))) goto end;
    s.fields = v[0].buf, s.rows = rows, s.columns = columns, s.limbs = v[1].buf, s.count = v[1].len / 16;
    s.peaks = v[2].buf, s.ends = v[3].buf, s.joints = v[3].len / 8 - 1;
    if (rows < 1 || columns < 1 || rows > 1 << 20 || columns > 1 << 20 || s.joints < 1 || s.samples < 2 || !joined(&s, v)) {
        PyErr_SetString(PyExc_ValueError, "skeletons: arrays that do not fit");
        goto end;
    }
    int64_t *found = v[4].buf;
    double *sums = v[5].buf;
    PyThreadState *state = PyEval_SaveThread();
    count = skeletons_find(&s, found, sums);
    PyEval_RestoreThread(state);
    if (count < 0) PyErr_NoMemory();
end:
    while (open--) PyBuffer_Release(v + open);
    return PyErr_Occurred() ? NULL : PyLong_FromLongLong(count);
}

PyObject *native_turned_nms(PyObject *module, PyObject *args) {
    PyObject *arrays[3];
    Py_buffer v[3];
    double iou;
    long long limit;
    int inclusive, open = 0, views = 0;
    int64_t found = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOdpLO", arrays, arrays + 1, &iou, &inclusive, &limit, arrays + 2)) return NULL;
    const int classes = arrays[1] != Py_None;
    for (; open < 3; ++open) {
        if (open == 1 && !classes) continue;
        if (PyObject_GetBuffer(arrays[open], v + views, PyBUF_C_CONTIGUOUS | (open == 2 ? PyBUF_WRITABLE : 0))) goto end;
        ++views;
    }
    const int64_t n = v[0].len / (int64_t)sizeof(Gaussian);
    if (limit < 0 || (classes && v[1].len != 8 * n) || v[views - 1].len < 8 * (limit < n ? limit : n)) {
        PyErr_SetString(PyExc_ValueError, "turned_nms: arrays that do not fit");
        goto end;
    }
    PyThreadState *state = PyEval_SaveThread();
    found = turned_kept(v[0].buf, classes ? v[1].buf : NULL, n, iou, inclusive, limit, v[views - 1].buf);
    PyEval_RestoreThread(state);
    if (found < 0) PyErr_NoMemory();
end:
    while (views--) PyBuffer_Release(v + views);
    return PyErr_Occurred() ? NULL : PyLong_FromLongLong(found);
}
