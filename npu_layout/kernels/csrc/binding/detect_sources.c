#include "binding/detect_sources.h"

#include <stdlib.h>
#include <string.h>

int detector_refuse(const char *what) {
    if (!PyErr_Occurred()) PyErr_Format(PyExc_ValueError, "detector: %s", what);
    return 0;
}

const void *detector_table(PyObject *bytes, int64_t *n) {
    if (!PyBytes_Check(bytes) || PyBytes_Size(bytes) % 8 || !PyBytes_Size(bytes)) return detector_refuse("expected a table, as bytes"), NULL;
    *n = PyBytes_Size(bytes) / 8;
    return PyBytes_AsString(bytes);
}

/* (which has a scale of its own, scales, zero points), float32 in bytes: one for each channel, row or column. */
static int read_scales(PyObject *tuple, Source *source) {
    int scaling;
    PyObject *scale, *zero;
    if (!PyTuple_Check(tuple) || !PyArg_ParseTuple(tuple, "iOO", &scaling, &scale, &zero) || scaling <= ONE_SCALE || scaling >= (int)SCALINGS)
        return detector_refuse("scales: expected 3 fields");
    source->scaling = (Scaling)scaling;
    const int64_t bytes = 4 * scales_of(source);
    if (source->map.type > I32 || !PyBytes_Check(scale) || !PyBytes_Check(zero) || PyBytes_Size(scale) != bytes || PyBytes_Size(zero) != bytes)
        return detector_refuse("scales: expected one of each channel, row or column");
    source->scale = (const float *)PyBytes_AsString(scale), source->zero = (const float *)PyBytes_AsString(zero);
    return 1;
}

int detector_source(const DetectorObject *self, PyObject *tuple, Source *source) {
    int dtype, activation;
    PyObject *channels, *rows, *columns, *values, *scales;
    FeatureMap *map = &source->map;
    if (!PyTuple_Check(tuple) ||
        !PyArg_ParseTuple(tuple, "iiiOOOOO", &source->buffer, &dtype, &activation, &channels, &rows, &columns, &values, &scales))
        return detector_refuse("source: expected 8 fields");
    if (source->buffer < 0 || source->buffer >= self->buffers || dtype < 0 || dtype >= DTYPES || activation < 0 ||
        activation >= (int)ACTIVATIONS)
        return detector_refuse("source: out of range");
    map->type = (Dtype)dtype, source->activation = (Activation)activation;
    if (!(map->channel = detector_table(channels, &map->count)) || !(map->row = detector_table(rows, &map->rows)) ||
        !(map->column = detector_table(columns, &map->columns)))
        return 0;
    if (map->rows > MOST_CELLS / map->columns || map->count > 1 << 20 || !feature_map_plan(map, self->bytes[source->buffer]))
        return detector_refuse("an element is outside its buffer");
    source->values = NULL, source->scaling = ONE_SCALE;
    if (scales != Py_None) return values == Py_None ? read_scales(scales, source) : detector_refuse("source: expected values or scales");
    if (values == Py_None) return dtype_size[dtype] == 4 || detector_refuse("source: expected a table of values");
    int64_t n;
    if (!(source->values = detector_table(values, &n))) return 0;
    return (dtype_size[dtype] < 4 && n == (dtype <= U8 ? 256 : 65536)) || detector_refuse("source: a table of values of another length");
}

static int same_cells(const Source *a, const Source *b) {
    return a->map.rows * a->map.columns == b->map.rows * b->map.columns || detector_refuse("parts of a level with other numbers of cells");
}

/* The points of an anchor: a source, and the table of heats or None. */
static int read_points(const DetectorObject *self, PyObject *points, PyObject *heats, Anchor *anchor) {
    const Source *source = &anchor->points;
    int64_t n;
    if (!detector_source(self, points, &anchor->points) || !same_cells(&anchor->box, source)) return 0;
    if (source->map.count != self->detector.points) return detector_refuse("points: another number of channels");
    if (!source->values) return heats == Py_None || detector_refuse("points: expected no table of heats");
    if (!(anchor->heats = detector_table(heats, &n))) return 0;
    const int64_t codes = dtype_size[source->map.type] == 1 ? 256 : 65536;
    return n == codes || detector_refuse("points: a table of heats of another length");
}

/* Whether a box has so many channels: those of its encoding, or two, because its centre is in a part of its own. */
static int has_box_channels(const BoxRule *rule, int64_t n, int apart) {
    if (rule->encoding == DFL) return n == 4 * rule->bins;
    return n == (rule->encoding == CENTER_SIZE || apart ? 2 : 4);
}

/* A part of one channel beside the scores; None: there is none. */
static int read_single(const DetectorObject *self, PyObject *tuple, const Source *score, Source *source, const char *what) {
    if (tuple == Py_None) return 1;
    return detector_source(self, tuple, source) && same_cells(score, source) && (source->map.count == 1 || detector_refuse(what));
}

/* The class as a number, and the score that is no class. */
static int read_labels(const DetectorObject *self, PyObject *label, PyObject *background, long long aside, Anchor *anchor) {
    const Source *score = &anchor->score;
    const int shared = score->activation == SOFTMAX_OF;
    if ((label != Py_None && (!detector_source(self, label, &anchor->label) || !same_cells(score, &anchor->label))) ||
        !read_single(self, background, score, &anchor->background, "background: expected one channel"))
        return 0;
    const int words = (int)anchor->label.map.count;
    if (label != Py_None && words != 1 && !(words == 2 && anchor->label.map.type == I32 && !anchor->label.scaling))
        return detector_refuse("label: expected one channel, or two words of 32 bits");
    if (label != Py_None && (score->map.count != 1 || shared || self->detector.score != CLASS_ONLY || self->detector.suppression == NEIGHBOURS))
        return detector_refuse("label: beside other scores than one");
    if (label != Py_None && (aside < -1 || aside > self->detector.classes)) return detector_refuse("background: no number of a class");
    if (shared && self->detector.suppression == NEIGHBOURS) return detector_refuse("softmax: of neighbours");
    anchor->aside = aside;
    return background == Py_None || (shared && aside >= 0 && aside <= score->map.count) || detector_refuse("background: out of range");
}

/* The angle of a turned box, and the offset of a centre or None. */
static int read_beside(const DetectorObject *self, PyObject *angle, PyObject *offset, const DetectLevel *level, Anchor *anchor) {
    if (level->angle != UPRIGHT) {
        if (!detector_source(self, angle, &anchor->angle) || !same_cells(&anchor->box, &anchor->angle)) return 0;
        if (anchor->angle.map.count != 1) return detector_refuse("angle: expected one channel");
    }
    if (offset == Py_None) return 1;
    if (!detector_source(self, offset, &anchor->offset) || !same_cells(&anchor->box, &anchor->offset)) return 0;
    return anchor->offset.map.count == 2 || detector_refuse("offset: expected two channels");
}

/* The coefficients of masks, if there are some. */
static int read_coefficients(const DetectorObject *self, PyObject *tuple, Anchor *anchor) {
    if (!self->detector.coefficients) return 1;
    if (!detector_source(self, tuple, &anchor->coefficients) || !same_cells(&anchor->box, &anchor->coefficients)) return 0;
    return anchor->coefficients.map.count == self->detector.coefficients || detector_refuse("coefficients: another number of channels");
}

/* Whether codes of two parts of 8 bits mean the same. */
static int same_values(const Source *a, const Source *b) {
    if (dtype_size[a->map.type] != 1 || a->map.type != b->map.type || !a->values || !b->values) return 0;
    return !memcmp(a->values, b->values, 256 * sizeof *a->values);
}

/* The table of the powers of 8 bits, if it is `wanted`. */
static int make_powers(const DetectorObject *self, Source *source, int wanted) {
    if (!wanted || !source->values || dtype_size[source->map.type] != 1) return 1;
    if (!(source->powers = malloc(65536 * sizeof(double)))) return PyErr_NoMemory(), 0;
    source_powers(self->detector.level, source);
    return 1;
}

int detector_anchor(const DetectorObject *self, PyObject *tuple, const DetectLevel *level, Anchor *anchor) {
    PyObject *score, *objectness, *box, *points, *heats, *angle, *offset, *label, *background, *coefficients;
    const BoxRule *rule = &level->rule;
    long long aside;
    if (!PyTuple_Check(tuple) || !PyArg_ParseTuple(tuple, "OOOOOOOOOOLdd", &score, &objectness, &box, &points, &heats, &angle, &offset, &label,
                                                   &background, &coefficients, &aside, &anchor->w, &anchor->h))
        return detector_refuse("anchor: expected 13 fields");
    if (!detector_source(self, score, &anchor->score) || !detector_source(self, box, &anchor->box) || !same_cells(&anchor->score, &anchor->box))
        return 0;
    if (anchor->score.map.count > self->detector.classes) return detector_refuse("more scores than classes");
    const int product = self->detector.score != CLASS_ONLY;
    if (product && (!detector_source(self, objectness, &anchor->objectness) || !same_cells(&anchor->score, &anchor->objectness))) return 0;
    if (product && anchor->objectness.map.count != 1) return detector_refuse("objectness: expected one channel");
    if (!has_box_channels(rule, anchor->box.map.count, offset != Py_None)) return detector_refuse("box: another number of channels");
    if (!read_labels(self, label, background, aside, anchor) || !read_coefficients(self, coefficients, anchor)) return 0;
    const Source *beside = &anchor->background;
    const int shared = anchor->score.activation == SOFTMAX_OF && (!beside->map.count || same_values(&anchor->score, beside));
    if (!make_powers(self, &anchor->box, rule->encoding == DFL) || !make_powers(self, &anchor->score, shared)) return 0;
    return read_beside(self, angle, offset, level, anchor) && (!self->detector.points || read_points(self, points, heats, anchor));
}

/* Whether cells of two maps of one output have the same places but for a constant. */
static int same_places(const Source *a, const Source *b) {
    const FeatureMap *m = &a->map, *n = &b->map;
    return a->buffer == b->buffer && m->type == n->type && m->rows == n->rows && m->columns == n->columns &&
           !memcmp(m->row, n->row, (size_t)m->rows * sizeof *m->row) && !memcmp(m->column, n->column, (size_t)m->columns * sizeof *m->column);
}

int detector_objects(const DetectorObject *self, DetectLevel *level) {
    const Source *first = &level->each->objectness;
    FeatureMap *map = &level->objects;
    if (self->detector.score == CLASS_ONLY || level->anchors < 2 || level->anchors > MOST_FEW || first->map.kind != ROWS) return 1;
    for (int a = 1; a < level->anchors; ++a)
        if (!same_places(first, &level->each[a].objectness)) return 1;
    int64_t *channel = malloc((size_t)level->anchors * sizeof *channel);
    if (!channel) return PyErr_NoMemory(), 0;
    for (int a = 0; a < level->anchors; ++a) channel[a] = level->each[a].objectness.map.channel[0];
    *map = first->map;
    map->channel = channel, map->count = level->anchors;
    feature_map_plan(map, self->bytes[first->buffer]); /* every element is inside, as it is in each */
    if (map->kind != TABLES) map->count = 0; /* the anchors' scores neighbour each other: there are better loops for each */
    return 1;
}
