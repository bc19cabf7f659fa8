/* Grayscale of three views, and the type Gray: of the planes of one image, again and again. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "binding/gray_type.h"
#include "binding/level_named.h"
#include "binding/signals.h"
#include "binding/strided.h"
#include "cold.h"
#include "gray.h"
#include "pool.h"

/* The common loops of three planes and a result, neighbouring dimensions merged. False: not of one shape. */
static int gray_box(Py_buffer *planes, Py_buffer *out, Box *box) {
    box->count = 0, box->src = box->dst = box->param = 0;
    for (int i = 0; i < out->ndim; ++i) {
        const Loop k = {out->shape[i], planes[0].strides[i], out->strides[i], 0};
        for (int c = 0; c < 3; ++c)
            if (planes[c].shape[i] != k.n || planes[c].strides[i] != k.s) return 0;
        if (k.n == 1) continue;
        Loop *before = box->loops + box->count - 1;
        if (box->count && before->s == k.n * k.s && before->d == k.n * k.d) {
            before->n *= k.n, before->s = k.s, before->d = k.d;
            continue;
        }
        if (box->count == MAX_LOOPS) return 0;
        box->loops[box->count++] = k;
    }
    int inner = box->count - 1;
    while (inner >= 0 && box->loops[inner].d != out->itemsize) --inner;
    if (inner < 0 && box->count == MAX_LOOPS) return 0;
    const Loop row = inner < 0 ? (Loop){1, out->itemsize, out->itemsize, 0} : box->loops[inner];
    if (inner < 0) inner = box->count++;
    for (; inner < box->count - 1; ++inner) box->loops[inner] = box->loops[inner + 1];
    box->loops[box->count - 1] = row;
    return 1;
}

/* Three views and a result, in this order: 4 buffers; get the loops. 0: an exception is set, and no buffer is open. */
static int read_views(PyObject *const arrays[4], int type, Py_buffer views[4], Graying *gray) {
    int got = 0;
    if (type < 0 || type >= GRAYS) {
        PyErr_Format(PyExc_ValueError, "dtype: expected 0 to %d, got %d", GRAYS - 1, type);
        return 0;
    }
    for (; got < 4; ++got)
        if (strided_buffer(arrays[got], views + got, got < 3 ? PyBUF_STRIDED_RO : PyBUF_STRIDED)) goto unfit;
    int good = 1;
    for (int i = 0; i < 4; ++i) good = good && views[i].ndim == views[3].ndim && views[i].itemsize == 1 << type;
    if (good && gray_box(views, views + 3, &gray->box)) {
        gray->type = type, gray->past = gray->cold = 0;
        return 1;
    }
    PyErr_SetString(PyExc_ValueError, "planes and result differ in shape, strides or dtype");
unfit:
    while (got--) PyBuffer_Release(views + got);
    return 0;
}

typedef struct {
    const Level *level;
    Graying gray;
    const uint8_t *planes[3];
    uint8_t *out;
    int64_t bytes; /* of the result */
} GrayCall;

static void gray_part(const void *context, int64_t part, int64_t parts) {
    const GrayCall *call = context;
    gray_run(call->level, &call->gray, call->planes[0], call->planes[1], call->planes[2], call->out, part, parts);
}

/* `results`: NULL: the result is not looked at, because new memory would have to be made before. A look loads from the buffers, whose
 * pages may have to be read from a file first. On return an exception may be set. */
static void run_gray(GrayCall *call, Results *results) {
    Graying *gray = &call->gray;
    const int64_t touched = 4 * call->bytes, row = gray->box.loops[gray->box.count - 1].n << gray->type;
    Stop *stop;
    if (signals_stop(touched, &stop)) return;
    PyThreadState *others = touched < UNLOCK ? NULL : PyEval_SaveThread();
    if (gray_gains_past(gray))
        gray->past = past_caches(touched, pool_threads() > 1) || past_early(touched, pool_threads()) ||
                     (results && past_cold(results, call->out, call->bytes, 0));
    gray->cold = read_cold(call->planes[0] + gray->box.src, row);
    pool_run(gray_part, call, touched, stop, others);
    if (others) PyEval_RestoreThread(others);
}

PyObject *native_gray(PyObject *module, PyObject *args) {
    const char *name;
    PyObject *arrays[4];
    int type;
    Py_buffer views[4];
    GrayCall call;
    (void)module;
    if (!PyArg_ParseTuple(args, "siOOOO", &name, &type, arrays, arrays + 1, arrays + 2, arrays + 3)) return NULL;
    call.level = level_named(name);
    if (!call.level || !read_views(arrays, type, views, &call.gray)) return NULL;
    for (int c = 0; c < 3; ++c) call.planes[c] = views[c].buf;
    call.out = views[3].buf, call.bytes = views[3].len;
    if (call.bytes) run_gray(&call, NULL);
    for (int i = 0; i < 4; ++i) PyBuffer_Release(views + i);
    return PyErr_Occurred() ? NULL : PyLong_FromLong(gray_path(type));
}

typedef struct {
    PyObject_HEAD
    const Level *level;
    Graying gray;
    int64_t at[4], src_bytes, dst_bytes; /* where the planes and the result begin */
    Results results;
} GrayObject;

/* Whether a view is in its array, from which byte on it begins. */
static int is_within(const Py_buffer *view, const Py_buffer *array, int64_t *at) {
    int64_t low = (const char *)view->buf - (const char *)array->buf, high = low + view->itemsize;
    *at = low;
    for (int i = 0; i < view->ndim; ++i) {
        const int64_t span = (view->shape[i] - 1) * view->strides[i];
        if (span < 0) low += span;
        else high += span;
    }
    return low >= 0 && high <= array->len;
}

static PyObject *gray_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    const char *name;
    PyObject *arrays[4], *image, *out;
    int dtype, good = 1;
    Py_buffer views[4], source, result;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "siOOOOOO", &name, &dtype, arrays, arrays + 1, arrays + 2, arrays + 3, &image, &out)) return NULL;
    const Level *level = level_named(name);
    GrayObject *self = level ? (GrayObject *)PyType_GenericAlloc(type, 0) : NULL;
    if (!self) return NULL;
    self->level = level;
    if (!read_views(arrays, dtype, views, &self->gray)) goto unread;
    if (PyObject_GetBuffer(image, &source, PyBUF_SIMPLE)) goto no_source;
    if (PyObject_GetBuffer(out, &result, PyBUF_WRITABLE)) goto no_result;
    for (int i = 0; i < 4; ++i) good = good && views[i].len && is_within(views + i, i < 3 ? &source : &result, self->at + i);
    good = good && views[3].len == result.len;
    self->src_bytes = source.len, self->dst_bytes = result.len;
    if (!good) PyErr_SetString(PyExc_ValueError, "a view that is not in its array");
    PyBuffer_Release(&result);
no_result:
    PyBuffer_Release(&source);
no_source:
    for (int i = 0; i < 4; ++i) PyBuffer_Release(views + i);
unread:
    if (!PyErr_Occurred()) return (PyObject *)self;
    Py_DECREF(self);
    return NULL;
}

static void gray_dealloc(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

/* False if buffers do not fit: then nothing was written. */
static PyObject *gray_attempt(PyObject *object, PyObject *const *args, Py_ssize_t count) {
    GrayObject *self = (GrayObject *)object;
    Py_buffer src, dst;
    int fits = 0;
    if (count != 2) {
        PyErr_Format(PyExc_TypeError, "attempt takes source and destination, got %zd", count);
        return NULL;
    }
    if (PyObject_GetBuffer(args[0], &src, PyBUF_SIMPLE)) goto unfit;
    if (PyObject_GetBuffer(args[1], &dst, PyBUF_WRITABLE)) goto unfit_result;
    const char *s = src.buf, *d = dst.buf;
    fits = src.len == self->src_bytes && dst.len == self->dst_bytes && (s >= d + dst.len || d >= s + src.len);
    if (fits) {
        GrayCall call = {self->level, self->gray, {NULL, NULL, NULL}, (uint8_t *)dst.buf + self->at[3], dst.len};
        for (int c = 0; c < 3; ++c) call.planes[c] = (const uint8_t *)src.buf + self->at[c];
        run_gray(&call, &self->results);
    }
    PyBuffer_Release(&dst);
unfit_result:
    PyBuffer_Release(&src);
unfit:
    if (fits && PyErr_Occurred()) return NULL;
    PyErr_Clear();
    return PyBool_FromLong(fits);
}

static PyMethodDef gray_methods[] = {
    {"attempt", (PyCFunction)(void (*)(void))gray_attempt, METH_FASTCALL,
     "attempt(image, out): write gray, and True; False if buffers do not fit: then nothing was written"},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot gray_slots[] = {
    {Py_tp_doc, "Grayscale of views of one image, in the same places of other images of its size."},
    {Py_tp_new, gray_new},
    {Py_tp_dealloc, gray_dealloc},
    {Py_tp_methods, gray_methods},
    {0, NULL},
};
PyType_Spec gray_spec = {"npu_layout.kernels._native.Gray", sizeof(GrayObject), 0, Py_TPFLAGS_DEFAULT, gray_slots};
