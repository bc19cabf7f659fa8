/* The binding: checks numbers, holds buffers, releases the interpreter's lock. The loops know nothing of Python. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <string.h>

#include "binding/reductions.h"
#include "binding/signals.h"
#include "divide.h"
#include "gray.h"
#include "program.h"

typedef struct {
    PyObject_HEAD
    Program program;
    float *parameters; /* all arrays of the arithmetic, one after the other */
} ProgramObject;

/* The arrays of CoreArithmetic in native.py, in its order: 4 bytes for each channel. */
enum { SHIFT, SCALE, DIVISOR, BEFORE, LOW, HIGH, AFTER, FACTOR, SUMMAND, ARRAYS };

static const char *const array_names[ARRAYS] = {"shift", "scale", "divisor", "before", "low",
                                                "high",  "after", "factor",  "summand"};

static int add(int64_t *total, int64_t a, int64_t b) {
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) || __builtin_add_overflow(*total, product, total);
}

/* Whether every element that a walk reaches lies in 0 .. bytes. */
static int inside(const Box *box, int64_t start, size_t step, int64_t item, int64_t bytes) {
    int64_t low = start, high = start;
    for (int i = 0; i < box->count; ++i) {
        int64_t by;
        memcpy(&by, (const char *)(box->loops + i) + step, sizeof by);
        if (add(by < 0 ? &low : &high, box->loops[i].n - 1, by)) return 0;
    }
    return low >= 0 && !add(&high, item, 1) && high <= bytes;
}

/* ((extent, source step, destination step, parameter step), ...), source, destination, parameter: in elements. */
static int read_box(PyObject *from, Box *box, int64_t src_item, int64_t dst_item) {
    PyObject *loops;
    long long src, dst, param;
    if (!PyArg_ParseTuple(from, "O!LLL", &PyTuple_Type, &loops, &src, &dst, &param)) return 0;
    const Py_ssize_t count = PyTuple_Size(loops);
    if (count > MAX_LOOPS) {
        PyErr_Format(PyExc_OverflowError, "%zd loops, more than %d", count, MAX_LOOPS);
        return 0;
    }
    box->count = (int)count;
    box->param = param;
    int wrong = __builtin_mul_overflow((int64_t)src, src_item, &box->src);
    wrong |= __builtin_mul_overflow((int64_t)dst, dst_item, &box->dst);
    for (int i = 0; i < box->count; ++i) {
        long long n, s, d, p;
        if (!PyArg_ParseTuple(PyTuple_GetItem(loops, i), "LLLL", &n, &s, &d, &p)) return 0;
        Loop *k = box->loops + i;
        k->n = n, k->p = n > 1 ? p : 0; /* nothing asks where a loop of one would go */
        wrong |= n < 1;
        wrong |= __builtin_mul_overflow((int64_t)(n > 1 ? s : 0), src_item, &k->s);
        wrong |= __builtin_mul_overflow((int64_t)(n > 1 ? d : 0), dst_item, &k->d);
    }
    if (wrong) PyErr_SetString(PyExc_ValueError, "loops that do not fit 64 bits, or an extent below 1");
    return !wrong;
}

static int64_t box_bytes(const Box *box, int64_t item) {
    for (int i = 0; i < box->count; ++i) item *= box->loops[i].n;
    return item;
}

/* A fill that the move does on its way is done by nobody else. */
static int64_t take_pad(Program *p, const Box *box, int64_t src_item, int64_t dst_item) {
    for (int i = 0; i < p->jobs; ++i) {
        const Box fill = p->job[i].move.box;
        const int64_t pad = p->job[i].is_fill ? pad_of(box, &fill, src_item, dst_item) : 0;
        if (!pad) continue;
        p->fill_bytes -= box_bytes(&fill, dst_item);
        memmove(p->job + i, p->job + i + 1, (size_t)(--p->jobs - i) * sizeof *p->job);
        return pad;
    }
    return 0;
}

/* Reads CoreArithmetic of native.py, field by field in its order. */
static int read_parameters(PyObject *from, ProgramObject *self) {
    Arithmetic *a = &self->program.arithmetic;
    Py_buffer all[ARRAYS];
    int from_type, to_type, got = 0, good = 0;
    PyObject *arrays[ARRAYS];
    if (!PyArg_ParseTuple(from, "iipppiOOOOOOOOO", &from_type, &to_type, &a->steps, &a->divides, &a->brief, &a->bits,
                          arrays + SHIFT, arrays + SCALE, arrays + DIVISOR, arrays + BEFORE, arrays + LOW, arrays + HIGH,
                          arrays + AFTER, arrays + FACTOR, arrays + SUMMAND))
        return 0;
    if (from_type < 0 || from_type >= DTYPES || to_type < 0 || to_type >= DTYPES) {
        PyErr_SetString(PyExc_ValueError, "no such dtype");
        return 0;
    }
    a->from = (Dtype)from_type, a->to = (Dtype)to_type;
    if ((a->brief && (a->from > U8 || a->to > U8)) || (a->bits && !a->brief) || a->bits < 0 || a->bits > 8) {
        PyErr_SetString(PyExc_ValueError, "bytes only");
        return 0;
    }
    for (; got < ARRAYS; ++got)
        if (PyObject_GetBuffer(arrays[got], all + got, PyBUF_SIMPLE)) goto end;
    for (int i = 0; i < ARRAYS; ++i)
        if (all[i].len != all[0].len || all[i].len < 4 || all[i].len % 4) {
            PyErr_Format(PyExc_ValueError, "parameters of different lengths: %s has %zd bytes, %s has %zd", array_names[i],
                         all[i].len, array_names[0], all[0].len);
            goto end;
        }
    a->channels = all[0].len / 4;
    self->parameters = PyMem_Malloc((size_t)all[0].len * (ARRAYS + sizeof(Product) / 4));
    if (!self->parameters) {
        PyErr_NoMemory();
        goto end;
    }
    for (int i = 0; i < ARRAYS; ++i) memcpy(self->parameters + i * a->channels, all[i].buf, (size_t)all[0].len);
    const float **floats[AFTER] = {[SHIFT] = &a->shift,   [SCALE] = &a->scale, [DIVISOR] = &a->divisor,
                                   [BEFORE] = &a->before, [LOW] = &a->low,     [HIGH] = &a->high};
    for (int i = 0; i < AFTER; ++i) *floats[i] = self->parameters + i * a->channels;
    a->after = (const int32_t *)(const void *)(self->parameters + AFTER * a->channels);
    uint16_t *factor = (uint16_t *)(void *)(self->parameters + FACTOR * a->channels);
    int16_t *summand = (int16_t *)(void *)(self->parameters + SUMMAND * a->channels);
    for (int64_t i = 0; i < a->channels; ++i) {
        factor[i] = (uint16_t)((const int32_t *)all[FACTOR].buf)[i];
        summand[i] = (int16_t)((const int32_t *)all[SUMMAND].buf)[i];
    }
    a->factor = factor, a->summand = summand;
    Product *products = (Product *)(void *)(self->parameters + ARRAYS * a->channels);
    a->products = products_of(a, products) ? products : NULL;
    good = 1;
end:
    while (got--) PyBuffer_Release(all + got);
    return good;
}

static PyObject *program_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *fills, *boxes, *arithmetic;
    const char *level;
    long long src_bytes, dst_bytes, src_item, dst_item;
    if (kwargs && PyDict_Size(kwargs)) {
        PyErr_SetString(PyExc_TypeError, "Program takes no keywords");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "sLLLLO!O!O", &level, &src_bytes, &src_item, &dst_bytes, &dst_item, &PyTuple_Type,
                          &fills, &PyTuple_Type, &boxes, &arithmetic))
        return NULL;
    ProgramObject *self = (ProgramObject *)PyType_GenericAlloc(type, 0);
    if (!self) return NULL;
    Program *p = &self->program;
    for (int i = 0; i < level_count(); ++i)
        if (level_at(i) && !strcmp(level_at(i)->name, level)) p->level = level_at(i);
    if (!p->level || src_item < 1 || dst_item < 1 || src_item > 1 << 20 || dst_item > 1 << 20) {
        PyErr_Format(PyExc_ValueError, "level %s, elements of %lld and %lld bytes", level, src_item, dst_item);
        goto fail;
    }
    p->src_bytes = src_bytes, p->dst_bytes = dst_bytes;
    p->touched = at_most(at_most(src_bytes / src_item, dst_bytes / dst_item) * src_item, INT64_MAX / 2) + at_most(dst_bytes, INT64_MAX / 2);
    p->arithmetic.past = past_caches(p->touched, 0);
    p->converts = arithmetic != Py_None;
    if (p->converts && !read_parameters(arithmetic, self)) goto fail;
    if (p->converts ? src_item != dtype_size[p->arithmetic.from] || dst_item != dtype_size[p->arithmetic.to]
                    : src_item != dst_item) {
        PyErr_SetString(PyExc_ValueError, "elements of the wrong size");
        goto fail;
    }
    const Py_ssize_t filled = PyTuple_Size(fills), moved = PyTuple_Size(boxes);
    p->job = PyMem_Calloc((size_t)(filled + moved) + 1, sizeof *p->job);
    if (!p->job) {
        PyErr_NoMemory();
        goto fail;
    }
    for (Py_ssize_t i = 0; i < filled + moved; ++i) {
        Box box;
        const int is_fill = i < filled;
        if (!read_box(PyTuple_GetItem(is_fill ? fills : boxes, is_fill ? i : i - filled), &box, is_fill ? 0 : src_item, dst_item))
            goto fail;
        int good = inside(&box, box.dst, offsetof(Loop, d), dst_item, dst_bytes);
        if (!is_fill) {
            good = good && inside(&box, box.src, offsetof(Loop, s), src_item, src_bytes);
            if (p->converts) good = good && inside(&box, box.param, offsetof(Loop, p), 1, p->arithmetic.channels);
        }
        if (!good) {
            PyErr_SetString(PyExc_ValueError, "a walk that leaves its buffer");
            goto fail;
        }
        const int64_t pad = is_fill ? 0 : take_pad(p, &box, src_item, dst_item);
        Job *job = p->job + p->jobs;
        memset(job, 0, sizeof *job);
        job->is_fill = is_fill, job->size = (int)dst_item, job->pad = pad;
        if (is_fill)
            job->move.box = box, p->fill_bytes += box_bytes(&box, dst_item);
        else if (p->converts)
            convert_plan(&job->convert, &box, &p->arithmetic, pad);
        else
            move_plan(&job->move, &box, (int)dst_item, pad), job->move.past = p->arithmetic.past;
        ++p->jobs;
    }
    return (PyObject *)self;
fail:
    Py_DECREF(self);
    return NULL;
}

static void program_dealloc(PyObject *object) {
    ProgramObject *self = (ProgramObject *)object;
    PyTypeObject *type = Py_TYPE(object);
    PyMem_Free(self->program.job);
    PyMem_Free(self->parameters);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

typedef struct {
    const Program *program;
    const uint8_t *src;
    uint8_t *dst;
} Call;

static void fill_part(const void *context, int64_t part, int64_t parts) {
    const Call *call = context;
    program_fill(call->program, call->dst, part, parts);
}

static void program_part(const void *context, int64_t part, int64_t parts) {
    const Call *call = context;
    program_move(call->program, call->src, call->dst, part, parts);
}

/* An exception may be set. */
static void run_program(const Call *call, long long part, long long parts) {
    const Program *p = call->program;
    Stop *stop;
    if (signals_stop(p->src_bytes + p->dst_bytes, &stop)) return;
    PyThreadState *others = p->dst_bytes < UNLOCK && p->src_bytes < UNLOCK ? NULL : PyEval_SaveThread();
    if (parts) {
        if (part == 0) program_fill(p, call->dst, 0, 1);
        program_part(call, part, parts);
    } else if (!p->fill_bytes || !pool_run(fill_part, call, p->fill_bytes, stop, others)) {
        pool_run(program_part, call, p->src_bytes + p->dst_bytes, stop, others);
    }
    if (others) PyEval_RestoreThread(others);
}

/* NULL: an exception is set; where `fits` is given and buffers do not fit, nothing is done and it becomes 0. */
static PyObject *call_program(const Program *p, PyObject *const *args, long long part, long long parts, int *fits) {
    Py_buffer src, dst;
    if (PyObject_GetBuffer(args[0], &src, PyBUF_SIMPLE)) goto unfit;
    if (PyObject_GetBuffer(args[1], &dst, PyBUF_WRITABLE)) {
        PyBuffer_Release(&src);
        goto unfit;
    }
    const char *s = src.buf, *d = dst.buf;
    int refused = 1;
    if (src.len != p->src_bytes || dst.len != p->dst_bytes) {
        PyErr_Format(PyExc_ValueError, "buffers of %zd and %zd bytes, expected %lld and %lld", src.len, dst.len,
                     (long long)p->src_bytes, (long long)p->dst_bytes);
    } else if (s < d + dst.len && d < s + src.len) {
        PyErr_SetString(PyExc_ValueError, "source and destination overlap");
    } else {
        refused = 0;
        run_program(&(Call){p, src.buf, dst.buf}, part, parts);
    }
    PyBuffer_Release(&dst);
    PyBuffer_Release(&src);
    if (refused) goto unfit;
    if (PyErr_Occurred()) return NULL;
    Py_RETURN_NONE;
unfit:
    if (fits) *fits = 0;
    return NULL;
}

static PyObject *program_call(PyObject *object, PyObject *const *args, Py_ssize_t count) {
    long long part = 0, parts = 0;
    if (count != 2 && count != 4) {
        PyErr_Format(PyExc_TypeError, "run takes source and destination, or part and parts too; got %zd", count);
        return NULL;
    }
    if (count == 4) {
        part = PyLong_AsLongLong(args[2]), parts = PyLong_AsLongLong(args[3]);
        if (PyErr_Occurred()) return NULL;
        if (part < 0 || part >= parts || parts > 1 << 16) {
            PyErr_Format(PyExc_ValueError, "part %lld of %lld", part, parts);
            return NULL;
        }
    }
    return call_program(&((ProgramObject *)object)->program, args, part, parts, NULL);
}

static PyObject *program_attempt(PyObject *object, PyObject *const *args, Py_ssize_t count) {
    int fits = 1;
    if (count != 2) {
        PyErr_Format(PyExc_TypeError, "attempt takes source and destination, got %zd", count);
        return NULL;
    }
    PyObject *done = call_program(&((ProgramObject *)object)->program, args, 0, 0, &fits);
    if (!done && fits) return NULL;
    Py_XDECREF(done);
    PyErr_Clear();
    return PyBool_FromLong(fits);
}

static int append(PyObject *list, const char *name) {
    PyObject *text = PyUnicode_FromString(name);
    const int wrong = !text || PyList_Append(list, text);
    Py_XDECREF(text);
    return !wrong;
}

/* The names of the rows of the table that the boxes take, in their order; a conversion takes up to four. */
static PyObject *program_paths(PyObject *object, PyObject *unused) {
    const Program *p = &((ProgramObject *)object)->program;
    PyObject *list = PyList_New(0);
    (void)unused;
    for (int i = 0; list && i < p->jobs; ++i) {
        const Job *job = p->job + i;
        int taken[4] = {job->move.path}, count = job->is_fill ? 0 : 1;
        if (count && p->converts) count = convert_paths(p->level, &job->convert, &p->arithmetic, taken);
        int good = !job->is_fill || append(list, "fill");
        for (int k = 0; k < count; ++k) good = good && append(list, paths[taken[k]].name);
        if (!good) Py_CLEAR(list);
    }
    return list;
}

static PyMethodDef program_methods[] = {
    {"run", (PyCFunction)(void (*)(void))program_call, METH_FASTCALL,
     "run(source, destination[, part, parts]): without parts on as many threads as pay; part 0 has to be the first"},
    {"attempt", (PyCFunction)(void (*)(void))program_attempt, METH_FASTCALL,
     "attempt(source, destination): run, and True; False where buffers do not fit: then nothing was written"},
    {"paths", program_paths, METH_NOARGS, "the fast paths taken"},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot program_slots[] = {
    {Py_tp_doc, "Loops of one conversion, checked against the sizes of its two buffers."},
    {Py_tp_new, program_new},
    {Py_tp_dealloc, program_dealloc},
    {Py_tp_methods, program_methods},
    {0, NULL},
};
static PyType_Spec program_spec = {"npu_layout.kernels._native.Program", sizeof(ProgramObject), 0, Py_TPFLAGS_DEFAULT,
                                   program_slots};

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

typedef struct {
    const Level *level;
    int type;
    const Box *box;
    const Py_buffer *views;
} GrayCall;

static void gray_part(const void *context, int64_t part, int64_t parts) {
    const GrayCall *call = context;
    const Py_buffer *v = call->views;
    gray_run(call->level, call->type, call->box, v[0].buf, v[1].buf, v[2].buf, v[3].buf, part, parts);
}

static PyObject *native_gray(PyObject *module, PyObject *args) {
    const char *name;
    PyObject *arrays[4];
    int type, held = 0;
    Py_buffer views[4];
    const Level *level = NULL;
    Box box;
    (void)module;
    if (!PyArg_ParseTuple(args, "siOOOO", &name, &type, arrays, arrays + 1, arrays + 2, arrays + 3))
        return NULL;
    for (int i = 0; i < level_count(); ++i)
        if (level_at(i) && !strcmp(level_at(i)->name, name)) level = level_at(i);
    if (!level || type < 0 || type > 2) {
        PyErr_SetString(PyExc_ValueError, "no such level or dtype");
        return NULL;
    }
    for (; held < 4; ++held)
        if (PyObject_GetBuffer(arrays[held], views + held, held < 3 ? PyBUF_STRIDED_RO : PyBUF_STRIDED)) goto end;
    int good = 1;
    for (int i = 0; i < 4; ++i) good = good && views[i].ndim == views[3].ndim && views[i].itemsize == 1 << type;
    if (!good || !gray_box(views, views + 3, &box)) {
        PyErr_SetString(PyExc_ValueError, "planes and result differ in shape, strides or dtype");
    } else if (views[3].len) {
        const GrayCall call = {level, type, &box, views};
        run_unlocked(gray_part, &call, 4 * views[3].len);
    }
end:
    while (held--) PyBuffer_Release(views + held);
    return PyErr_Occurred() ? NULL : PyLong_FromLong(gray_path(type));
}

static PyObject *set_threads(PyObject *module, PyObject *number) {
    const long n = PyLong_AsLong(number);
    (void)module;
    if (n == -1 && PyErr_Occurred()) return NULL;
    pool_set_threads(n > 1 << 16 ? 1 << 16 : (int)n);
    Py_RETURN_NONE;
}

static PyObject *get_threads(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    return PyLong_FromLong(pool_threads());
}

static PyObject *last_cache(PyObject *module, PyObject *bytes) {
    const long long n = PyLong_AsLongLong(bytes);
    (void)module;
    if (n == -1 && PyErr_Occurred()) return NULL;
    set_last_cache(n);
    Py_RETURN_NONE;
}

static PyMethodDef module_methods[] = {
    {"gray", native_gray, METH_VARARGS, "gray(level, dtype, blue, green, red, out): which path"},
    {"argmax", native_argmax, METH_VARARGS, "argmax(level, x, out, positions, channels, dtype): which path, or -1"},
    {"top_k", native_top_k, METH_VARARGS, "top_k(level, x, values, numbers, channels, dtype): which path, or -1"},
    {"softmax", native_softmax, METH_VARARGS, "softmax(level, x, out, positions, channels, dtype, zero_point, scale): which path, or -1"},
    {"sigmoid", native_sigmoid, METH_VARARGS, "sigmoid(level, x, out, None, None, dtype, zero_point, scale, in_place): which path, or -1"},
    {"peaks", native_peaks, METH_VARARGS, "peaks(level, dtype, x, out, channels, least, threshold, radius): how many"},
    {"tops", native_tops, METH_VARARGS, "tops(x, rows, out, refinement): whether they fit"},
    {"set_threads", set_threads, METH_O, "set_threads(n)"},
    {"get_threads", get_threads, METH_NOARGS, "get_threads()"},
    {"set_last_cache", last_cache, METH_O, "set_last_cache(bytes): of this machine; decides what is stored past the caches"},
    {NULL, NULL, 0, NULL},
};

static int module_exec(PyObject *module) {
    PyObject *type = PyType_FromSpec(&program_spec);
    if (!type || PyModule_AddObject(module, "Program", type)) return -1;
    PyObject *names = PyList_New(0), *table = PyList_New(0), *dtypes = PyList_New(0);
    for (int t = 0; dtypes && t < DTYPES; ++t)
        if (!append(dtypes, dtype_name[t])) return -1;
    for (int i = 0; names && table && i < level_count(); ++i) {
        const Level *level = level_at(i);
        PyObject *entry = level ? Py_BuildValue("si", level->name, level->vector) : NULL;
        if (!level) continue;
        if (!entry || PyList_Append(names, entry)) return -1;
        Py_DECREF(entry);
        for (int k = 0; k < PATHS; ++k) {
            entry = Py_BuildValue("ssssi", paths[k].name, paths[k].kind, paths[k].applies, level->name, level->fast[k].step);
            if (!entry || PyList_Append(table, entry)) return -1;
            Py_DECREF(entry);
        }
    }
    if (!names || !table || !dtypes) return -1;
    return PyModule_AddObject(module, "LEVELS", names) || PyModule_AddObject(module, "FAST", table) ||
                   PyModule_AddObject(module, "DTYPES", dtypes)
               ? -1
               : 0;
}

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, module_exec}, {0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_native", "The compiled kernels.", 0, module_methods, module_slots,
                                    NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&module); }
