/* The type Detector: reads a description, checks that every element is inside its buffer, and runs. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdlib.h>

#include "binding/detect_sources.h"
#include "binding/detect_type.h"
#include "binding/level_named.h"
#include "detect.h"

enum { MOST_LEVELS = 64, MOST_ANCHORS = 64, RESULTS = 10 };

/* (encoding, values, activation of the third, variance); None if a box has no points. */
static int read_point_rule(const DetectorObject *self, PyObject *tuple, DetectLevel *level) {
    int encoding, heat;
    PointRule *r = &level->point;
    if (!self->detector.points) return 1;
    if (!PyTuple_Check(tuple) || !PyArg_ParseTuple(tuple, "iiid", &encoding, &r->values, &heat, &r->variance))
        return detector_refuse("points: expected 4 fields");
    if (encoding < 0 || encoding >= (int)POINT_ENCODINGS || r->values < 2 || r->values > 3 || heat < 0 || heat >= (int)ACTIVATIONS ||
        self->detector.points % r->values)
        return detector_refuse("points: out of range");
    r->encoding = (PointEncoding)encoding, level->heat = (Activation)heat;
    return 1;
}

/* (columns, encoding, bins, strides, center, unit_x, unit_y, of_center, of_size, stride, spread, angle, points, anchors, priors or
 * None) */
static int read_level(const DetectorObject *self, PyObject *tuple, DetectLevel *level) {
    long long columns;
    int encoding, angle;
    PyObject *points, *anchors, *priors;
    BoxRule *r = &level->rule;
    if (!PyTuple_Check(tuple) ||
        !PyArg_ParseTuple(tuple, "LiiidddddddiOOO", &columns, &encoding, &r->bins, &r->strides, &r->center, &r->unit_x, &r->unit_y,
                          &r->of_center, &r->of_size, &r->stride, &r->spread, &angle, &points, &anchors, &priors))
        return detector_refuse("level: expected 15 fields");
    if (!read_point_rule(self, points, level)) return 0;
    if (columns < 1 || columns > MOST_CELLS || !PyTuple_Check(anchors)) return detector_refuse("level: columns or anchors out of range");
    if (angle < 0 || angle >= (int)ANGLES || encoding < 0 || encoding >= (int)ENCODINGS)
        return detector_refuse("level: angle or encoding out of range");
    if (r->bins < 1 || r->bins > MOST_BINS) return detector_refuse("level: bins out of range");
    if (angle == UPRIGHT && self->detector.suppression == PROBIOU) return detector_refuse("level: boxes without an angle");
    const Py_ssize_t n = PyTuple_Size(anchors);
    if (n < 1 || n > MOST_ANCHORS) return detector_refuse("level: expected 1 to 64 anchors");
    level->columns = columns, level->angle = (Angle)angle, r->encoding = (Encoding)encoding;
    if (!(level->each = calloc((size_t)n, sizeof *level->each))) return PyErr_NoMemory(), 0;
    level->anchors = (int)n;
    for (int a = 0; a < n; ++a)
        if (!detector_anchor(self, PyTuple_GetItem(anchors, a), level, level->each + a)) return 0;
    if (!detector_objects(self, level)) return 0;
    if (priors == Py_None) return 1;
    const FeatureMap *cells = &level->each->box.map;
    int64_t numbers;
    if (!(level->priors = detector_table(priors, &numbers))) return 0;
    return numbers == 4 * cells->rows * cells->columns * n || detector_refuse("level: expected a prior for each anchor of each cell");
}

static int read_buffers(DetectorObject *self, PyObject *sizes) {
    const Py_ssize_t n = PyTuple_Size(sizes);
    if (n < 1 || n > MOST_BUFFERS) return detector_refuse("expected 1 to 64 buffers");
    self->buffers = (int)n;
    for (int i = 0; i < n; ++i) {
        self->bytes[i] = PyLong_AsLongLong(PyTuple_GetItem(sizes, i));
        if (self->bytes[i] < 0) return detector_refuse("sizes of buffers");
    }
    return 1;
}

static PyObject *detector_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    const char *name;
    PyObject *sizes, *levels, *filled;
    int score, suppression;
    long long classes, points, coefficients;
    DetectorObject *self = (DetectorObject *)PyType_GenericAlloc(type, 0);
    if (!self) return NULL;
    Detector *d = &self->detector;
    Py_INCREF(args);
    self->description = args;
    int good = !kwargs && PyArg_ParseTuple(args, "sO!iLLLpipp(dd)O!O", &name, &PyTuple_Type, &sizes, &score, &classes, &points, &coefficients,
                                           &d->all_labels, &suppression, &d->per_class, &d->inclusive, &d->extra, &d->epsilon, &PyTuple_Type, &levels, &filled);
    good = good && (d->level = level_named(name)) && read_buffers(self, sizes);
    if (good && (score < 0 || score >= (int)SCORES || classes < 1 || classes > 1 << 20)) good = detector_refuse("score or classes out of range");
    if (good && (suppression < 0 || suppression >= (int)SUPPRESSIONS)) good = detector_refuse("suppression out of range");
    if (good && (points < 0 || points > MOST_BESIDE || coefficients < 0 || coefficients > MOST_BESIDE))
        good = detector_refuse("points or coefficients out of range");
    if (good) {
        const Py_ssize_t n = PyTuple_Size(levels);
        d->score = (ScoreRule)score, d->suppression = (Suppression)suppression, d->classes = classes, d->points = points,
        d->coefficients = coefficients;
        good = n >= 1 && n <= MOST_LEVELS ? (d->each = calloc((size_t)n, sizeof *d->each)) != NULL : detector_refuse("expected 1 to 64 levels");
        d->levels = good ? (int)n : 0;
        for (int i = 0; good && i < n; ++i) good = read_level(self, PyTuple_GetItem(levels, i), d->each + i);
        if (good && filled != Py_None) good = detector_source(self, filled, &d->filled);
    }
    if (good) return (PyObject *)self;
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "Detector takes no keywords");
    Py_DECREF(self);
    return NULL;
}

static void detector_dealloc(PyObject *object) {
    DetectorObject *self = (DetectorObject *)object;
    PyTypeObject *type = Py_TYPE(object);
    for (int i = 0; i < self->detector.levels; ++i) {
        for (int a = 0; a < self->detector.each[i].anchors; ++a) {
            free(self->detector.each[i].each[a].box.powers);
            free(self->detector.each[i].each[a].score.powers);
        }
        free(self->detector.each[i].each);
        free((void *)self->detector.each[i].objects.channel);
    }
    free(self->detector.each);
    workspace_free(&self->work);
    Py_XDECREF(self->description);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

/* Store the thresholds of each anchor of each level, int32. */
static int set_thresholds(const Detector *d, PyObject *bytes) {
    int64_t n = 0;
    for (int i = 0; i < d->levels; ++i) n += d->each[i].anchors;
    if (!PyBytes_Check(bytes) || PyBytes_Size(bytes) != 4 * n) return detector_refuse("thresholds: expected one for each anchor");
    const char *from = PyBytes_AsString(bytes);
    for (int i = 0; i < d->levels; ++i)
        for (int a = 0; a < d->each[i].anchors; ++a, from += 4) memcpy(&d->each[i].each[a].threshold, from, 4);
    return 1;
}

/* Fetch the results' objects, which may be in no cache: their lines come side by side while the buffers are opened. */
static void fetch_objects(PyObject *const *results) {
    enum { LINE = 64 };
    for (int i = 0; i < RESULTS; ++i)
        for (int line = 0; line < 2; ++line) __builtin_prefetch((const char *)results[i] + line * LINE);
}

/* Open the results: xyxy, confidence; class_id, level, cell, anchor; points, if there are some; xywha, edges and coefficients, each or
 * None. */
static int open_results(PyObject *const *args, const Detector *d, int64_t limit, Py_buffer *views, int *open, DetectionArrays *out) {
    const int64_t sizes[RESULTS] = {16, 4, 8, 8, 8, 8, 4 * d->points, 20, 32, 8 * d->coefficients};
    void *places[RESULTS] = {NULL};
    for (int i = 0; i < RESULTS; ++i) {
        if (!sizes[i] || (i >= RESULTS - 3 && args[i] == Py_None)) continue;
        Py_buffer *view = views + *open;
        if (PyObject_GetBuffer(args[i], view, PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS)) return 0;
        ++*open;
        if (view->len < limit * sizes[i]) return detector_refuse("results that are too short");
        places[i] = view->buf;
    }
    *out = (DetectionArrays){places[0], places[1], places[2], places[3], places[4], places[5], places[6], places[7], places[8], places[9]};
    return 1;
}

/* run(buffers, thresholds, confidence, iou, limit, xyxy, confidence, class_id, level, cell, anchor, points, xywha or None, edges or None,
 * coefficients or None): how many */
static PyObject *detector_run(PyObject *object, PyObject *const *args, Py_ssize_t count) {
    DetectorObject *self = (DetectorObject *)object;
    Py_buffer views[MOST_BUFFERS], results[RESULTS];
    const uint8_t *data[MOST_BUFFERS];
    DetectionArrays out;
    int open = 0, made = 0;
    int64_t n = 0;
    if (count != 5 + RESULTS || !PyTuple_Check(args[0]) || PyTuple_Size(args[0]) != self->buffers) return detector_refuse("run: other arguments"), NULL;
    const Thresholds t = {PyFloat_AsDouble(args[2]), PyFloat_AsDouble(args[3]), PyLong_AsLongLong(args[4])};
    if (PyErr_Occurred()) return NULL;
    fetch_objects(args + 5);
    if (t.limit < 0 || t.limit > 1 << 24) return detector_refuse("limit out of range"), NULL;
    for (; open < self->buffers; ++open) {
        if (PyObject_GetBuffer(PyTuple_GetItem(args[0], open), views + open, PyBUF_C_CONTIGUOUS)) goto end;
        data[open] = views[open].buf;
        if (views[open].len != self->bytes[open]) {
            ++open, detector_refuse("a buffer of another size");
            goto end;
        }
    }
    if (self->busy) {
        PyErr_SetString(PyExc_RuntimeError, "busy");
        goto end;
    }
    if (open_results(args + 5, &self->detector, t.limit, results, &made, &out) && set_thresholds(&self->detector, args[1])) {
        self->busy = 1;
        PyThreadState *state = PyEval_SaveThread();
        n = detect_run(&self->detector, data, &t, &self->work, &out);
        PyEval_RestoreThread(state);
        self->busy = 0;
        if (n == NO_MEMORY) PyErr_NoMemory();
    }
end:
    while (open--) PyBuffer_Release(views + open);
    while (made--) PyBuffer_Release(results + made);
    return PyErr_Occurred() ? NULL : PyLong_FromLongLong(n);
}

static PyMethodDef detector_methods[] = {
    {"run", (PyCFunction)(void (*)(void))detector_run, METH_FASTCALL,
     "run(buffers, thresholds, confidence, iou, limit, xyxy, confidence, class_id, level, cell, anchor, points or None, xywha or None, "
     "edges or None, coefficients or None): how many were found, or -2: the label of a candidate is no class; xywha: of turned boxes; edges: float64, of boxes before they are rounded or turned"},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot detector_slots[] = {
    {Py_tp_doc, "From stored outputs to detections."},
    {Py_tp_new, detector_new},
    {Py_tp_dealloc, detector_dealloc},
    {Py_tp_methods, detector_methods},
    {0, NULL},
};
PyType_Spec detector_spec = {"npu_layout.kernels._native.Detector", sizeof(DetectorObject), 0, Py_TPFLAGS_DEFAULT, detector_slots};
