/* Checks planes of pixels, and where their Y, U and V go in a buffer. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "binding/level_named.h"
#include "binding/picture_type.h"
#include "binding/signals.h"
#include "binding/strided.h"
#include "binding/to_yuv_call.h"
#include "to_yuv.h"

/* Rows that may share samples; the sum of weights, so that the halves of each fit 16 bits. */
enum { SIDE = 1 << 16, ROWS = 2, WEIGHTS = 1 << 21 };

typedef struct {
    const PictureLoops *loops;
    const ToYuv *made;
} Call;

static void call_part(const void *context, int64_t part, int64_t parts) {
    const Call *c = context;
    const int64_t height = c->made->height, pairs = (height + ROWS - 1) / ROWS;
    yuv_rows(c->loops, c->made, pairs * part / parts * ROWS, at_most(pairs * (part + 1) / parts * ROWS, height));
}

/* (offset, pitch, step, every_x, every_y, weights of B, G and R, what is added) of a component; false: not inside the buffer. */
static int read_samples(PyObject *from, const ToYuv *made, const Py_buffer *out, YuvSamples *s) {
    long long offset, pitch, step, across, down;
    YuvWeights *w = &s->weights;
    if (!PyTuple_Check(from) || !PyArg_ParseTuple(from, "LLLLLiiii", &offset, &pitch, &step, &across, &down, &w->blue, &w->green, &w->red, &w->add))
        return 0;
    if (offset < 0 || offset >= out->len || pitch < 0 || step < 1 || step > 2 || across < 1 || across > 2 || down < 1 || down > ROWS)
        return 0;
    const int64_t rows = (made->height + down - 1) / down, columns = (made->width + across - 1) / across;
    if (rows > 1 && pitch > out->len / (rows - 1)) return 0;
    if (offset + (rows - 1) * pitch + (columns - 1) * step >= out->len || (rows > 1 && pitch < (columns - 1) * step + 1)) return 0;
    const int64_t sum = magnitude(w->blue) + magnitude(w->green) + magnitude(w->red), most = 255 * sum + magnitude(w->add);
    s->out = (uint8_t *)out->buf + offset, s->pitch = pitch, s->step = step, s->every_x = across, s->every_y = down;
    return sum < WEIGHTS && most <= INT32_MAX;
}

static int fits(const Py_buffer *pixels, const Py_buffer *out, PyObject *samples, ToYuv *made) {
    if (pixels->ndim != 3 || pixels->itemsize != 1 || out->itemsize != 1 || pixels->shape[0] != 3) return 0;
    made->height = pixels->shape[1], made->width = pixels->shape[2], made->pixels = pixels->buf;
    made->plane = pixels->strides[0], made->row = pixels->strides[1];
    if (made->height < 1 || made->height > SIDE || made->width < 1 || made->width > SIDE) return 0;
    if ((made->width > 1 && pixels->strides[2] != 1) || views_overlap(pixels, out) || PyTuple_Size(samples) != 3) return 0;
    for (int k = 0; k < 3; ++k)
        if (!read_samples(PyTuple_GetItem(samples, k), made, out, made->of + k)) return 0;
    return made->of[0].step == 1 && ((made->of[1].step == 1 && made->of[2].step == 1) || yuv_is_joined(made));
}

PyObject *native_to_yuv(PyObject *module, PyObject *args) {
    const char *name;
    PyObject *given, *result, *samples;
    Py_buffer pixels, out;
    ToYuv made = {0};
    (void)module;
    if (!PyArg_ParseTuple(args, "sOOO!", &name, &given, &result, &PyTuple_Type, &samples)) return NULL;
    const Level *level = level_named(name);
    if (!level || strided_buffer(given, &pixels, PyBUF_STRIDED_RO)) return NULL;
    if (!PyObject_GetBuffer(result, &out, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE)) {
        if (fits(&pixels, &out, samples, &made)) {
            const Call call = {level->pictures, &made};
            run_unlocked(call_part, &call, 2 * pixels.len);
        } else if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "to_yuv: pixels, samples or a buffer that do not fit");
        PyBuffer_Release(&out);
    }
    PyBuffer_Release(&pixels);
    if (PyErr_Occurred()) return NULL;
    Py_RETURN_NONE;
}
