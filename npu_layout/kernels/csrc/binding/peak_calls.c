/* The binding of peaks and tops. Python checks the arrays of peaks; the binding checks that every walk stays within the shapes and
 * strides of the buffers. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <string.h>

#include "binding/level_named.h"
#include "binding/peak_calls.h"
#include "binding/signals.h"
#include "binding/strided.h"
#include "binding/view_elements.h"
#include "peaks.h"
#include "reduce_tiles.h"

static int view_of_items(PyObject *from, Py_buffer *view, int flags, int item) {
    if (strided_buffer(from, view, flags)) return 0;
    if (view->itemsize == item) return 1;
    PyErr_Format(PyExc_ValueError, "elements of %zd bytes, expected %d", view->itemsize, item);
    PyBuffer_Release(view);
    return 0;
}

/* The planes of channels: complete blocks together, then the last one if it is not complete. */
static void find_all(const Level *level, Heatmaps *maps, const Py_buffer *view, const Digits *digits, int64_t channels,
                     int c_bits, Peaks *peaks) {
    int64_t at = 0, plane = 0, left = channels;
    for (int d = 0; d < digits->count && left; ++d) {
        int64_t rest = 1;
        for (int i = d + 1; i < digits->count; ++i) rest *= digits->loops[i].n;
        const int64_t whole = left / rest;
        if (whole) {
            Box *box = &maps->planes;
            *box = (Box){1, {{view->shape[0], view->strides[0], 0, (int64_t)1 << c_bits}}, at, 0, plane};
            for (int i = d; i < digits->count; ++i) {
                const Loop k = digits->loops[i];
                int64_t below = 1;
                for (int j = i + 1; j < digits->count; ++j) below *= digits->loops[j].n;
                box->loops[box->count++] = (Loop){i == d ? whole : k.n, k.s, 0, below};
            }
            peaks_find(level, maps, view->buf, peaks);
        }
        at += whole * digits->loops[d].s, plane += whole * rest, left -= whole * rest;
    }
}

/* Turn codes into rows of n, c, y, x. The codes are in the last quarter of the buffer, which the rows overwrite last. */
static void spell(int64_t *out, const int64_t *codes, int64_t count, int c_bits, int y_bits, int x_bits) {
    const int64_t c = ((int64_t)1 << c_bits) - 1, y = ((int64_t)1 << y_bits) - 1, x = ((int64_t)1 << x_bits) - 1;
    for (int64_t i = 0; i < count; ++i) {
        const int64_t code = codes[i], line = code >> x_bits, plane = line >> y_bits;
        const int64_t row[4] = {plane >> c_bits, plane & c, line & y, code & x};
        memcpy(out + 4 * i, row, sizeof row);
    }
}

/* The number of bits that represent 0 .. n - 1. */
static int bits_of(int64_t n) {
    int bits = 0;
    while ((n - 1) >> bits) ++bits;
    return bits;
}

/* Finds the peaks of `src`, whose axes are images, digits of channels, rows and columns, and writes their places to `dst`; returns 0
 * with an exception set if it does not fit. */
static int search(const Level *level, Heatmaps *maps, Py_buffer *src, const Py_buffer *dst, long long channels, Peaks *peaks) {
    Digits digits;
    if (src->ndim < 4 || !view_digits(src, 1, src->ndim - 2, channels, &digits)) {
        PyErr_SetString(PyExc_ValueError, "channels that the array does not have");
        return 0;
    }
    if (!src->len) return 1;
    digits_merge(&digits);
    const int y = src->ndim - 2, x = src->ndim - 1;
    maps->height = src->shape[y], maps->y = src->strides[y], maps->width = src->shape[x], maps->x = src->strides[x];
    maps->y_bits = bits_of(maps->height), maps->x_bits = bits_of(maps->width);
    const int c_bits = bits_of(channels), n_bits = bits_of(src->shape[0]);
    if (n_bits + c_bits + maps->y_bits + maps->x_bits > 62) {
        PyErr_SetString(PyExc_OverflowError, "indices that do not fit 62 bits");
        return 0;
    }
    peaks->room = dst->len / 32, peaks->codes = dst->buf;
    PyThreadState *others = src->len < UNLOCK ? NULL : PyEval_SaveThread();
    find_all(level, maps, src, &digits, channels, c_bits, peaks);
    if (peaks->count <= peaks->room) {
        int64_t *last = peaks->codes + 3 * peaks->room;
        const int moved = peaks->unsorted && peaks_sort(peaks, last);
        if (!moved) memmove(last, peaks->codes, (size_t)peaks->count * 8);
        spell(peaks->codes, last, peaks->count, c_bits, maps->y_bits, maps->x_bits);
    }
    if (others) PyEval_RestoreThread(others);
    return 1;
}

PyObject *native_peaks(PyObject *module, PyObject *args) {
    const char *name;
    PyObject *arrays[2];
    int type;
    long long channels, least, radius;
    Py_buffer src, dst;
    Heatmaps maps;
    Peaks peaks = {0, 0, 0, NULL, 0};
    (void)module;
    if (!PyArg_ParseTuple(args, "siOOLLfL", &name, &type, arrays, arrays + 1, &channels, &least, &maps.threshold, &radius))
        return NULL;
    const Level *level = level_named(name);
    if (!level) return NULL;
    if (type < 0 || type >= DTYPES || radius < 1) {
        PyErr_Format(PyExc_ValueError, "dtype: expected 0 to %d, got %d; radius: expected 1 or more, got %lld", DTYPES - 1, type,
                     radius);
        return NULL;
    }
    maps.type = (Dtype)type, maps.radius = radius, maps.least = least;
    if (!view_of_items(arrays[0], &src, PyBUF_STRIDED_RO, dtype_size[type])) return NULL;
    if (!view_of_items(arrays[1], &dst, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE, 8)) {
        PyBuffer_Release(&src);
        return NULL;
    }
    const int fits = search(level, &maps, &src, &dst, channels, &peaks);
    PyBuffer_Release(&dst);
    PyBuffer_Release(&src);
    return fits ? PyLong_FromLongLong(peaks.count) : NULL;
}

/* Whether `rows` are places of elements of `x`, each (n, c, y, x), and `out` has a row of five numbers for each. */
static int tops_fit(Dtype type, const Py_buffer *x, const Py_buffer *rows, const Py_buffer *out) {
    if (type == DTYPES || x->ndim != 4 || rows->ndim != 2 || rows->shape[1] != 4 || !view_is_index(rows)) return 0;
    if (out->ndim != 2 || out->shape[1] != 5 || out->shape[0] != rows->shape[0] || view_letter(out) != 'd') return 0;
    for (int64_t i = 0; i < rows->shape[0]; ++i) {
        int64_t index[4];
        memcpy(index, (const uint8_t *)rows->buf + 32 * i, sizeof index);
        for (int k = 0; k < 4; ++k)
            if (index[k] < 0 || index[k] >= x->shape[k]) return 0;
    }
    return 1;
}

static void write_tops(Dtype type, const Py_buffer *x, const Py_buffer *rows, const Py_buffer *out, Refinement refinement) {
    int64_t extents[4], steps[4];
    for (int i = 0; i < 4; ++i) extents[i] = x->shape[i], steps[i] = x->strides[i];
    for (int64_t i = 0; i < rows->shape[0]; ++i) {
        int64_t index[4];
        double top[5];
        memcpy(index, (const uint8_t *)rows->buf + 32 * i, sizeof index);
        peak_top(type, x->buf, extents, steps, index, refinement, top);
        for (int k = 0; k < 5; ++k)
            memcpy((uint8_t *)out->buf + i * out->strides[0] + k * out->strides[1], top + k, sizeof *top);
    }
}

PyObject *native_tops(PyObject *module, PyObject *args) {
    PyObject *arrays[3];
    int refinement;
    Py_buffer views[3];
    (void)module;
    if (!PyArg_ParseTuple(args, "OOOi", arrays, arrays + 1, arrays + 2, &refinement)) return NULL;
    if (refinement < 0 || refinement >= REFINEMENTS) {
        PyErr_SetString(PyExc_ValueError, "no such refinement");
        return NULL;
    }
    const int flags[3] = {PyBUF_STRIDED_RO, PyBUF_C_CONTIGUOUS, PyBUF_STRIDED};
    int got = 0;
    while (got < 3 && !strided_buffer(arrays[got], views + got, flags[got] | PyBUF_FORMAT)) ++got;
    PyErr_Clear();
    const Dtype type = got == 3 ? view_dtype(views, Py_None) : DTYPES;
    const int fits = got == 3 && tops_fit(type, views, views + 1, views + 2);
    if (fits) write_tops(type, views, views + 1, views + 2, (Refinement)refinement);
    while (got) PyBuffer_Release(views + --got);
    return PyBool_FromLong(fits);
}
