/* The type YuvRows: checks the tables of a resize when it is made, and the planes when it runs. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "binding/level_named.h"
#include "binding/signals.h"
#include "binding/yuv_type.h"
#include "yuv.h"

/* BENCHES: at most so many threads run one plan at a time. SIDE: 16 bits of a size; offsets in a row fit 32 bits. */
enum { BENCHES = 64, SIDE = 1 << 16, STEP = 1 << 8 };

typedef struct {
    PyObject_HEAD
    YuvPlan *plan;
    int64_t width, height, rows, columns, channels;
    int components, planes;
    YuvComponent component[3];
    _Atomic(uint8_t *) bench[BENCHES]; /* NULL: in use, or not yet allocated */
} YuvObject;

static int wrong(const char *text) {
    PyErr_SetString(PyExc_ValueError, text);
    return 0;
}

/* (first, weights or None, source elements, results): arrays of int32 and of pairs of uint16. The views stay open. */
static int read_axis(PyObject *from, YuvAxis *axis, Py_buffer *views, int *open) {
    PyObject *first, *weights;
    long long size, count;
    if (!PyArg_ParseTuple(from, "OOLL", &first, &weights, &size, &count)) return 0;
    *axis = (YuvAxis){size, count, NULL, NULL};
    if (size < 1 || size > SIDE || count < 1 || count > SIDE) return wrong("an axis of less than 1 element, or more than 65536");
    if (PyObject_GetBuffer(first, views + *open, PyBUF_SIMPLE)) return 0;
    axis->first = views[(*open)++].buf;
    if (views[*open - 1].len != 4 * count) return wrong("first: expected one int32 for each result");
    if (weights == Py_None) return 1;
    if (PyObject_GetBuffer(weights, views + *open, PyBUF_SIMPLE)) return 0;
    axis->weights = views[(*open)++].buf;
    if (views[*open - 1].len != 4 * count) return wrong("weights: expected two uint16 for each result");
    for (int64_t i = 0; i < count; ++i)
        if (axis->weights[2 * i] + axis->weights[2 * i + 1] != 2048) return wrong("weights: expected pairs whose sum is 2048");
    return 1;
}

/* Columns have to be inside; rows are clamped, but fit 32 bits with one more. */
static int axes_fit(const YuvSpec *spec, int k) {
    const YuvAxis *x = spec->x + k, *y = spec->y + k;
    for (int64_t i = 0; i < x->to; ++i)
        if (x->first[i] < 0 || x->first[i] >= x->from) return wrong("columns: expected positions inside the plane");
    for (int64_t i = 0; i < y->to; ++i)
        if (y->first[i] < -SIDE || y->first[i] > SIDE) return wrong("rows: expected positions near the plane");
    if (x->to != spec->x[0].to || y->to != spec->y[0].to) return wrong("axes: expected the same number of results");
    if (spec->mean[k] && (x->from != 2 * x->to || y->from != 2 * y->to)) return wrong("means: expected two elements for each result");
    const int64_t across = spec->convert_first ? 1 : spec->component[k].every_x, down = spec->convert_first ? 1 : spec->component[k].every_y;
    if (x->from != (spec->width + across - 1) / across || y->from != (spec->height + down - 1) / down)
        return wrong("axes: expected as many elements as the plane has");
    return 1;
}

static int read_components(PyObject *from, YuvSpec *spec) {
    spec->components = (int)PyTuple_Size(from);
    if (spec->components != 1 && spec->components != 3) return wrong("components: expected 1 or 3");
    for (int k = 0; k < spec->components; ++k) {
        YuvComponent *c = spec->component + k;
        long long start, step, x, y;
        if (!PyArg_ParseTuple(PyTuple_GetItem(from, k), "iLLLL", &c->plane, &start, &step, &x, &y)) return 0;
        c->start = start, c->step = step, c->every_x = x, c->every_y = y;
        if (c->plane < 0 || c->plane > 2 || start < 0 || start > INT32_MAX / 2 || step < 1 || step > STEP || x < 1 || x > STEP || y < 1 || y > STEP)
            return wrong("components: plane, start, step, every_x or every_y out of range");
        if (k == 0 && (x != 1 || y != 1)) return wrong("components: expected one sample of Y for each pixel");
    }
    if (spec->components == 3 && (spec->component[1].every_x != spec->component[2].every_x || spec->component[1].every_y != spec->component[2].every_y))
        return wrong("components: expected U and V at the same pixels");
    return 1;
}

/* Sums of any samples have to fit 32 bits. */
static int color_fits(const Color *c) {
    const int64_t most = INT32_MAX / 256 / 2, sums[] = {c->red_v, c->blue_u, (int64_t)labs(c->green_u) + labs(c->green_v)};
    int good = c->offset >= 0 && c->offset < 256 && c->luma >= 0 && c->luma <= most;
    for (int i = 0; i < 3; ++i) good = good && labs((long)sums[i]) <= most;
    return good || wrong("color: coefficients out of range");
}

static int read_spec(PyObject *components, PyObject *axes, PyObject *channels, YuvSpec *spec, Py_buffer *views, int *open) {
    if (!read_components(components, spec) || !color_fits(&spec->color)) return 0;
    if (spec->width < 1 || spec->width > SIDE || spec->height < 1 || spec->height > SIDE) return wrong("size: expected 1 to 65536");
    const int count = spec->convert_first ? 1 : spec->components;
    if (PyTuple_Size(axes) != count) return wrong("axes: expected a pair for all components, or one for each");
    for (int k = 0; k < count; ++k) {
        PyObject *x, *y;
        if (!PyArg_ParseTuple(PyTuple_GetItem(axes, k), "O!O!p", &PyTuple_Type, &x, &PyTuple_Type, &y, &spec->mean[k])) return 0;
        if (!read_axis(x, spec->x + k, views, open) || !read_axis(y, spec->y + k, views, open) || !axes_fit(spec, k)) return 0;
    }
    if (spec->components == 1) return spec->channels == 1 || wrong("channels: expected 1 of gray");
    if (!PyArg_ParseTuple(channels, "iii", spec->channel, spec->channel + 1, spec->channel + 2)) return 0;
    for (int c = 0, seen = 0; c < 3; ++c) {
        if (spec->channel[c] < 0 || spec->channel[c] > 2 || seen >> spec->channel[c] & 1) return wrong("channels: expected an order of 0, 1, 2");
        seen |= 1 << spec->channel[c];
    }
    return spec->channels == 3 || spec->channels == 4 || wrong("channels: expected 3 or 4");
}

static PyObject *yuv_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *components, *axes, *channels;
    const char *name;
    long long width, height;
    int wide, open = 0;
    YuvSpec spec = {0};
    Py_buffer views[12];
    if (kwargs && PyDict_Size(kwargs)) return PyErr_Format(PyExc_TypeError, "YuvRows takes no keywords");
    if (!PyArg_ParseTuple(args, "spO!(LL)O!p(iiiiii)O!i", &name, &wide, &PyTuple_Type, &components, &width, &height, &PyTuple_Type,
                          &axes, &spec.convert_first, &spec.color.offset, &spec.color.luma, &spec.color.red_v, &spec.color.green_u,
                          &spec.color.green_v, &spec.color.blue_u, &PyTuple_Type, &channels, &spec.channels))
        return NULL;
    const Level *level = level_named(name);
    if (!level) return NULL;
    spec.width = width, spec.height = height;
    YuvObject *self = NULL;
    if (read_spec(components, axes, channels, &spec, views, &open) && (self = (YuvObject *)PyType_GenericAlloc(type, 0))) {
        self->width = width, self->height = height, self->columns = spec.x[0].to, self->rows = spec.y[0].to;
        self->channels = spec.channels, self->components = spec.components;
        memcpy(self->component, spec.component, sizeof self->component);
        for (int k = 0; k < spec.components; ++k)
            if (spec.component[k].plane >= self->planes) self->planes = spec.component[k].plane + 1;
        self->plan = yuv_make(level->yuv, wide && has_wide_gathers(), &spec);
        if (!self->plan) {
            PyErr_NoMemory();
            Py_CLEAR(self);
        }
    }
    while (open--) PyBuffer_Release(views + open);
    return (PyObject *)self;
}

static void yuv_dealloc(PyObject *object) {
    YuvObject *self = (YuvObject *)object;
    PyTypeObject *type = Py_TYPE(object);
    for (int i = 0; i < BENCHES; ++i) free(atomic_load(self->bench + i));
    yuv_free(self->plan);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

typedef struct {
    YuvObject *self;
    YuvPlane planes[3];
    uint8_t *out;
    int64_t row_pitch, channel_pitch;
    atomic_int no_memory;
} YuvCall;

/* A bench that no other thread uses, of those that were kept, or a new one; it is kept again if there is a place. */
static uint8_t *claim_bench(YuvObject *self) {
    for (int i = 0; i < BENCHES; ++i) {
        uint8_t *bench = atomic_exchange(self->bench + i, NULL);
        if (bench) return bench;
    }
    void *made = NULL;
    return posix_memalign(&made, 64, (size_t)yuv_bench(self->plan)) ? NULL : made;
}
static void keep_bench(YuvObject *self, uint8_t *bench) {
    for (int i = 0; i < BENCHES; ++i) {
        uint8_t *none = NULL;
        if (atomic_compare_exchange_strong(self->bench + i, &none, bench)) return;
    }
    free(bench);
}

static void yuv_part(const void *context, int64_t part, int64_t parts) {
    YuvCall *call = (YuvCall *)context;
    const int64_t from = call->self->rows * part / parts, to = call->self->rows * (part + 1) / parts;
    uint8_t *bench = claim_bench(call->self);
    if (!bench) {
        atomic_store(&call->no_memory, 1);
        return;
    }
    yuv_rows(call->self->plan, call->planes, from, to, call->out + from * call->row_pitch, call->row_pitch, call->channel_pitch, bench);
    keep_bench(call->self, bench);
}

/* Whether a plane has every sample that its components have: rows of neighbouring bytes. */
static int plane_fits(const YuvObject *self, int plane, const Py_buffer *view) {
    int64_t bytes = 1;
    if (view->itemsize != 1 || view->ndim < 2) return wrong("planes: expected rows of bytes");
    for (int i = view->ndim - 1; i > 0; --i) {
        if (view->shape[i] > 1 && view->strides[i] != bytes) return wrong("planes: expected rows whose bytes are neighbours");
        bytes *= view->shape[i];
    }
    for (int k = 0; k < self->components; ++k) {
        const YuvComponent *c = self->component + k;
        if (c->plane != plane) continue;
        const int64_t samples = (self->width + c->every_x - 1) / c->every_x, rows = (self->height + c->every_y - 1) / c->every_y;
        if (view->shape[0] >= rows && bytes > c->start + (samples - 1) * c->step) continue;
        PyErr_Format(PyExc_ValueError, "plane %d: expected at least %lld rows of %lld bytes, got %zd rows of %lld bytes", plane,
                     (long long)rows, (long long)(c->start + (samples - 1) * c->step + 1), view->shape[0], (long long)bytes);
        return 0;
    }
    return 1;
}

/* The first byte of an array and the one behind its last. */
static void extent_of(const Py_buffer *view, const char **low, const char **high) {
    *low = *high = view->buf;
    for (int i = 0; i < view->ndim; ++i) *(view->strides[i] < 0 ? low : high) += (view->shape[i] - 1) * view->strides[i];
    *high += view->itemsize;
}

static int planes_fit(const YuvObject *self, const Py_buffer *views, int count, const Py_buffer *out) {
    const Py_ssize_t shape[3] = {(Py_ssize_t)self->channels, (Py_ssize_t)self->rows, (Py_ssize_t)self->columns};
    int good = out->ndim == 3 && out->itemsize == 1;
    for (int i = 0; good && i < 3; ++i) good = out->shape[i] == shape[i];
    if (!good || (shape[2] > 1 && out->strides[2] != 1)) {
        PyErr_Format(PyExc_ValueError, "out: expected bytes of shape (%zd, %zd, %zd), columns neighbours", shape[0], shape[1], shape[2]);
        return 0;
    }
    const char *low, *high, *first, *last;
    extent_of(out, &first, &last);
    for (int i = 0; i < count; ++i) {
        if (!plane_fits(self, i, views + i)) return 0;
        extent_of(views + i, &low, &high);
        if (low < last && first < high) return wrong("source and destination overlap");
    }
    return 1;
}

static PyObject *yuv_write(PyObject *object, PyObject *args) {
    YuvObject *self = (YuvObject *)object;
    PyObject *planes, *out;
    Py_buffer views[4];
    int open = 0;
    if (!PyArg_ParseTuple(args, "O!O", &PyTuple_Type, &planes, &out)) return NULL;
    if (PyTuple_Size(planes) != self->planes) return PyErr_Format(PyExc_ValueError, "planes: expected %d, got %zd", self->planes, PyTuple_Size(planes));
    if (PyObject_GetBuffer(out, views + open, PyBUF_STRIDED)) return NULL;
    for (++open; open <= self->planes; ++open)
        if (PyObject_GetBuffer(PyTuple_GetItem(planes, open - 1), views + open, PyBUF_STRIDED_RO)) goto end;
    if (planes_fit(self, views + 1, self->planes, views)) {
        YuvCall call = {.self = self, .out = views->buf, .row_pitch = views->strides[1], .channel_pitch = views->strides[0]};
        for (int i = 0; i < self->planes; ++i) call.planes[i] = (YuvPlane){views[i + 1].buf, views[i + 1].strides[0]};
        run_unlocked(yuv_part, &call, views->len + self->width * self->height);
        if (atomic_load(&call.no_memory)) PyErr_NoMemory();
    }
end:
    while (open--) PyBuffer_Release(views + open);
    if (PyErr_Occurred()) return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef yuv_methods[] = {
    {"write", yuv_write, METH_VARARGS, "write(planes, out): planes of rows of bytes to (channels, rows, columns), by as many threads as pay"},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot yuv_slots[] = {
    {Py_tp_doc, "Rows of R, G and B, or gray, of resized YUV planes."},
    {Py_tp_new, yuv_new},
    {Py_tp_dealloc, yuv_dealloc},
    {Py_tp_methods, yuv_methods},
    {0, NULL},
};
PyType_Spec yuv_spec = {"npu_layout.kernels._native.YuvRows", sizeof(YuvObject), 0, Py_TPFLAGS_DEFAULT, yuv_slots};
