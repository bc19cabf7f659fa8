/* The type Fit: checks that rows, programs and buffers fit each other, and runs. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdatomic.h>
#include <string.h>

#include "binding/fit_type.h"
#include "binding/program_type.h"
#include "binding/signals.h"
#include "binding/strided.h"
#include "binding/picture_type.h"
#include "cold.h"
#include "fit.h"

typedef struct {
    PyObject_HEAD
    Fit fit;
    PyObject *rows, *band, *tail;
    int64_t out_bytes, moved;
    Benches benches;
    Results results;
} FitObject;

/* Whether the program of the rows from `y` on fits canvas and buffer. */
static int program_fits(const FitObject *self, const Program *program, int64_t y, int64_t rows) {
    const Fit *fit = &self->fit;
    if (program->src_bytes == rows * fit->width * fit->channels && program->dst_bytes + y * fit->pitch <= self->out_bytes) return 1;
    PyErr_Format(PyExc_ValueError, "program of %lld rows: expected %lld bytes, and up to %lld, got %lld and %lld", (long long)rows,
                 (long long)(rows * fit->width * fit->channels), (long long)(self->out_bytes - y * fit->pitch),
                 (long long)program->src_bytes, (long long)program->dst_bytes);
    return 0;
}

static int fit_fits(const FitObject *self) {
    const Fit *fit = &self->fit;
    const int64_t most = 1 << 16, most_bytes = (int64_t)1 << 56; /* no sum or product of them has 64 bits */
    if (fit->width < 1 || fit->height < 1 || fit->width > most || fit->height > most || fit->left < 0 || fit->top < 0 ||
        fit->left > fit->width - fit->inner_w || fit->top > fit->height - fit->inner_h || fit->rows < 1 || fit->rows > fit->height ||
        fit->pitch < 0 || fit->pitch > (int64_t)1 << 40 || self->out_bytes < 0 || self->out_bytes > most_bytes) {
        PyErr_SetString(PyExc_ValueError, "fit: sizes out of range");
        return 0;
    }
    const int64_t row = fit->width * fit->channels;
    if (!fit->band) {
        const int good = (fit->packed || fit->channels == 1) && fit->pitch >= row && (fit->height - 1) * fit->pitch + row <= self->out_bytes;
        if (!good) PyErr_SetString(PyExc_ValueError, "fit: rows that do not fit the buffer");
        return good;
    }
    const int64_t whole = fit->height / fit->rows, left = fit->height % fit->rows;
    if (left && !fit->tail) {
        PyErr_SetString(PyExc_ValueError, "fit: expected a program for the last rows");
        return 0;
    }
    return program_fits(self, fit->band, (whole - 1) * fit->rows, fit->rows) &&
           (!left || program_fits(self, fit->tail, whole * fit->rows, left));
}

static PyObject *fit_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *rows, *band, *tail, *bytes;
    char *border;
    Py_ssize_t border_bytes;
    int flipped;
    long long width, height, left, top, out_bytes, count, pitch;
    if (kwargs && PyDict_Size(kwargs)) return PyErr_Format(PyExc_TypeError, "Fit takes no keywords");
    if (!PyArg_ParseTuple(args, "O(LLLL)OpLLLOO", &rows, &width, &height, &left, &top, &bytes, &flipped, &out_bytes, &count, &pitch, &band,
                          &tail) ||
        PyBytes_AsStringAndSize(bytes, &border, &border_bytes))
        return NULL;
    const PictureObject *source = picture_object(rows);
    if (!source) return NULL;
    FitObject *self = (FitObject *)PyType_GenericAlloc(type, 0);
    if (!self) return NULL;
    self->fit = (Fit){.plan = source->plan, .packed = source->packed, .channels = (int)source->channels, .width = width,
                      .height = height, .left = left, .top = top, .inner_w = source->columns, .inner_h = source->rows,
                      .flipped = flipped, .rows = count, .pitch = pitch};
    self->out_bytes = out_bytes;
    Py_INCREF(rows), Py_INCREF(band), Py_INCREF(tail);
    self->rows = rows, self->band = band, self->tail = tail;
    int good = border_bytes == source->channels;
    for (int c = 0; good && c < border_bytes; ++c) self->fit.border[c] = (uint8_t)(border[c] ^ (flipped ? 0x80 : 0));
    if (!good) PyErr_SetString(PyExc_ValueError, "border: expected one byte for each channel");
    good = good && (band == Py_None || (self->fit.band = program_of(band))) && (tail == Py_None || (self->fit.tail = program_of(tail)));
    if (good && fit_fits(self)) {
        self->benches.bytes = fit_bench(&self->fit);
        self->moved = out_bytes + source->rows * source->columns * 4 * source->channels;
        return (PyObject *)self;
    }
    Py_DECREF(self);
    return NULL;
}

static void fit_dealloc(PyObject *object) {
    FitObject *self = (FitObject *)object;
    PyTypeObject *type = Py_TYPE(object);
    benches_free(&self->benches);
    Py_XDECREF(self->rows), Py_XDECREF(self->band), Py_XDECREF(self->tail);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

typedef struct {
    FitObject *self;
    PicturePlane planes[FIT_PLANES];
    uint8_t *out;
    int past; /* the result is in no cache */
} FitCall;

/* Fits that run by turns, each of as many bands: what one has read of a frame is in the caches for the next. */
typedef struct {
    FitCall fits[FIT_PLANES];
    int count;
    int64_t turns;
    atomic_int no_memory;
} FitCalls;

static void fit_part(const void *context, int64_t part, int64_t parts) {
    FitCalls *calls = (FitCalls *)context;
    uint8_t *benches[FIT_PLANES];
    int claimed = 0;
    while (claimed < calls->count && (benches[claimed] = bench_claim(&calls->fits[claimed].self->benches))) ++claimed;
    if (claimed < calls->count) atomic_store(&calls->no_memory, 1);
    else
        for (int64_t turn = part * calls->turns; turn < (part + 1) * calls->turns; ++turn)
            for (int i = 0; i < calls->count; ++i) {
                const FitCall *call = calls->fits + i;
                fit_run(&call->self->fit, call->planes, call->out, call->past, turn, parts * calls->turns, benches[i]);
            }
    while (claimed--) bench_keep(&calls->fits[claimed].self->benches, benches[claimed]);
}

/* A look loads from the results, whose pages may have to be read from a file first. On return an exception may be set. */
static void run_calls(FitCalls *calls, int64_t moved) {
    Stop *stop;
    if (signals_stop(moved, &stop)) return;
    PyThreadState *others = moved < UNLOCK ? NULL : PyEval_SaveThread();
    for (int i = 0; i < calls->count; ++i) {
        FitCall *call = calls->fits + i;
        FitObject *self = call->self;
        call->past = fit_looks(&self->fit) && past_cold(&self->results, call->out, self->out_bytes, past_early(self->moved, 1));
    }
    pool_run(fit_part, calls, moved, stop, others);
    if (others) PyEval_RestoreThread(others);
}

/* Whether planes and the buffer from `offset` on fit; what does not fit has set an error. */
static int views_fit(const FitObject *self, const PictureObject *source, const Py_buffer *out, int64_t offset, const Py_buffer *planes,
                     int count) {
    if (count != source->planes || offset < 0 || out->len < self->out_bytes || offset > out->len - self->out_bytes) {
        PyErr_SetString(PyExc_ValueError, "planes or a buffer that do not fit");
        return 0;
    }
    for (int i = 0; i < count; ++i) {
        if (!picture_plane_fits(source, i, planes + i)) return 0;
        const char *const first = out->buf, *low, *high;
        view_extent(planes + i, &low, &high);
        if (low < first + out->len && first < high) {
            PyErr_SetString(PyExc_ValueError, "source and destination overlap");
            return 0;
        }
    }
    return 1;
}

static PyObject *fit_result(FitCalls *calls, int fits) {
    if (fits && atomic_load(&calls->no_memory)) return PyErr_NoMemory();
    if (fits && PyErr_Occurred()) return NULL;
    PyErr_Clear();
    return PyBool_FromLong(fits);
}

/* run(out, offset, plane, ...): True; False if they do not fit: then nothing was written. */
static PyObject *fit_call(PyObject *object, PyObject *const *args, Py_ssize_t count) {
    FitObject *self = (FitObject *)object;
    const PictureObject *source = (const PictureObject *)self->rows;
    Py_buffer views[1 + FIT_PLANES];
    int open = 0, fits = 0;
    if (count < 3 || count > 2 + FIT_PLANES) return PyErr_Format(PyExc_TypeError, "run takes out, offset and planes");
    const long long offset = PyLong_AsLongLong(args[1]);
    if (offset == -1 && PyErr_Occurred()) return NULL;
    FitCalls calls = {.fits = {{.self = self}}, .count = 1, .turns = 1};
    if (PyObject_GetBuffer(args[0], views, PyBUF_WRITABLE)) goto end;
    for (++open; open < count - 1; ++open)
        if (strided_buffer(args[open + 1], views + open, PyBUF_STRIDED_RO)) goto end;
    fits = views_fit(self, source, views, offset, views + 1, open - 1);
    if (fits) {
        calls.fits->out = (uint8_t *)views->buf + offset;
        for (int i = 1; i < open; ++i) calls.fits->planes[i - 1] = (PicturePlane){views[i].buf, views[i].strides[0]};
        run_calls(&calls, self->moved);
    }
end:
    while (open--) PyBuffer_Release(views + open);
    return fit_result(&calls, fits);
}

/* Whether a plane that begins at `offset` of an array, with so many bytes from row to row, is inside it. */
static int place_fits(const PictureObject *source, int i, const Py_buffer *memory, long long offset, long long pitch, PicturePlane *plane) {
    const char *low, *high;
    int64_t rows, bytes;
    view_extent(memory, &low, &high);
    picture_plane_needs(source, i, &rows, &bytes);
    const int64_t most = (int64_t)1 << 40, from = low - (const char *)memory->buf, to = high - (const char *)memory->buf;
    if (offset < -most || offset > most || pitch < -most / rows || pitch > most / rows) return 0;
    const int64_t last = (rows - 1) * pitch;
    if (offset + at_most(last, 0) < from || offset + (last > 0 ? last : 0) + bytes > to) return 0;
    *plane = (PicturePlane){(const uint8_t *)memory->buf + offset, pitch};
    return 1;
}

/* The arrays of a call: where is written, then the frame, which is one or a tuple of several. */
typedef struct {
    Py_buffer of[1 + FIT_PLANES];
    int open;
} Views;

/* False if the frame has more arrays than it may have, or with an error set; close the views in any case. */
static int open_views(Views *views, PyObject *out, PyObject *frame) {
    const int apart = PyTuple_Check(frame);
    const Py_ssize_t count = apart ? PyTuple_Size(frame) : 1;
    views->open = 0;
    if (count > FIT_PLANES || PyObject_GetBuffer(out, views->of, PyBUF_WRITABLE)) return 0;
    for (views->open = 1; views->open <= count; ++views->open)
        if (strided_buffer(apart ? PyTuple_GetItem(frame, views->open - 1) : frame, views->of + views->open, PyBUF_STRIDED_RO)) return 0;
    return 1;
}
static void close_views(Views *views) {
    while (views->open--) PyBuffer_Release(views->of + views->open);
}

/* Whether a fit writes inside the array from `offset` on; then it is the next one of the calls. */
static FitCall *add_fit(FitCalls *calls, FitObject *fit, const Views *views, long long offset) {
    int fits = offset >= 0 && views->of->len >= fit->out_bytes && offset <= views->of->len - fit->out_bytes;
    for (int i = 1; fits && i < views->open; ++i) fits = !views_overlap(views->of, views->of + i);
    if (!fits) return NULL;
    FitCall *call = calls->fits + calls->count++;
    call->self = fit, call->out = (uint8_t *)views->of->buf + offset;
    return call;
}

/* run_in(out, offset, frame, places): the same for planes in one frame, or each in an array of its own; of these more may be given. */
static PyObject *fit_call_in(PyObject *object, PyObject *const *args, Py_ssize_t count) {
    FitObject *self = (FitObject *)object;
    const PictureObject *source = (const PictureObject *)self->rows;
    if (count != 4 || !PyTuple_Check(args[3])) return PyErr_Format(PyExc_TypeError, "run_in takes out, offset, frame and places");
    const long long offset = PyLong_AsLongLong(args[1]);
    if (offset == -1 && PyErr_Occurred()) return NULL;
    const int apart = PyTuple_Check(args[2]);
    if (PyTuple_Size(args[3]) != source->planes || (apart && PyTuple_Size(args[2]) < source->planes)) Py_RETURN_FALSE;
    FitCalls calls = {.turns = 1};
    Views views;
    FitCall *call = open_views(&views, args[0], args[2]) ? add_fit(&calls, self, &views, offset) : NULL;
    int fits = call != NULL;
    for (int i = 0; fits && i < source->planes; ++i) {
        long long from, pitch;
        fits = PyArg_ParseTuple(PyTuple_GetItem(args[3], i), "LL", &from, &pitch) &&
               place_fits(source, i, views.of + 1 + (apart ? i : 0), from, pitch, call->planes + i);
    }
    if (fits) run_calls(&calls, self->moved);
    close_views(&views);
    return fit_result(&calls, fits);
}

/* (fit, offset, ((array, offset, pitch) of each plane, ...)): false if it does not fit, or with an error set. */
static int add_step(FitCalls *calls, PyObject *step, const Views *views) {
    PyObject *fit, *places;
    long long offset;
    if (!PyArg_ParseTuple(step, "OLO!", &fit, &offset, &PyTuple_Type, &places)) return 0;
    destructor its = PyType_GetSlot(Py_TYPE(fit), Py_tp_dealloc);
    if (its != fit_dealloc) return 0;
    FitObject *self = (FitObject *)fit;
    const PictureObject *source = (const PictureObject *)self->rows;
    FitCall *call = PyTuple_Size(places) == source->planes ? add_fit(calls, self, views, offset) : NULL;
    for (int i = 0; call && i < source->planes; ++i) {
        long long array, from, pitch;
        if (!PyArg_ParseTuple(PyTuple_GetItem(places, i), "LLL", &array, &from, &pitch) || array < 0 || array > views->open - 2 ||
            !place_fits(source, i, views->of + 1 + array, from, pitch, call->planes + i))
            return 0;
    }
    return call != NULL;
}

/* Into how many turns fits are divided: one if not all read the same plane. Else so many bands at a time that the prefetchers seldom
 * begin again, and that what they read stays in L2. */
static int64_t turns_of(const FitCalls *calls) {
    enum { TURN = 4 }; /* bands */
    int64_t turns = INT64_MAX;
    int shared = calls->count > 1;
    for (int i = 0; i < calls->count; ++i) {
        const FitCall *call = calls->fits + i, *before = call - 1;
        const Fit *fit = &call->self->fit;
        turns = at_most(turns, fit->height / fit->rows / TURN);
        shared &= !i || magnitude(call->planes[0].first - before->planes[0].first) < magnitude(call->planes[0].pitch);
    }
    return shared && turns > 1 ? turns : 1;
}

PyObject *native_run_fits(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    if (count != 3 || !PyTuple_Check(args[0]) || PyTuple_Size(args[0]) < 1 || PyTuple_Size(args[0]) > FIT_PLANES)
        return PyErr_Format(PyExc_TypeError, "run_fits takes 1 to %d steps, out and frame", FIT_PLANES);
    FitCalls calls = {.count = 0};
    Views views;
    int fits = open_views(&views, args[1], args[2]);
    int64_t moved = 0;
    for (Py_ssize_t i = 0; fits && i < PyTuple_Size(args[0]); ++i) {
        fits = add_step(&calls, PyTuple_GetItem(args[0], i), &views);
        if (fits) moved += calls.fits[i].self->moved;
    }
    calls.turns = fits ? turns_of(&calls) : 1;
    if (fits) run_calls(&calls, moved);
    close_views(&views);
    return fit_result(&calls, fits);
}

static PyMethodDef fit_methods[] = {
    {"run_in", (PyCFunction)(void (*)(void))fit_call_in, METH_FASTCALL,
     "run_in(out, offset, frame, places): the same for planes in one frame, or in a tuple of arrays; places: ((offset, pitch), ...)"},
    {"run", (PyCFunction)(void (*)(void))fit_call, METH_FASTCALL,
     "run(out, offset, *planes): write a picture to a buffer, and True; False if they do not fit: then nothing was written"},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot fit_slots[] = {
    {Py_tp_doc, "One pass from a picture to a buffer."},
    {Py_tp_new, fit_new},
    {Py_tp_dealloc, fit_dealloc},
    {Py_tp_methods, fit_methods},
    {0, NULL},
};
PyType_Spec fit_spec = {"npu_layout.kernels._native.Fit", sizeof(FitObject), 0, Py_TPFLAGS_DEFAULT, fit_slots};
