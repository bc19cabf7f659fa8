/* The binding of argmax, top_k, softmax, sigmoid and peaks: views become loops. All but peaks return -1 for arrays that they
 * cannot handle and write nothing; Python then raises, or computes the result itself. For peaks, Python checks the arrays; the
 * binding checks that every walk stays within the shapes and strides of the buffers. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <string.h>

#include "binding/level_named.h"
#include "binding/reductions.h"
#include "binding/signals.h"
#include "binding/strided.h"
#include "cold.h"
#include "peaks.h"
#include "reduce.h"
#include "reduce_tiles.h"

static int get(PyObject *from, Py_buffer *view, int flags, int item) {
    if (strided_buffer(from, view, flags)) return 0;
    if (view->itemsize == item) return 1;
    PyErr_Format(PyExc_ValueError, "elements of %zd bytes, expected %d", view->itemsize, item);
    PyBuffer_Release(view);
    return 0;
}

/* Read the dimensions from `first` on as digits of `channels`. False: they have too few elements, or are too many. */
static int read_digits(const Py_buffer *view, int first, int end, int64_t channels, Digits *digits) {
    int64_t room = 1;
    digits->count = 0;
    if (end < first || end - first > MAX_DIGITS) return 0;
    for (int i = first; i < end; ++i) {
        digits->loops[digits->count++] = (Loop){view->shape[i], view->strides[i], 0, 0};
        if (__builtin_mul_overflow(room, (int64_t)view->shape[i], &room)) return 0;
    }
    return channels >= 1 && channels <= room;
}

static int read_reduction(const Py_buffer *src, const Py_buffer *dst, int64_t positions, Reduction *r) {
    int good = positions >= 0 && positions <= MAX_LOOPS && positions <= src->ndim && positions <= dst->ndim;
    r->positions = (Box){0, {{0, 0, 0, 0}}, 0, 0, 0};
    for (int i = 0; good && i < positions; ++i) {
        good = src->shape[i] == dst->shape[i];
        r->positions.loops[r->positions.count++] = (Loop){src->shape[i], src->strides[i], dst->strides[i], 0};
    }
    return good;
}

/* The one letter of a format in this machine's byte order; 0 for any other format. */
static char letter_of(const Py_buffer *view) {
    const int one = 1;
    const char *format = view->format ? view->format : "B", native = *(const char *)&one ? '<' : '>';
    if (*format == '@' || *format == '=' || *format == native) ++format;
    return format[0] && !format[1] ? format[0] : 0;
}

static int is_index(const Py_buffer *view) { return view->itemsize == 8 && (letter_of(view) == 'l' || letter_of(view) == 'q'); }

/* The dtype of the elements: the buffer's, or `asked` (a name or None); DTYPES if there is no such one. */
static Dtype type_of(const Py_buffer *view, PyObject *asked) {
    static const char letters[] = "bBhHieHf";
    const char letter = letter_of(view);
    for (int t = 0; t < DTYPES; ++t) {
        if (letters[t] != (letter == 'l' ? 'i' : letter) || dtype_size[t] != view->itemsize) continue;
        if (asked == Py_None) return (Dtype)t;
        if (PyUnicode_Check(asked) && !PyUnicode_CompareWithASCIIString(asked, dtype_name[t])) return (Dtype)t;
    }
    return DTYPES;
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
    if (kind->floats ? letter_of(dst) != 'f' : !is_index(dst)) return 0;
    if (r->type == DTYPES) return 0;
    if (!read_reduction(src, dst, axes, r) || (!spread && dst->ndim != axes)) return 0;
    r->channels = count_of(channels, room_of(src, axes));
    for (int i = (int)axes; spread && channels == Py_None && i < src->ndim; ++i)
        if (src->ndim != dst->ndim || src->shape[i] != dst->shape[i]) return 0;
    if (of_channels ? src->ndim == axes : src->ndim != axes) return 0;
    return read_digits(src, (int)axes, src->ndim, r->channels, &r->from) &&
           (!spread || (dst->ndim > axes && read_digits(dst, (int)axes, dst->ndim, r->channels, &r->to)));
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
    Reduction r = {.type = type_of(&src, dtype), .scale = (float)scale, .shift = (float)shift, .past = past_caches(src.len + dst.len, pool_threads() > 1)};
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
    r->type = type_of(src, dtype);
    if (axes < 0 || values->ndim != dst->ndim || r->type == DTYPES || !is_index(dst)) return 0;
    if (letter_of(values) != letter_of(src) || values->itemsize != src->itemsize) return 0;
    if (!disjoint(src, values) || !disjoint(src, dst) || !disjoint(values, dst)) return 0;
    if (!read_reduction(src, dst, axes, r) || src->ndim == axes) return 0;
    for (int i = 0; i <= axes; ++i)
        if (values->shape[i] != dst->shape[i]) return 0;
    for (int i = 0; i < axes; ++i) r->positions.loops[i].p = values->strides[i];
    r->channels = count_of(channels, room_of(src, axes));
    r->k = dst->shape[axes], r->number_step = dst->strides[axes], r->value_step = values->strides[axes];
    if (r->k < 1 || r->k > TOP_K || r->k > r->channels || r->channels > INT32_MAX) return 0;
    return read_digits(src, axes, src->ndim, r->channels, &r->from);
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
    if (src->ndim < 4 || !read_digits(src, 1, src->ndim - 2, channels, &digits)) {
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
    if (!get(arrays[0], &src, PyBUF_STRIDED_RO, dtype_size[type])) return NULL;
    if (!get(arrays[1], &dst, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE, 8)) {
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
    if (type == DTYPES || x->ndim != 4 || rows->ndim != 2 || rows->shape[1] != 4 || !is_index(rows)) return 0;
    if (out->ndim != 2 || out->shape[1] != 5 || out->shape[0] != rows->shape[0] || letter_of(out) != 'd') return 0;
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
    const Dtype type = got == 3 ? type_of(views, Py_None) : DTYPES;
    const int fits = got == 3 && tops_fit(type, views, views + 1, views + 2);
    if (fits) write_tops(type, views, views + 1, views + 2, (Refinement)refinement);
    while (got) PyBuffer_Release(views + --got);
    return PyBool_FromLong(fits);
}
