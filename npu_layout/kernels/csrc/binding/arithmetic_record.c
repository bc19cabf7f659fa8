#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include <string.h>

#include "binding/arithmetic_record.h"
#include "divide.h"

/* The fields that are whole numbers, from 0 to `most`. */
static const struct {
    const char *name;
    size_t at;
    int most;
} numbers[] = {
    {"steps", offsetof(Arithmetic, steps), 1},
    {"divides", offsetof(Arithmetic, divides), 1},
    {"one_step", offsetof(Arithmetic, one_step), 1},
    {"bits", offsetof(Arithmetic, bits), 8},
};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

/* The fields that are arrays of one element of `size` bytes for each channel. */
static const struct {
    const char *name;
    size_t at;
    int size;
} arrays[] = {
    {"shift", offsetof(Arithmetic, shift), 4},     {"scale", offsetof(Arithmetic, scale), 4},
    {"divisor", offsetof(Arithmetic, divisor), 4}, {"before", offsetof(Arithmetic, before), 4},
    {"low", offsetof(Arithmetic, low), 4},         {"high", offsetof(Arithmetic, high), 4},
    {"after", offsetof(Arithmetic, after), 4},     {"factor", offsetof(Arithmetic, factor), 2},
    {"summand", offsetof(Arithmetic, summand), 2},
};
enum { ARRAYS = sizeof arrays / sizeof *arrays, WIDEST = 4 };

static int read_dtype(PyObject *record, const char *name, Dtype *dtype) {
    PyObject *value = PyObject_GetAttrString(record, name);
    int t = 0;
    if (!value) return 0;
    while (t < DTYPES && !(PyUnicode_Check(value) && !PyUnicode_CompareWithASCIIString(value, dtype_name[t]))) ++t;
    if (t == DTYPES) PyErr_Format(PyExc_ValueError, "arithmetic.%s: the core has no dtype %R", name, value);
    Py_DECREF(value);
    *dtype = (Dtype)t;
    return t < DTYPES;
}

static int read_number(PyObject *record, const char *name, int most, int *number) {
    PyObject *value = PyObject_GetAttrString(record, name);
    if (!value) return 0;
    const long n = PyLong_AsLong(value);
    const int good = n >= 0 && n <= most;
    if (!good) PyErr_Clear(), PyErr_Format(PyExc_ValueError, "arithmetic.%s: expected 0 to %d, got %R", name, most, value);
    Py_DECREF(value);
    *number = (int)n;
    return good;
}

/* Copy array `i` of the record to its place in `memory`, which is allocated for the first one: it has the number of channels. */
static int read_array(PyObject *record, int i, Arithmetic *a, void **memory) {
    Py_buffer view;
    PyObject *value = PyObject_GetAttrString(record, arrays[i].name);
    if (!value) return 0;
    const int bad = PyObject_GetBuffer(value, &view, PyBUF_SIMPLE);
    Py_DECREF(value);
    if (bad) {
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError, "arithmetic.%s: expected a contiguous array", arrays[i].name);
        return 0;
    }
    if (i == 0) {
        a->channels = view.len / arrays[i].size;
        *memory = PyMem_Malloc((size_t)a->channels * (ARRAYS * WIDEST + sizeof(Product)) + 1);
    }
    const int64_t expected = a->channels * arrays[i].size;
    if (!*memory) {
        PyErr_NoMemory();
    } else if (view.len != expected || !expected) {
        PyErr_Format(PyExc_ValueError, "arithmetic.%s: expected %lld bytes, of %lld channels, got %zd", arrays[i].name,
                     (long long)expected, (long long)a->channels, view.len);
    } else {
        const void *place = memcpy((char *)*memory + i * WIDEST * a->channels, view.buf, (size_t)view.len);
        memcpy((char *)a + arrays[i].at, &place, sizeof place);
    }
    PyBuffer_Release(&view);
    return !PyErr_Occurred();
}

int arithmetic_read(PyObject *record, Arithmetic *a, void **memory) {
    if (!read_dtype(record, "src_dtype", &a->from) || !read_dtype(record, "dst_dtype", &a->to)) return 0;
    for (int i = 0; i < NUMBERS; ++i)
        if (!read_number(record, numbers[i].name, numbers[i].most, (int *)(void *)((char *)a + numbers[i].at))) return 0;
    if (a->one_step && (a->from > U8 || a->to > U8)) {
        PyErr_SetString(PyExc_ValueError, "arithmetic.one_step: only from bytes to bytes");
        return 0;
    }
    if (a->bits && !a->one_step) {
        PyErr_SetString(PyExc_ValueError, "arithmetic.bits: only if arithmetic.one_step is set");
        return 0;
    }
    for (int i = 0; i < ARRAYS; ++i)
        if (!read_array(record, i, a, memory)) return 0;
    Product *products = (Product *)(void *)((char *)*memory + ARRAYS * WIDEST * a->channels);
    a->products = products_of(a, products) ? products : NULL;
    return 1;
}
