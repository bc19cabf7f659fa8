/* The type PictureRows: checks the tables of a resize when it is made, and the planes when it runs. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "binding/level_named.h"
#include "binding/signals.h"
#include "binding/strided.h"
#include "binding/picture_type.h"
#include "picture_plan.h"

/* SIDE: 16 bits of a size; offsets in a row fit 32 bits. */
enum { SIDE = 1 << 16, STEP = 1 << 8 };
/* Pixels of a box, so that their sum fits 16 bits, and its width, so that it ends in what follows a row on the bench. */
enum { BOX_MOST = 257, BOX_SIDE = 16 };
enum { GROUP = 16 }; /* bytes of a group of a mosaic's pixels, at most */

static int wrong(const char *text) {
    PyErr_SetString(PyExc_ValueError, text);
    return 0;
}

/* (first, weights or None, source elements, results, begin, end): arrays of int32 and of pairs of uint16. The views stay open. */
static int read_axis(PyObject *from, PictureAxis *axis, Py_buffer *views, int *open) {
    PyObject *first, *weights;
    long long size, count, begin, end;
    if (!PyArg_ParseTuple(from, "OOLLLL", &first, &weights, &size, &count, &begin, &end)) return 0;
    *axis = (PictureAxis){size, count, begin, end, NULL, NULL};
    if (size < 1 || size > SIDE || count < 1 || count > SIDE) return wrong("an axis of less than 1 element, or more than 65536");
    if (begin < 0 || end <= begin || end > size) return wrong("begin and end: expected a part of the elements");
    if (PyObject_GetBuffer(first, views + *open, PyBUF_SIMPLE)) return 0;
    axis->first = views[(*open)++].buf;
    if (views[*open - 1].len != 4 * count || (uintptr_t)axis->first % 4) return wrong("first: expected one int32 for each result");
    if (weights == Py_None) return 1;
    if (PyObject_GetBuffer(weights, views + *open, PyBUF_SIMPLE)) return 0;
    axis->weights = views[(*open)++].buf;
    if (views[*open - 1].len != 4 * count || (uintptr_t)axis->weights % 2) return wrong("weights: expected two uint16 for each result");
    for (int64_t i = 0; i < count; ++i) {
        const uint16_t *pair = axis->weights + 2 * i;
        if (magnitude(pair[0] + pair[1] - 2048) > 1 || pair[0] > 2048 || pair[1] > 2048) /* both are rounded */
            return wrong("weights: expected pairs whose sum is 2048, or 1 off");
    }
    return 1;
}

/* Columns have to be inside their part; rows are clamped, but fit 32 bits with one more. */
static int axes_fit(const PictureSpec *spec, int k) {
    const PictureAxis *x = spec->x + k, *y = spec->y + k;
    for (int64_t i = 0; i < x->to; ++i)
        if (x->first[i] < x->begin || x->first[i] >= x->end) return wrong("columns: expected positions inside the plane");
    for (int64_t i = 0; i < y->to; ++i)
        if (y->first[i] < -SIDE || y->first[i] > SIDE) return wrong("rows: expected positions near the plane");
    if (x->to != spec->x[0].to || y->to != spec->y[0].to) return wrong("axes: expected the same number of results");
    if (spec->packed && (x->end - x->begin != x->from || y->end - y->begin != y->from))
        return wrong("begin and end: expected all of packed pixels");
    if (spec->mean[k] == 2) {
        const int64_t across = x->from / x->to, down = y->from / y->to;
        if (!spec->packed || picture_joins(spec) || across * x->to != x->from || down * y->to != y->from || across > BOX_SIDE || across * down > BOX_MOST)
            return wrong("boxes: expected packed pixels of one plane, and whole numbers of them for each result");
    } else if (spec->mean[k] && (x->end - x->begin != 2 * x->to || y->end - y->begin != 2 * y->to)) {
        return wrong("means: expected two elements for each result");
    }
    const int in_pixels = spec->packed || spec->convert_first;
    const int64_t across = in_pixels ? 1 : spec->component[k].every_x, down = in_pixels ? 1 : spec->component[k].every_y;
    if (x->from != (spec->width + across - 1) / across || y->from != (spec->height + down - 1) / down)
        return wrong("axes: expected as many elements as the plane has");
    return 1;
}

static int read_components(PyObject *from, PictureSpec *spec) {
    spec->components = (int)PyTuple_Size(from);
    if (spec->packed ? spec->components < 1 || spec->components > 4 : spec->components != 1 && spec->components != 3)
        return wrong("components: expected 1 or 3, or up to 4 of packed pixels");
    for (int k = 0; k < spec->components; ++k) {
        PictureComponent *c = spec->component + k;
        long long start, step, x, y;
        if (!PyArg_ParseTuple(PyTuple_GetItem(from, k), "iLLLL", &c->plane, &start, &step, &x, &y)) return 0;
        c->start = start, c->step = step, c->every_x = x, c->every_y = y;
        if (c->plane < 0 || c->plane > 2 || start < 0 || start > INT32_MAX / 2 || step < 1 || step > STEP ||
            x < 1 || x > STEP || y < 1 || y > STEP)
            return wrong("components: plane, start, step, every_x or every_y out of range");
        if (k == 0 && (x != 1 || y != 1)) return wrong("components: expected one sample of Y for each pixel");
    }
    for (int k = 0; spec->packed && k < spec->components; ++k) {
        const PictureComponent *c = spec->component + k;
        if (c->plane != (picture_joins(spec) ? k : 0) || c->step != spec->component->step || c->start >= c->step || c->step > 4 ||
            c->every_x != 1 || c->every_y != 1)
            return wrong("components of packed pixels: expected those of one plane, or two of two, of pixels of up to 4 bytes");
    }
    const PictureComponent *const u = spec->component + 1, *const v = spec->component + 2;
    if (!spec->packed && spec->components == 3 && (u->every_x != v->every_x || u->every_y != v->every_y))
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

/* Source: (kind, red_x, red_y, pixels and bytes of a group); tiles: (bytes, rows) of each plane, or nothing. */
static int read_source_form(PyObject *source, PyObject *tiles, PictureSpec *spec) {
    int kind;
    long long pixels, bytes;
    if (!PyArg_ParseTuple(source, "iiiLL", &kind, &spec->red_x, &spec->red_y, &pixels, &bytes)) return 0;
    if (kind < 0 || kind > (int)MOSAIC || spec->red_x >> 1 || spec->red_y >> 1) return wrong("source: out of range");
    spec->source = (PictureSource)kind, spec->group_pixels = pixels, spec->group_bytes = bytes;
    if (pixels < 1 || bytes < pixels || bytes > GROUP || (bytes != pixels && spec->source != MOSAIC))
        return wrong("source: expected pixels and bytes of a group, of a mosaic");
    const Py_ssize_t n = PyTuple_Size(tiles);
    if (n > 3) return wrong("tiles: expected up to 3 planes");
    for (Py_ssize_t p = 0; p < n; ++p) {
        long long bytes, rows;
        if (!PyArg_ParseTuple(PyTuple_GetItem(tiles, p), "LL", &bytes, &rows)) return 0;
        if (bytes < 0 || bytes > STEP || rows < 0 || rows > STEP || !bytes != !rows) return wrong("tiles: out of range");
        spec->tile[p] = (PlaneTiles){bytes, rows};
    }
    return (!n || (!spec->packed && spec->source == COMPONENTS)) || wrong("tiles: expected planes of Y, U and V");
}

/* What rows of B, G and R, or of gray, are made of. */
static int source_fits(const PictureSpec *spec) {
    const PictureComponent *c = spec->component;
    if (spec->source == COMPONENTS) return 1;
    if (spec->packed || !spec->convert_first || spec->mean[0] == 2) return wrong("source: expected a conversion first, and no boxes");
    const int gray = spec->source == GRAY_OF_PIXELS, step = gray ? (c->step == 4 ? 4 : 3) : spec->source == MOSAIC ? 1 : 2;
    for (int k = 0; k < spec->components; ++k)
        if (c[k].plane || c[k].step != step || c[k].every_x != 1 || c[k].every_y != 1 || (c[k].start && !(gray && c[k].start == 2)))
            return wrong("source: expected components that are pixels of its plane");
    if (spec->components != (gray ? 1 : 3)) return wrong("source: expected one component of gray, or three");
    return spec->source != MOSAIC || (spec->width > 2 && spec->height > 2) || wrong("source: expected a mosaic of 3x3 or more");
}

static int read_spec(PyObject *components, PyObject *axes, PyObject *channels, PictureSpec *spec, Py_buffer *views, int *open) {
    if (!read_components(components, spec) || (!spec->packed && !color_fits(&spec->color))) return 0;
    if (spec->width < 1 || spec->width > SIDE || spec->height < 1 || spec->height > SIDE) return wrong("size: expected 1 to 65536");
    const int count = spec->packed || spec->convert_first ? 1 : spec->components;
    if (PyTuple_Size(axes) != count) return wrong("axes: expected a pair for all components, or one for each");
    for (int k = 0; k < count; ++k) {
        PyObject *x, *y;
        if (!PyArg_ParseTuple(PyTuple_GetItem(axes, k), "O!O!i", &PyTuple_Type, &x, &PyTuple_Type, &y, &spec->mean[k])) return 0;
        if (spec->mean[k] < 0 || spec->mean[k] > 2) return wrong("means: expected 0, 1 or 2");
        if (!read_axis(x, spec->x + k, views, open) || !read_axis(y, spec->y + k, views, open) || !axes_fit(spec, k)) return 0;
    }
    if (!source_fits(spec)) return 0;
    for (int k = 0; k < spec->components; ++k)
        if (spec->tile[spec->component[k].plane].bytes && spec->component[k].start >= spec->component[k].step)
            return wrong("tiles: expected the first sample in the first step of a row");
    if (spec->packed) return spec->channels == spec->components || wrong("channels: expected as many as components");
    if (spec->components == 1) return spec->channels == 1 || wrong("channels: expected 1 of gray");
    if (!PyArg_ParseTuple(channels, "iii", spec->channel, spec->channel + 1, spec->channel + 2)) return 0;
    for (int c = 0, seen = 0; c < 3; ++c) {
        if (spec->channel[c] < 0 || spec->channel[c] > 2 || seen >> spec->channel[c] & 1)
            return wrong("channels: expected an order of 0, 1, 2");
        seen |= 1 << spec->channel[c];
    }
    return spec->channels == 3 || spec->channels == 4 || wrong("channels: expected 3 or 4");
}

static PyObject *picture_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *components, *axes, *channels, *color, *source, *tiles;
    const char *name;
    long long width, height;
    int wide, open = 0;
    PictureSpec spec = {0};
    Py_buffer views[12];
    if (kwargs && PyDict_Size(kwargs)) return PyErr_Format(PyExc_TypeError, "PictureRows takes no keywords");
    if (!PyArg_ParseTuple(args, "spO!(LL)O!pOO!iO!O!", &name, &wide, &PyTuple_Type, &components, &width, &height, &PyTuple_Type,
                          &axes, &spec.convert_first, &color, &PyTuple_Type, &channels, &spec.channels, &PyTuple_Type, &source,
                          &PyTuple_Type, &tiles))
        return NULL;
    spec.packed = color == Py_None;
    Color *c = &spec.color;
    if (!spec.packed &&
        !PyArg_ParseTuple(color, "iiiiii", &c->offset, &c->luma, &c->red_v, &c->green_u, &c->green_v, &c->blue_u))
        return NULL;
    const Level *level = level_named(name);
    if (!level || !read_source_form(source, tiles, &spec)) return NULL;
    spec.width = width, spec.height = height;
    PictureObject *self = NULL;
    if (read_spec(components, axes, channels, &spec, views, &open) && (self = (PictureObject *)PyType_GenericAlloc(type, 0))) {
        self->width = width, self->height = height, self->columns = spec.x[0].to, self->rows = spec.y[0].to;
        self->channels = spec.channels, self->components = spec.components, self->packed = spec.packed;
        memcpy(self->component, spec.component, sizeof self->component), memcpy(self->tile, spec.tile, sizeof self->tile);
        self->source = spec.source, self->group_pixels = spec.group_pixels, self->group_bytes = spec.group_bytes;
        for (int k = 0; k < spec.components; ++k)
            if (spec.component[k].plane >= self->planes) self->planes = spec.component[k].plane + 1;
        self->plan = picture_make(level->pictures, wide && has_wide_gathers(), &spec);
        if (!self->plan) {
            PyErr_NoMemory();
            Py_CLEAR(self);
        } else {
            self->benches.bytes = picture_bench(self->plan);
        }
    }
    while (open--) PyBuffer_Release(views + open);
    return (PyObject *)self;
}

static void picture_dealloc(PyObject *object) {
    PictureObject *self = (PictureObject *)object;
    PyTypeObject *type = Py_TYPE(object);
    benches_free(&self->benches);
    picture_free(self->plan);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

typedef struct {
    PictureObject *self;
    PicturePlane planes[3];
    uint8_t *out;
    int64_t row_pitch, channel_pitch;
    atomic_int no_memory;
} PictureCall;

static void picture_part(const void *context, int64_t part, int64_t parts) {
    PictureCall *call = (PictureCall *)context;
    const int64_t from = call->self->rows * part / parts, to = call->self->rows * (part + 1) / parts;
    uint8_t *bench = bench_claim(&call->self->benches);
    if (!bench) {
        atomic_store(&call->no_memory, 1);
        return;
    }
    picture_rows(call->self->plan, call->planes, from, to, call->out + from * call->row_pitch, call->row_pitch,
                 call->channel_pitch, bench);
    bench_keep(&call->self->benches, bench);
}

void picture_plane_needs(const PictureObject *self, int plane, int64_t *rows, int64_t *bytes) {
    *rows = *bytes = 1;
    for (int k = 0; k < self->components; ++k) {
        const PictureComponent *c = self->component + k;
        if (c->plane != plane) continue;
        const int64_t samples = (self->width + c->every_x - 1) / c->every_x, down = (self->height + c->every_y - 1) / c->every_y;
        const int whole = self->packed || self->source != COMPONENTS;
        const int64_t last = grouped_at(self->width - 1, self->group_pixels, self->group_bytes); /* of a mosaic */
        const int64_t needed = self->source == MOSAIC ? last + 1 : whole ? self->width * c->step : c->start + (samples - 1) * c->step + 1;
        const PlaneTiles *tile = self->tile + plane;
        const int64_t rows_of_tiles = tile->rows ? (down + tile->rows - 1) / tile->rows : down;
        const int64_t row = tile->rows ? (samples * c->step + tile->bytes - 1) / tile->bytes * tile->bytes * tile->rows : needed;
        if (rows_of_tiles > *rows) *rows = rows_of_tiles;
        if (row > *bytes) *bytes = row;
    }
}

int picture_plane_fits(const PictureObject *self, int plane, const Py_buffer *view) {
    int64_t bytes = 1;
    if (view->itemsize != 1 || view->ndim < 2) return wrong("planes: expected rows of bytes");
    for (int i = view->ndim - 1; i > 0; --i) {
        if (view->shape[i] > 1 && view->strides[i] != bytes) return wrong("planes: expected rows whose bytes are neighbours");
        bytes *= view->shape[i];
    }
    int64_t rows, needed;
    picture_plane_needs(self, plane, &rows, &needed);
    if (view->shape[0] >= rows && bytes >= needed) return 1;
    PyErr_Format(PyExc_ValueError, "plane %d: expected at least %lld rows of %lld bytes, got %zd rows of %lld bytes", plane,
                 (long long)rows, (long long)needed, view->shape[0], (long long)bytes);
    return 0;
}

/* The first byte of an array and the one behind its last; an array without elements has no bytes. A plain buffer has no
   strides, and len bytes. */
void view_extent(const Py_buffer *view, const char **low, const char **high) {
    *low = *high = view->buf;
    if (!view->strides) {
        *high += view->len;
        return;
    }
    for (int i = 0; i < view->ndim; ++i)
        if (!view->shape[i]) return;
    for (int i = 0; i < view->ndim; ++i) *(view->strides[i] < 0 ? low : high) += (view->shape[i] - 1) * view->strides[i];
    *high += view->itemsize;
}

int views_overlap(const Py_buffer *a, const Py_buffer *b) {
    const char *low, *high, *first, *last;
    view_extent(a, &low, &high), view_extent(b, &first, &last);
    return low < last && first < high;
}

static int planes_fit(const PictureObject *self, const Py_buffer *views, int count, const Py_buffer *out) {
    const Py_ssize_t sizes[] = {(Py_ssize_t)self->channels, (Py_ssize_t)self->rows, (Py_ssize_t)self->columns,
                                (Py_ssize_t)self->channels};
    const Py_ssize_t *shape = sizes + self->packed;
    int good = out->ndim == 3 && out->itemsize == 1;
    for (int i = 0; good && i < 3; ++i) good = out->shape[i] == shape[i];
    if (good && self->packed) good = (shape[2] == 1 || out->strides[2] == 1) && (shape[1] == 1 || out->strides[1] == shape[2]);
    else if (good) good = shape[2] == 1 || out->strides[2] == 1;
    if (!good) {
        PyErr_Format(PyExc_ValueError, "out: expected bytes of shape (%zd, %zd, %zd), those of a row neighbours", shape[0],
                     shape[1], shape[2]);
        return 0;
    }
    for (int i = 0; i < count; ++i) {
        if (!picture_plane_fits(self, i, views + i)) return 0;
        if (views_overlap(views + i, out)) return wrong("source and destination overlap");
    }
    return 1;
}

static PyObject *picture_write(PyObject *object, PyObject *args) {
    PictureObject *self = (PictureObject *)object;
    PyObject *planes, *out;
    Py_buffer views[4];
    int open = 0;
    if (!PyArg_ParseTuple(args, "O!O", &PyTuple_Type, &planes, &out)) return NULL;
    if (PyTuple_Size(planes) != self->planes)
        return PyErr_Format(PyExc_ValueError, "planes: expected %d, got %zd", self->planes, PyTuple_Size(planes));
    if (strided_buffer(out, views + open, PyBUF_STRIDED)) return NULL;
    for (++open; open <= self->planes; ++open)
        if (strided_buffer(PyTuple_GetItem(planes, open - 1), views + open, PyBUF_STRIDED_RO)) goto end;
    if (planes_fit(self, views + 1, self->planes, views)) {
        PictureCall call = {.self = self, .out = views->buf, .row_pitch = views->strides[!self->packed],
                            .channel_pitch = views->strides[0]};
        for (int i = 0; i < self->planes; ++i) call.planes[i] = (PicturePlane){views[i + 1].buf, views[i + 1].strides[0]};
        run_unlocked(picture_part, &call, views->len + self->width * self->height);
        if (atomic_load(&call.no_memory)) PyErr_NoMemory();
    }
end:
    while (open--) PyBuffer_Release(views + open);
    if (PyErr_Occurred()) return NULL;
    Py_RETURN_NONE;
}

PictureObject *picture_object(PyObject *object) {
    destructor mine = PyType_GetSlot(Py_TYPE(object), Py_tp_dealloc);
    if (mine == picture_dealloc) return (PictureObject *)object;
    PyErr_SetString(PyExc_TypeError, "rows: expected PictureRows");
    return NULL;
}

static PyMethodDef picture_methods[] = {
    {"write", picture_write, METH_VARARGS,
     "write(planes, out): planes of rows of bytes to (channels, rows, columns), by as many threads as pay"},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot picture_slots[] = {
    {Py_tp_doc, "Rows of R, G and B, or gray, of resized planes of Y, U and V; or of resized pixels."},
    {Py_tp_new, picture_new},
    {Py_tp_dealloc, picture_dealloc},
    {Py_tp_methods, picture_methods},
    {0, NULL},
};
PyType_Spec picture_spec = {"npu_layout.kernels._native.PictureRows", sizeof(PictureObject), 0, Py_TPFLAGS_DEFAULT, picture_slots};
