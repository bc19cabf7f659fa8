/* The binding of argmax, top_k, softmax and sigmoid: views become loops. They return -1 for arrays that they cannot handle and write
 * nothing; Python then raises, or computes the result itself. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "binding/level_named.h"
#include "binding/reductions.h"
#include "binding/signals.h"
#include "binding/strided.h"
#include "binding/view_elements.h"
#include "cold.h"
#include "reduce.h"
#include "reduce_tiles.h"

static int read_reduction(const Py_buffer *src, const Py_buffer *dst, int64_t positions, Reduction *r) {
    int good = positions >= 0 && positions <= MAX_LOOPS && positions <= src->ndim && positions <= dst->ndim;
    r->positions = (Box){0, {{0, 0, 0, 0}}, 0, 0, 0};
    for (int i = 0; good && i < positions; ++i) {
        good = src->shape[i] == dst->shape[i];
        r->positions.loops[r->positions.count++] = (Loop){src->shape[i], src->strides[i], dst->strides[i], 0};
    }
    return good;
}

/* The bytes from the first element to the end of the last one; as numpy's may_share_memory computes it. */
static void reach_of(const Py_buffer *view, uintptr_t *low, uintptr_t *high) {
    *low = (uintptr_t)view->buf, *high = *low + (size_t)view->itemsize;
    for (int i = 0; i < view->ndim; ++i) {
        const Py_ssize_t way = (view->shape[i] - 1) * view->strides[i];
        *(way < 0 ? low : high) += (size_t)way;
    }
}

static int disjoint(const Py_buffer *a, const Py_buffer *b) {
    uintptr_t low[2], high[2];
    if (!a->len || !b->len) return 1;
    reach_of(a, low, high), reach_of(b, low + 1, high + 1);
    return high[0] <= low[1] || high[1] <= low[0];
}

/* An integer, `otherwise` for None; -1 for anything else. */
static int64_t count_of(PyObject *number, int64_t otherwise) {
    if (number == Py_None) return otherwise;
    const Py_ssize_t n = PyNumber_AsSsize_t(number, PyExc_OverflowError);
    PyErr_Clear();
    return n;
}

/* The number of channels in the dimensions from `first` on; 0 if 64 bits cannot count them. */
static int64_t room_of(const Py_buffer *view, int64_t first) {
    int64_t room = 1;
    for (int64_t i = first; i < view->ndim; ++i)
        if (__builtin_mul_overflow(room, (int64_t)view->shape[i], &room)) return 0;
    return room;
}

/* How argmax, softmax and sigmoid differ. */
typedef struct {
    int floats; /* the result is float32, not int64 */
    int path;   /* the row of the table, for empty arrays and if there is only one */
    int (*path_of)(const Level *, const Reduction *);
    void (*run)(const Level *, const Reduction *, const uint8_t *, uint8_t *, int64_t, int64_t);
} Kind;
static const Kind argmax_kind = {0, PATH_ARGMAX, argmax_path, argmax_run};
static const Kind softmax_kind = {1, PATH_SOFTMAX, softmax_path, softmax_run};
static const Kind sigmoid_kind = {1, PATH_SIGMOID, NULL, sigmoid_run};

typedef struct {
    const Kind *kind;
    const Level *level;
    const Reduction *reduction;
    const uint8_t *src;
    uint8_t *dst;
} Call;

static void call_part(const void *context, int64_t part, int64_t parts) {
    const Call *c = context;
    c->kind->run(c->level, c->reduction, c->src, c->dst, part, parts);
}

/* Whether both arrays suit this kind of reduction; then `r` is filled. */
static int read_call(const Kind *kind, const Py_buffer *src, const Py_buffer *dst, PyObject *positions, PyObject *channels,
                     Reduction *r) {
    const int of_channels = kind != &sigmoid_kind || positions != Py_None, spread = kind->floats && of_channels;
    const int64_t axes = count_of(positions, kind == &argmax_kind ? dst->ndim : src->ndim - spread);
    if (kind->floats ? view_letter(dst) != 'f' : !view_is_index(dst)) return 0;
    if (r->type == DTYPES) return 0;
    if (!read_reduction(src, dst, axes, r) || (!spread && dst->ndim != axes)) return 0;
    r->channels = count_of(channels, room_of(src, axes));
    for (int i = (int)axes; spread && channels == Py_None && i < src->ndim; ++i)
        if (src->ndim != dst->ndim || src->shape[i] != dst->shape[i]) return 0;
    if (of_channels ? src->ndim == axes : src->ndim != axes) return 0;
    return view_digits(src, (int)axes, src->ndim, r->channels, &r->from) &&
           (!spread || (dst->ndim > axes && view_digits(dst, (int)axes, dst->ndim, r->channels, &r->to)));
}

static PyObject *reduce(PyObject *args, const Kind *kind) {
    const char *name;
    PyObject *x, *out, *positions, *channels, *dtype;
    double shift = 0, scale = 1;
    int in_place = 0, path = -1;
    Py_buffer src, dst;
    if (!PyArg_ParseTuple(args, "sOOOOO|ddp", &name, &x, &out, &positions, &channels, &dtype, &shift, &scale, &in_place))
        return NULL;
    const Level *level = level_named(name);
    if (!level) return NULL;
    if (strided_buffer(x, &src, PyBUF_STRIDED_RO | PyBUF_FORMAT)) goto refused;
    if (strided_buffer(out, &dst, PyBUF_STRIDED | PyBUF_FORMAT)) {
        PyBuffer_Release(&src);
        goto refused;
    }
    Reduction r = {.type = view_dtype(&src, dtype), .scale = (float)scale, .shift = (float)shift, .past = past_caches(src.len + dst.len, pool_threads() > 1)};
    const int scaled = scale != 1 || shift != 0;
    if ((r.type != F32 || !scaled) && ((in_place && positions == Py_None) || disjoint(&src, &dst)) && read_call(kind, &src, &dst, positions, channels, &r)) {
        path = kind->path;
        if (src.len && dst.len) {
            reduction_plan(&r);
            if (kind == &sigmoid_kind) sigmoid_plan(&r);
            const Call call = {kind, level, &r, src.buf, dst.buf};
            run_unlocked(call_part, &call, src.len + dst.len);
            if (kind->path_of) path = kind->path_of(level, &r);
        }
    }
    PyBuffer_Release(&dst);
    PyBuffer_Release(&src);
    return PyErr_Occurred() ? NULL : PyLong_FromLong(path);
refused:
    PyErr_Clear();
    return PyLong_FromLong(-1);
}

typedef struct {
    const Level *level;
    const Reduction *reduction;
    const uint8_t *src;
    uint8_t *dst, *values;
} TopKCall;

static void top_k_part(const void *context, int64_t part, int64_t parts) {
    const TopKCall *c = context;
    top_k_run(c->level, c->reduction, c->src, c->dst, c->values, part, parts);
}

/* views: the source, values, and their channels. */
static int read_top_k(const Py_buffer views[3], PyObject *channels, PyObject *dtype, Reduction *r) {
    const Py_buffer *src = views, *values = views + 1, *dst = views + 2;
    const int axes = dst->ndim - 1;
    r->type = view_dtype(src, dtype);
    if (axes < 0 || values->ndim != dst->ndim || r->type == DTYPES || !view_is_index(dst)) return 0;
    if (view_letter(values) != view_letter(src) || values->itemsize != src->itemsize) return 0;
    if (!disjoint(src, values) || !disjoint(src, dst) || !disjoint(values, dst)) return 0;
    if (!read_reduction(src, dst, axes, r) || src->ndim == axes) return 0;
    for (int i = 0; i <= axes; ++i)
        if (values->shape[i] != dst->shape[i]) return 0;
    for (int i = 0; i < axes; ++i) r->positions.loops[i].p = values->strides[i];
    r->channels = count_of(channels, room_of(src, axes));
    r->k = dst->shape[axes], r->number_step = dst->strides[axes], r->value_step = values->strides[axes];
    if (r->k < 1 || r->k > TOP_K || r->k > r->channels || r->channels > INT32_MAX) return 0;
    return view_digits(src, axes, src->ndim, r->channels, &r->from);
}

PyObject *native_top_k(PyObject *module, PyObject *args) {
    const char *name;
    PyObject *arrays[3], *channels, *dtype;
    Py_buffer views[3];
    int got = 0, path = -1;
    (void)module;
    if (!PyArg_ParseTuple(args, "sOOOOO", &name, arrays, arrays + 1, arrays + 2, &channels, &dtype)) return NULL;
    const Level *level = level_named(name);
    if (!level) return NULL;
    while (got < 3 && !strided_buffer(arrays[got], views + got, (got ? PyBUF_STRIDED : PyBUF_STRIDED_RO) | PyBUF_FORMAT))
        ++got;
    PyErr_Clear();
    Reduction r = {.scale = 1};
    if (got == 3 && read_top_k(views, channels, dtype, &r)) {
        path = PATH_TOP_K;
        if (views[0].len && views[1].len) {
            reduction_plan(&r);
            const TopKCall call = {level, &r, views[0].buf, views[2].buf, views[1].buf};
            run_unlocked(top_k_part, &call, views[0].len + views[2].len);
            path = top_k_path(level, &r);
        }
    }
    while (got) PyBuffer_Release(views + --got);
    return PyErr_Occurred() ? NULL : PyLong_FromLong(path);
}

PyObject *native_argmax(PyObject *module, PyObject *args) {
    (void)module;
    return reduce(args, &argmax_kind);
}

PyObject *native_softmax(PyObject *module, PyObject *args) {
    (void)module;
    return reduce(args, &softmax_kind);
}

PyObject *native_sigmoid(PyObject *module, PyObject *args) {
    (void)module;
    return reduce(args, &sigmoid_kind);
}
